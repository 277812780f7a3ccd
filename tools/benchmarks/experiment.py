"""What all experiments share: interleaved rounds, progress, time budgets, results on disk."""

import os
import shutil
import subprocess
import sys
import tempfile
import time

from tools.benchmarks import machine, servers

TARGETS = {"ringfence": "//source:ringfence", "floor": "//test/bench/ring:floor_server",
           "ring_load": "//test/bench/ring:ring_load"}


class Progress:
    """Lines on standard error with the time that has passed."""

    def __init__(self, name, quiet=False):
        self.name = name
        self.quiet = quiet
        self.begun = time.monotonic()

    def say(self, text):
        if not self.quiet:
            print(f"[{time.monotonic() - self.begun:6.1f} s] {self.name}: {text}",
                  file=sys.stderr, flush=True)


class Context:
    """One run of an experiment: its options, folder, programs and progress."""

    def __init__(self, name, options):
        self.name = name
        self.options = options
        self.quick = options.quick
        self.progress = Progress(name)
        self.tables = []
        self.skipped = []
        self.folder = tempfile.mkdtemp(prefix=f"ringfence-{name}-", dir=options.work_folder)
        os.chmod(self.folder, 0o755)

    @property
    def rounds(self):
        return self.options.rounds or (4 if self.quick else 7)

    def seconds(self, full, quick):
        """How long one measurement takes."""
        return self.options.seconds or (quick if self.quick else full)

    def binary(self, name):
        given = getattr(self.options, name, None)
        path = given or os.path.join(servers.ROOT, "bazel-bin", *_path_of(TARGETS[name]))
        if not os.path.exists(path):
            raise machine.Missing(f"{path} is not there; without --skip-build it is built")
        return path

    def binaries(self, *names):
        return {name: self.binary(name) for name in names}

    def skip(self, what, why):
        self.skipped.append(f"{what} skipped: {why}")
        self.progress.say(self.skipped[-1])

    def finish(self):
        """Prints the tables and saves them; their paths."""
        head = machine.describe()
        paths = []
        for number, table in enumerate(self.tables):
            table.notes = [head] + table.notes + self.skipped
            print(table.text(), flush=True)
            name = self.name if len(self.tables) == 1 else f"{self.name}-{number + 1}"
            paths += table.save(self.options.output, name)
        for path in paths:
            self.progress.say(f"wrote {path}")

    def close(self):
        if not self.options.keep:
            shutil.rmtree(self.folder, ignore_errors=True)


def _path_of(label):
    folder, name = label.removeprefix("//").split(":")
    return folder.split("/") + [name]


def interleave(context, table, rows, measure):
    """measure(row, round) for every row, round by round; a row that fails is not asked again."""
    rows = list(rows)
    failed = set()
    for number in range(1, context.rounds + 1):
        for row in rows:
            if row in failed:
                continue
            context.progress.say(f"round {number} of {context.rounds}: {' '.join(map(str, row))}")
            try:
                table.add(row, measure(row, number))
            except (RuntimeError, machine.Missing, OSError) as error:
                failed.add(row)
                context.skip(" ".join(map(str, row)), str(error).splitlines()[0][:200])


def build(targets, options):
    """Builds what is measured, optimized."""
    command = (["bazel"] + os.environ.get("BAZEL_STARTUP_OPTIONS", "").split()
               + ["build", "-c", "opt", "--color=no", "--curses=no",
                  "--show_progress_rate_limit=10"]
               + os.environ.get("BAZEL_OPTIONS", "").split() + targets)
    if subprocess.run(command, cwd=servers.ROOT, check=False).returncode != 0:
        raise machine.Missing("the build failed; the compiler's message is above")
