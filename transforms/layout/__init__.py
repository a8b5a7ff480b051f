"""In which order do the dims of a value lie in memory?

A value is channels-first (NxCxHxW, as ONNX has it) or channels-last (NxHxWxC). The IR stays standard ONNX: a
channels-last value is an ordinary tensor of permuted type, conversions are ops `onnx.Transpose`.

| module | answers |
|---|---|
| `axes.py` | where is an axis in the other order, and which Transposes convert? |
| `rule.py` | what is a layout rule? |
| `rules/` | which ops can work channels-last, and what does each become? One file per family of ops |
| `costs.py` | how long does a conversion take, and what does an op save? |
| `min_cut.py` | which side of a cheapest cut is a node on? |
| `choice.py` | which ops of a block are to work channels-last? |
| `editor.py` | how are the chosen ops rewritten, one by one? |
| `report.py` | what was done, and what was left, and why? |
| `channels_last.py` | the pass `channels-last` |
"""
