"""What do the threads of a team do? Native code: claim chunks of tasks, run them, wait for more.

One thread walks the plan. For a record that is shared out it publishes a ticket; whoever sees chunks left
on the ticket claims the next one. Nobody waits for helpers that do not come: the leader claims chunks like
all others, and at the end waits only for chunks that others have claimed and not finished. While a chunk is
out the ticket's job cannot change, so what the leader wrote about it holds.

The state is one block of memory, a cache line for each of:

    ticket (16 bits each: next chunk, number of chunks, number of workers, job); chunks others have done;
    address of the record; whether a run has the team; sleeping helpers and the stop flag; mutex; condition
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from onnxloom.lowering.plan.record import ALL_TASKS, HEADER

if TYPE_CHECKING:
    from llvmlite import ir

SYMBOLS = {"team_init": "loom_team_init", "team_run": "loom_team_run", "team_help": "loom_team_help",
           "team_stop": "loom_team_stop"}  # fmt: skip

STATE_BYTES = 768
MAX_WORKERS = 1 << 10

_LINE = 64
_TICKET, _DONE, _RECORD, _BUSY, _SLEEPERS, _MUTEX, _CONDITION = (_LINE * i for i in (0, 1, 2, 3, 4, 5, 7))
_STOP = _SLEEPERS + 8

SPINS = 4000
"""Looks at the ticket before a helper goes to sleep: about 50 microseconds on Zen, 150 on Skylake."""

PATIENCE = 2000
"""Looks before the leader lets another thread have the processor."""


@dataclass
class _Code:
    """Builds the functions in one module."""

    module: ir.Module
    pause_name: str

    def __post_init__(self) -> None:
        from llvmlite import ir

        self.ir: Any = ir
        self.word: Any = ir.IntType(64)
        self.i32: Any = ir.IntType(32)
        self.words: Any = self.word.as_pointer()
        self.bytes: Any = ir.IntType(8).as_pointer()
        self.kernel: Any = ir.FunctionType(ir.VoidType(), [self.words, self.word, self.word, self.word])

    def const(self, value: int) -> Any:
        return self.ir.Constant(self.word, value)

    def function(self, name: str, arguments: list[Any], result: Any = None) -> tuple[Any, Any]:
        """A function of the module and a builder at its start."""
        kind = self.ir.FunctionType(self.word if result is None else result, arguments)
        function = self.ir.Function(self.module, kind, name)
        return function, self.ir.IRBuilder(function.append_basic_block("entry"))

    def field(self, b: Any, team: Any, offset: int) -> Any:
        return b.gep(team, [self.const(offset // 8)])

    def load(self, b: Any, team: Any, offset: int, ordering: str = "acquire") -> Any:
        return b.load_atomic(self.field(b, team, offset), ordering, 8)

    def store(self, b: Any, team: Any, offset: int, value: Any, ordering: str = "release") -> None:
        b.store_atomic(value, self.field(b, team, offset), ordering, 8)

    def libc(self, name: str, *arguments: Any) -> Any:
        """A function of the C library that gives an int."""
        found = self.module.globals.get(name)
        return found or self.ir.Function(self.module, self.ir.FunctionType(self.i32, list(arguments)), name)

    def pointer(self, b: Any, team: Any, offset: int) -> Any:
        return b.bitcast(self.field(b, team, offset), self.bytes)

    def locked(self, b: Any, team: Any, name: str) -> None:
        """pthread_mutex_lock or pthread_mutex_unlock."""
        b.call(self.libc(name, self.bytes), [self.pointer(b, team, _MUTEX)])

    def broadcast(self, b: Any, team: Any) -> None:
        """Wakes all helpers. Under the mutex: one that is about to sleep has not let go of it yet."""
        self.locked(b, team, "pthread_mutex_lock")
        b.call(self.libc("pthread_cond_broadcast", self.bytes), [self.pointer(b, team, _CONDITION)])
        self.locked(b, team, "pthread_mutex_unlock")

    def pause(self, b: Any) -> None:
        """Tells the processor that this is a waiting loop."""
        if not self.pause_name:
            return
        arguments = [self.ir.Constant(self.i32, 1)] if self.pause_name.startswith("llvm.aarch64") else []
        kind = self.ir.FunctionType(self.ir.VoidType(), [a.type for a in arguments])
        function = self.module.globals.get(self.pause_name)
        b.call(function or self.ir.Function(self.module, kind, self.pause_name), arguments)

    def ticket_part(self, b: Any, ticket: Any, part: int) -> Any:
        return b.and_(b.lshr(ticket, self.const(16 * part)), self.const(0xFFFF))

    def claimable(self, b: Any, ticket: Any, worker: Any) -> Any:
        """Whether chunks are left for this worker."""
        left = b.icmp_unsigned("<", self.ticket_part(b, ticket, 0), self.ticket_part(b, ticket, 1))
        invited = b.icmp_unsigned("<", worker, self.ticket_part(b, ticket, 2))
        return b.and_(left, invited)

    def run_record(self, b: Any, record: Any, begin: Any, end: Any, worker: Any) -> None:
        kernel = b.inttoptr(b.load(record), self.kernel.as_pointer())
        b.call(kernel, [b.gep(record, [self.const(HEADER)]), begin, end, worker])

    # Functions

    def init(self) -> None:
        """`team_init(team)`: sets up the mutex and the condition of zeroed memory."""
        function, b = self.function(SYMBOLS["team_init"], [self.words])
        (team,) = function.args
        null = self.ir.Constant(self.bytes, None)
        for name, offset in (("pthread_mutex_init", _MUTEX), ("pthread_cond_init", _CONDITION)):
            b.call(self.libc(name, self.bytes, self.bytes), [self.pointer(b, team, offset), null])
        b.ret(self.const(0))

    def stop(self) -> None:
        """`team_stop(team)`: lets all helpers return."""
        function, b = self.function(SYMBOLS["team_stop"], [self.words])
        (team,) = function.args
        self.store(b, team, _STOP, self.const(1), "seq_cst")
        self.broadcast(b, team)
        b.ret(self.const(0))

    def work(self) -> Any:
        """`work(team, worker)`: runs chunks until none is left; how many."""
        function, b = self.function("loom_team_work", [self.words, self.word])
        function.linkage = "internal"
        function.attributes.add("noinline")
        team, worker = function.args
        entry = b.block
        look, claim, run, done = (function.append_basic_block(n) for n in ("look", "claim", "run", "done"))
        b.branch(look)
        b.position_at_end(look)
        count = b.phi(self.word)
        count.add_incoming(self.const(0), entry)
        ticket = self.load(b, team, _TICKET)
        b.cbranch(self.claimable(b, ticket, worker), claim, done)
        b.position_at_end(claim)
        taken = b.cmpxchg(
            self.field(b, team, _TICKET), ticket, b.add(ticket, self.const(1)), "acq_rel", "acquire"
        )
        b.cbranch(b.extract_value(taken, 1), run, look)
        count.add_incoming(count, claim)
        b.position_at_end(run)
        record = b.inttoptr(self.load(b, team, _RECORD, "monotonic"), self.words)
        size = b.load(b.gep(record, [self.const(2)]))
        begin = b.mul(self.ticket_part(b, ticket, 0), size)
        self.run_record(b, record, begin, b.add(begin, size), worker)
        count.add_incoming(b.add(count, self.const(1)), run)
        b.branch(look)
        b.position_at_end(done)
        b.ret(count)
        return function

    def help(self, work: Any) -> None:
        """`team_help(team, worker)`: what a helper does until it is stopped."""
        function, b = self.function(SYMBOLS["team_help"], [self.words, self.word])
        team, worker = function.args
        entry = b.block
        names = ("look", "alive", "report", "idle", "sleep", "wait", "awake", "end")
        look, alive, report, idle, sleep, wait, awake, end = map(function.append_basic_block, names)
        b.branch(look)
        b.position_at_end(look)
        spins = b.phi(self.word)
        spins.add_incoming(self.const(0), entry)
        stopped = b.icmp_unsigned("!=", self.load(b, team, _STOP), self.const(0))
        b.cbranch(stopped, end, alive)
        b.position_at_end(alive)
        done = b.call(work, [team, worker])
        b.cbranch(b.icmp_unsigned("!=", done, self.const(0)), report, idle)
        b.position_at_end(report)
        b.atomic_rmw("add", self.field(b, team, _DONE), done, "acq_rel")
        spins.add_incoming(self.const(0), report)
        b.branch(look)
        b.position_at_end(idle)
        self.pause(b)
        spun = b.add(spins, self.const(1))
        spins.add_incoming(spun, idle)
        b.cbranch(b.icmp_unsigned("<", spun, self.const(SPINS)), look, sleep)
        b.position_at_end(sleep)
        self.locked(b, team, "pthread_mutex_lock")
        b.atomic_rmw("add", self.field(b, team, _SLEEPERS), self.const(1), "seq_cst")
        # A leader that did not see this sleeper published its ticket before: look once more.
        left = self.claimable(b, self.load(b, team, _TICKET, "seq_cst"), worker)
        stopped = b.icmp_unsigned("!=", self.load(b, team, _STOP, "seq_cst"), self.const(0))
        b.cbranch(b.or_(left, stopped), awake, wait)
        b.position_at_end(wait)
        condition, mutex = self.pointer(b, team, _CONDITION), self.pointer(b, team, _MUTEX)
        b.call(self.libc("pthread_cond_wait", self.bytes, self.bytes), [condition, mutex])
        b.branch(awake)
        b.position_at_end(awake)
        b.atomic_rmw("sub", self.field(b, team, _SLEEPERS), self.const(1), "seq_cst")
        self.locked(b, team, "pthread_mutex_unlock")
        spins.add_incoming(self.const(0), awake)
        b.branch(look)
        b.position_at_end(end)
        b.ret(self.const(0))

    def share(self, work: Any) -> Any:
        """`share(team, record, workers)`: runs one record together with the helpers."""
        function, b = self.function("loom_team_share", [self.words, self.words, self.word])
        function.linkage = "internal"
        function.attributes.add("noinline")
        team, record, workers = function.args
        names = ("wake", "lead", "await", "spin", "yield", "end")
        wake, lead, await_, spin, yield_, end = map(function.append_basic_block, names)
        chunks = b.load(b.gep(record, [self.const(1)]))
        self.store(b, team, _RECORD, b.ptrtoint(record, self.word), "monotonic")
        self.store(b, team, _DONE, self.const(0), "monotonic")
        job = b.add(b.lshr(self.load(b, team, _TICKET, "monotonic"), self.const(48)), self.const(1))
        ticket = b.or_(b.shl(job, self.const(48)), b.shl(workers, self.const(32)))
        ticket = b.or_(ticket, b.shl(chunks, self.const(16)))
        self.store(b, team, _TICKET, ticket, "seq_cst")
        asleep = b.icmp_unsigned("!=", self.load(b, team, _SLEEPERS, "seq_cst"), self.const(0))
        worth_it = b.icmp_unsigned("!=", b.load(b.gep(record, [self.const(3)])), self.const(0))
        b.cbranch(b.and_(asleep, worth_it), wake, lead)
        b.position_at_end(wake)
        self.broadcast(b, team)
        b.branch(lead)
        b.position_at_end(lead)
        own = b.call(work, [team, self.const(0)])
        others = b.sub(chunks, own)
        b.branch(await_)
        b.position_at_end(await_)
        spins = b.phi(self.word)
        spins.add_incoming(self.const(0), lead)
        missing = b.icmp_unsigned("!=", self.load(b, team, _DONE), others)
        b.cbranch(missing, spin, end)
        b.position_at_end(spin)
        self.pause(b)
        spun = b.add(spins, self.const(1))
        spins.add_incoming(spun, spin)
        b.cbranch(b.icmp_unsigned("<", spun, self.const(PATIENCE)), await_, yield_)
        b.position_at_end(yield_)
        b.call(self.libc("sched_yield"), [])
        spins.add_incoming(self.const(0), yield_)
        b.branch(await_)
        b.position_at_end(end)
        b.ret(self.const(0))
        return function

    def run(self, share: Any) -> None:
        """`team_run(table, starts, begin, end, team, workers)`: walks records with the team.

        A run that finds the team busy with another one runs on its own thread alone.
        """
        function, b = self.function(
            SYMBOLS["team_run"], [self.words, self.words, self.word, self.word, self.words, self.word]
        )
        table, starts, begin, end, team, workers = function.args
        names = ("loop", "record", "shared", "alone", "next", "done", "free", "out")
        loop, body, shared, alone, next_, done, free, out = map(function.append_basic_block, names)
        taken = b.cmpxchg(self.field(b, team, _BUSY), self.const(0), self.const(1), "acquire", "monotonic")
        mine = b.extract_value(taken, 1)
        entry = b.block
        b.branch(loop)
        b.position_at_end(loop)
        number = b.phi(self.word)
        number.add_incoming(begin, entry)
        b.cbranch(b.icmp_signed("<", number, end), body, done)
        b.position_at_end(body)
        record = b.gep(table, [b.load(b.gep(starts, [number]))])
        many = b.icmp_unsigned("!=", b.load(b.gep(record, [self.const(1)])), self.const(0))
        b.cbranch(b.and_(many, mine), shared, alone)
        b.position_at_end(shared)
        b.call(share, [team, record, workers])
        b.branch(next_)
        b.position_at_end(alone)
        self.run_record(b, record, self.const(0), self.const(ALL_TASKS), self.const(0))
        b.branch(next_)
        b.position_at_end(next_)
        number.add_incoming(b.add(number, self.const(1)), next_)
        b.branch(loop)
        b.position_at_end(done)
        b.cbranch(mine, free, out)
        b.position_at_end(free)
        self.store(b, team, _BUSY, self.const(0))
        b.branch(out)
        b.position_at_end(out)
        b.ret(end)


def add_team(module: ir.Module, triple: str) -> None:
    """Adds the functions of `SYMBOLS` to an LLVM module for processors of `triple`."""
    name = ""
    if triple.startswith(("x86_64", "i386", "i686")):
        name = "llvm.x86.sse2.pause"
    elif triple.startswith(("aarch64", "arm64")):
        name = "llvm.aarch64.hint"
    code = _Code(module, name)
    code.init()
    code.stop()
    work = code.work()
    code.help(work)
    code.run(code.share(work))
