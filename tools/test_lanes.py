#!/usr/bin/env python3
"""Builds and runs every test of Ringfence, lane by lane, and counts test cases.

The last line of the output is "N passed, N failed", with ", N skipped" if any were. A target that
does not build, a test binary that dies, and a lane that runs no test at all count as a failure.
"""

import argparse
import json
import os
import shlex
import subprocess
import sys
import tempfile
import time
import urllib.parse
import xml.etree.ElementTree as ElementTree

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BINARY_TARGET = "//source:ringfence"
FUZZ_SECONDS = 3
# What the lane `engines` runs besides IO_URING with AUTO, which is what every scenario runs on.
ENGINES = [("EPOLL", "AUTO"), ("IO_URING", "LIBAIO"), ("IO_URING", "SENDFILE"),
           ("EPOLL", "SENDFILE")]
# Beginnings of the files that it runs: waiting for sockets, large bodies, disks, ends of all kinds.
ENGINE_SCENARIOS = ("a010", "a020", "a030", "a040", "a050", "a110", "a130", "b180", "b190", "b250",
                    "b260", "c010", "c180", "c470", "c490", "c500", "c510", "d", "e010", "e020",
                    "e070", "e090", "f020", "f040", "f080", "f100", "f120")
MAX_DETAILS_BYTES = 4000


class Tally:
    """Counts of test cases, and the names of those that failed."""

    def __init__(self):
        self.passed = 0
        self.failed = 0
        self.skipped = 0
        self.failures = []

    def fail(self, name):
        self.failed += 1
        self.failures.append(name)

    def add(self, other):
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped
        self.failures += other.failures

    def line(self):
        text = f"{self.passed} passed, {self.failed} failed"
        return text + f", {self.skipped} skipped" if self.skipped else text


def say(text):
    print(text, flush=True)


def bazel(command, *arguments):
    startup = shlex.split(os.environ.get("BAZEL_STARTUP_OPTIONS", ""))
    options = [] if command == "query" else shlex.split(os.environ.get("BAZEL_OPTIONS", ""))
    quiet = ["--color=no", "--curses=no", "--show_progress_rate_limit=10"]
    return ["bazel"] + startup + [command] + quiet + options + list(arguments)


def run(command, **keywords):
    """Runs a command from the root; its output is the reader's progress."""
    return subprocess.run(command, cwd=ROOT, check=False, **keywords)


