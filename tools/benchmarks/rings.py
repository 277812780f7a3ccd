"""`completions` and `idle`: one shard's ring without a server around it (test/bench/ring)."""

import json
import os
import subprocess

from tools.benchmarks import experiment, machine, report

FILE_MIB = 1024
QUICK_FILE_MIB = 256


def run_load(context, *flags):
    command = machine.Placement.pin(context.cpu) + [context.load] + list(map(str, flags))
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip() or f"ring_load ended with {done.returncode}")
    return json.loads(done.stdout)


def make_file(context):
    path = os.path.join(context.folder, "file")
    context.progress.say("writing the file")
    with open(path, "wb") as file:
        for _ in range(QUICK_FILE_MIB if context.quick else FILE_MIB):
            file.write(os.urandom(1 << 20))
        file.flush()
        os.fsync(file.fileno())
    return path


def prepare(context):
    context.load = context.binary("ring_load")
    # The last CPU: the first often has the interrupts of everything else.
    context.cpu = machine.cpus()[-1:]


def completions(context):
    """How completions come back: by mode, with a target that costs nothing and with a file."""
    prepare(context)
    path = make_file(context)
    seconds = context.seconds(3, 0.7)
    table = report.Table(
        "completions: operations on one ring, by completion mode (32 under way)",
        ("target", "block", "operation", "mode"),
        [report.Measure("iops", "op/s"), report.Measure("mbps", "MB/s"),
         report.Measure("avg_us", "avg us", 1, False), report.Measure("p99_us", "p99 us", 1, False),
         report.Measure("cpu_us", "CPU us/op", 2, False), report.Measure("cpu_percent", "CPU %"),
         report.Measure("per_enter", "completions/enter", 1)],
        ["null: /dev/zero and /dev/null, which complete while they are submitted; handover: "
         "pairs of local sockets, each receive waits until a send completes it and is handed over; "
         "file: direct I/O at random places of a file",
         "CPU is the ring's thread; the kernel's threads are not in it"])
    modes = ("defer", "coop", "interrupt")
    cells = [("handover", "8", "read")]
    cells += [(target, block, operation) for target in ("null", "file")
              for block in ("4k", "512k") for operation in ("read", "write", "mixed")]
    if context.quick:
        cells = [cell for cell in cells if cell[1] != "512k" or cell[2] == "read"]
    table.notes.append("MB/s of null counts whole blocks; /dev/zero may give a part of one")
    blocks = {"8": 4096, "4k": 4096, "512k": 512 << 10}
    rows = [cell + (mode,) for cell in cells for mode in modes]

    def measure(row, _):
        target, block, operation, mode = row
        return run_load(context, "--mode", mode, "--target", path if target == "file" else target,
                        "--block", blocks[block], "--operation", operation, "--seconds", seconds)
    experiment.interleave(context, table, rows, measure)
    for cell in cells:
        for mode in modes[1:]:
            table.compare(cell + ("defer",), cell + (mode,), "iops")
            table.compare(cell + ("defer",), cell + (mode,), "cpu_us")
    context.tables.append(table)


IDLES = [("sleep", []), ("poll 10us", ["--busy-poll-ns", 10000]),
         ("poll 60us", ["--busy-poll-ns", 60000]), ("poll 110us", ["--busy-poll-ns", 110000]),
         ("poll 210us", ["--busy-poll-ns", 210000]), ("poll 410us", ["--busy-poll-ns", 410000]),
         ("sqpoll 1ms", ["--sqpoll-ms", 1]), ("sqpoll 10ms", ["--sqpoll-ms", 10]),
         ("libaio", ["--libaio"])]
RATES = (2000, 4000, 10000)


def idle(context):
    """How long to look for completions before sleeping: latency against CPU, by rate."""
    prepare(context)
    path = make_file(context)
    seconds = context.seconds(3, 1)
    table = report.Table(
        "idle: 4 KB random reads of a file at a fixed rate, one at a time",
        ("rate", "waiting"),
        [report.Measure("avg_us", "avg us", 1, False), report.Measure("p99_us", "p99 us", 1, False),
         report.Measure("cpu_percent", "shard CPU %", 0, False),
         report.Measure("kernel_thread_percent", "kernel thread CPU %", 0, False),
         report.Measure("iops", "op/s")],
        ["poll N: the shard looks for completions for N before it sleeps (runtime.busy_poll); "
         "sqpoll N: the kernel's thread spins for N (runtime.ring.sqpoll)",
         "the rate is what was asked; op/s below it means that one operation took longer than its "
         "turn"])
    chosen = [entry for entry in IDLES if not context.quick or entry[0] in
              ("sleep", "poll 60us", "poll 210us", "sqpoll 1ms", "libaio")]
    flags = dict(chosen)
    rows = [(f"{rate}/s", name) for rate in RATES for name, _ in chosen]
    spare = machine.cpus()[:1]

    def measure(row, _):
        rate, name = row
        more = ["--sqpoll-cpu", spare[0]] if name.startswith("sqpoll") else []
        return run_load(context, "--target", path, "--rate", rate.removesuffix("/s"), "--seconds",
                        seconds, *flags[name], *more)
    experiment.interleave(context, table, rows, measure)
    for rate in RATES:
        for name, _ in chosen:
            if name != "libaio":
                table.compare((f"{rate}/s", name), (f"{rate}/s", "libaio"), "avg_us")
    context.tables.append(table)


EXPERIMENTS = {
    "completions": (completions, ["ring_load"]),
    "idle": (idle, ["ring_load"]),
}