def bazel_output(*arguments):
    """Standard output of a Bazel command, or an empty string if it failed."""
    done = run(bazel(*arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        say(f"bazel {shlex.join(arguments)} failed:\n{done.stderr[-MAX_DETAILS_BYTES:]}")
        return ""
    return done.stdout.strip()


def target_exists(label):
    return bazel_output("query", label) != ""


# --- Results --------------------------------------------------------------------------------------


def case_name(suite, case):
    scope = case.get("classname") or suite.get("name") or ""
    name = case.get("name") or "?"
    return f"{scope}.{name}" if scope and scope != name else name


def count_xml(path, label, tally):
    """Adds the cases of a JUnit file; returns (cases, failed cases), None if it is unreadable."""
    try:
        root = ElementTree.parse(path).getroot()
    except (OSError, ElementTree.ParseError):
        return None
    cases = failed = 0
    for suite in root.iter("testsuite"):
        for case in suite.findall("testcase"):
            cases += 1
            skipped = (case.find("skipped") is not None or case.get("status") == "notrun" or
                       case.get("result") in ("skipped", "suppressed"))
            if case.find("failure") is not None or case.find("error") is not None:
                failed += 1
                tally.fail(f"{label} {case_name(suite, case)}")
            elif skipped:
                tally.skipped += 1
            else:
                tally.passed += 1
    return cases, failed


def uri_path(uri):
    return urllib.parse.unquote(urllib.parse.urlparse(uri).path)


class Results:
    """What one Bazel invocation did, from its build event file."""

    def __init__(self):
        self.tests = {}  # label -> [(status, xml path)], one for each shard of its last attempt
        self.broken = set()  # labels that did not build
        self.aborted = []  # why Bazel gave up, if it did
        self.targets = 0

    def read(self, path):
        try:
            with open(path, encoding="utf-8") as events:
                for line in events:
                    if line.strip():
                        self._event(json.loads(line))
        except (OSError, ValueError) as error:
            self.aborted.append(f"no build events: {error}")

    def _event(self, event):
        identity = event.get("id", {})
        if "testResult" in identity and "testResult" in event:
            key = identity["testResult"]["label"]
            result = event["testResult"]
            outputs = result.get("testActionOutput", [])
            xml = [o["uri"] for o in outputs if o.get("name") == "test.xml"]
            entry = (result.get("status", "NO_STATUS"), uri_path(xml[0]) if xml else "")
            self.tests.setdefault(key, []).append(entry)
        elif "targetCompleted" in identity and "completed" in event:
            self.targets += 1
            if not event["completed"].get("success", False):
                self.broken.add(identity["targetCompleted"]["label"])
        elif "aborted" in event:
            self._aborted(identity, event["aborted"])

    def _aborted(self, identity, aborted):
        reason = aborted.get("reason", "")
        if reason in ("SKIPPED", "NO_ANALYZE", "NO_BUILD"):
            return
        where = next((v.get("label") for v in identity.values() if isinstance(v, dict)), None)
        if where is not None:
            self.broken.add(where)
        else:
            self.aborted.append(aborted.get("description") or reason)

    def tally(self, lane):
        tally = Tally()
        for label in sorted(self.tests):
            for status, xml in self.tests[label]:
                counted = count_xml(xml, f"[{lane}] {label}", tally)
                bad = status not in ("PASSED", "FLAKY")
                if bad and (counted is None or counted[1] == 0):
                    tally.fail(f"[{lane}] {label} ({status.lower()})")
                elif counted is None:
                    tally.passed += 1
        for label in sorted(self.broken - set(self.tests)):
            tally.fail(f"[{lane}] {label} (does not build)")
        for reason in self.aborted:
            tally.fail(f"[{lane}] bazel: {reason}")
        return tally


def bazel_tests(lane, *arguments, targets=("//...",), allow_none=False):
    """Runs `bazel test` and returns its tally; the build may go on past targets that fail."""
    with tempfile.TemporaryDirectory() as scratch:
        events = os.path.join(scratch, "events.json")
        command = bazel("test", "--keep_going", f"--build_event_json_file={events}", *arguments,
                        "--", *targets)
        code = run(command).returncode
        results = Results()
        results.read(events)
        tally = results.tally(lane)
    if code == 4 and not tally.failed:  # Bazel: the build succeeded, but there was no test to run
        if not allow_none:
            tally.fail(f"[{lane}] no test was run")
    elif code != 0 and not tally.failed:
        tally.fail(f"[{lane}] bazel exited with code {code}")
    return tally


# --- Lanes ----------------------------------------------------------------------------------------


def lane_unit(_options):
    """Every test target, in the default mode, the linter and the replayed fuzz corpora included."""
    return bazel_tests("unit")


def lane_lint(_options):
    """Only the linter and the tests of its rules."""
    return bazel_tests("lint", targets=("//test/lint/...",))


def lane_asan(_options):
    """Unit tests and fuzz replays with the address and undefined-behaviour sanitizers."""
    return bazel_tests("asan", "--config=asan", "--build_tests_only",
                       "--test_tag_filters=-no_asan,-external", targets=("//test/...",))


def lane_tsan(_options):
    """Tests tagged tsan, with the thread sanitizer."""
    return bazel_tests("tsan", "--config=tsan", "--build_tests_only", "--test_tag_filters=tsan",
                       targets=("//test/...",), allow_none=True)


def lane_sim(_options):
    """The simulator's tests, optimized: simulated seeds by the thousand."""
    return bazel_tests("sim", "-c", "opt", "--build_tests_only", targets=("//test/sim/...",))


def build_binary(lane, tally):
    """Path of the optimized binary, or None after counting a failure."""
    if run(bazel("build", "-c", "opt", BINARY_TARGET)).returncode != 0:
        tally.fail(f"[{lane}] {BINARY_TARGET} (does not build)")
        return None
    folder = bazel_output("info", "-c", "opt", "bazel-bin")
    path = os.path.join(folder, "source", "ringfence")
    if not os.path.exists(path):
        tally.fail(f"[{lane}] {path} is not there")
        return None
    return path


def run_scenarios(lane, binary, arguments, tally):
    with tempfile.TemporaryDirectory() as scratch:
        xml = os.path.join(scratch, "scenario.xml")
        command = ["/usr/bin/python3", "test/scenario/run.py", "--binary", binary, "--xml", xml]
        code = run(command + arguments).returncode
        counted = count_xml(xml, f"[{lane}]", tally)
    if counted is None or (code != 0 and counted[1] == 0):
        tally.fail(f"[{lane}] the runner exited with code {code}")


def lane_scenario(options):
    """Scenarios on loopback against the optimized binary."""
    tally = Tally()
    if not target_exists(BINARY_TARGET):
        tally.fail(f"[scenario] there is no {BINARY_TARGET}")
        return tally
    binary = build_binary("scenario", tally)
    if binary is not None:
        run_scenarios("scenario", binary, options.scenario, tally)
    return tally


def lane_engines(options):
    """A choice of scenarios on every other engine and way to the disk."""
    tally = Tally()
    binary = build_binary("engines", tally)
    if binary is None:
        return tally
    folder = os.path.join(ROOT, "test", "scenario")
    files = [file for file in sorted(os.listdir(folder))
             if file.endswith(".yaml") and file.startswith(ENGINE_SCENARIOS)]
    chosen = options.scenario or [os.path.join(folder, file) for file in files]
    for engine, disk_io in ENGINES:
        say(f"=== {engine} with {disk_io}")
        lane = f"engines {engine} {disk_io}"
        run_scenarios(lane, binary, ["--engine", engine, "--disk-io", disk_io, *chosen], tally)
    return tally


def fuzz_binaries():
    """Labels of every fuzz target, the canary excepted."""
    labels = bazel_output("query", 'attr(tags, "\\bfuzz\\b", kind(cc_binary, //test/fuzz/...))')
    return [label for label in labels.split() if not label.endswith(":canary")]


def label_path(label):
    package, name = label[len("//"):].split(":")
    return os.path.join(package, name)


def fuzz_one(binary, corpus, seconds, scratch):
    """Runs libFuzzer for some seconds; returns (exit code, tail of its output)."""
    seeds = [os.path.join(scratch, "corpus")]
    os.makedirs(seeds[0])
    seeds += corpus
    command = [binary, f"-max_total_time={seconds}", "-rss_limit_mb=2048", "-timeout=10",
               "-print_final_stats=0", "-verbosity=1", f"-artifact_prefix={scratch}/"] + seeds
    done = subprocess.run(command, cwd=scratch, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          check=False)
    return done.returncode, done.stdout[-MAX_DETAILS_BYTES:].decode("utf-8", "replace")


def corpus_folders(label):
    """Folders that hold the corpus of a fuzz target, from the target's own file group."""
    files = bazel_output("query", f"kind('source file', deps({label}_corpus))").split()
    return sorted({os.path.join(ROOT, os.path.dirname(label_path(f))) for f in files})


def lane_fuzz(options):
    """Each fuzz target for a few seconds with sanitizers; the canary must die."""
    tally = Tally()
    labels = fuzz_binaries() + ["//test/fuzz:canary"]
    if run(bazel("build", "--config=fuzz", "--keep_going", *labels)).returncode != 0:
        tally.fail("[fuzz] a fuzz target does not build")
    folder = bazel_output("info", "--config=fuzz", "bazel-bin")
    for label in labels:
        binary = os.path.join(folder, label_path(label))
        if not os.path.exists(binary):
            continue
        with tempfile.TemporaryDirectory() as scratch:
            corpus = corpus_folders(label)
            code, output = fuzz_one(binary, corpus, options.fuzz_seconds, scratch)
        must_die = label.endswith(":canary")
        good = (code != 0) == must_die
        say(f"fuzz: {label} {'as expected' if good else 'FAILED'} (exit code {code})")
        if good:
            tally.passed += 1
        else:
            say(output)
            tally.fail(f"[fuzz] {label}")
    return tally


LANES = {
    "unit": lane_unit,
    "scenario": lane_scenario,
    "engines": lane_engines,
    "asan": lane_asan,
    "tsan": lane_tsan,
    "sim": lane_sim,
    "fuzz": lane_fuzz,
    "lint": lane_lint,
}
# The asan lane runs every unit test and replays every fuzz corpus, so a full run does not build
# the same tests a second time without sanitizers; libFuzzer itself is `--lane fuzz`.
FULL = ["lint", "scenario", "engines", "sim", "asan", "tsan"]
QUICK = ["unit"]


def parse(arguments):
    described = "\n".join(f"  {name:9} {lane.__doc__}" for name, lane in LANES.items())
    parser = argparse.ArgumentParser(
        prog="tools/test", description=__doc__.split("\n\n", maxsplit=1)[0],
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="lanes:\n" + described + "\n\n--skip-install does not look for missing packages. "
        "BAZEL_STARTUP_OPTIONS and\nBAZEL_OPTIONS are passed on to Bazel.")
    parser.add_argument("--quick", action="store_true", help="only the unit lane")
    parser.add_argument("--lane", action="append", choices=sorted(LANES), metavar="NAME",
                        help="only this lane (may be repeated)")
    parser.add_argument("--list", action="store_true", help="name the lanes and stop")
    parser.add_argument("--fuzz-seconds", type=int, default=FUZZ_SECONDS, metavar="N",
                        help=f"time for each fuzz target (default {FUZZ_SECONDS})")
    parser.add_argument("--scenario", action="append", default=[], metavar="FILE",
                        help="only this scenario in the scenario lane (may be repeated)")
    return parser.parse_args(arguments)


def main(arguments):
    options = parse(arguments)
    if options.list:
        print("\n".join(LANES))
        return 0
    lanes = options.lane or (QUICK if options.quick else FULL)
    total = Tally()
    started = time.monotonic()
    for number, name in enumerate(lanes, start=1):
        say(f"=== lane {number}/{len(lanes)}: {name} - {LANES[name].__doc__}")
        lane_started = time.monotonic()
        tally = LANES[name](options)
        total.add(tally)
        say(f"=== lane {name}: {tally.line()} ({time.monotonic() - lane_started:.0f} s)")
    if total.passed + total.failed == 0:
        total.fail("no test was run at all")
    say(f"=== all lanes took {time.monotonic() - started:.0f} s")
    for failure in total.failures:
        say(f"FAILED {failure}")
    say(total.line())
    return 1 if total.failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        say("interrupted")
        sys.exit(130)
