#!/usr/bin/env python3
"""Runs scenarios: the real binary between scripted clients and scripted origins on loopback.

A file's first letter says how basic its subject is: a basics, b framing, c caching, d disk and
restart, e upstream, f admin and reload, r regressions. They run in that order, four at a time.
"""

import argparse
import concurrent.futures
import glob
import os
import sys
import time

FOLDER = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(FOLDER))
sys.path[:0] = [FOLDER, ROOT]
sys.dont_write_bytecode = True

from harness.document import DocumentError  # noqa: E402
from harness.scenario import Scenario  # noqa: E402
from tools.lib import junit  # noqa: E402

JOBS = 4
BINARY = os.path.join(ROOT, "bazel-bin", "source", "ringfence")


def parse(arguments):
    parser = argparse.ArgumentParser(prog="test/scenario/run.py", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", help="scenario files (default: all)")
    parser.add_argument("--binary", default=BINARY, metavar="PATH",
                        help="the program under test (default bazel-bin/source/ringfence)")
    parser.add_argument("--jobs", type=int, default=JOBS, metavar="N",
                        help=f"scenarios at a time (default {JOBS})")
    parser.add_argument("--match", default="", metavar="TEXT",
                        help="only scenarios whose name or file has this text")
    parser.add_argument("--engine", metavar="NAME",
                        help="runtime.engine of scenarios that do not choose one")
    parser.add_argument("--disk-io", metavar="NAME",
                        help="disk_io of the cache of scenarios that do not choose one")
    parser.add_argument("--xml", default=os.environ.get("XML_OUTPUT_FILE", ""), metavar="FILE",
                        help="also write the verdicts as JUnit XML")
    parser.add_argument("--list", action="store_true", help="name the scenarios and stop")
    return parser.parse_args(arguments)


def run_one(path, binary, defaults):
    started = time.monotonic()
    name = os.path.basename(path)
    try:
        scenario = Scenario(path, binary, defaults)
        name = f"{os.path.splitext(name)[0]} {scenario.name}"
        failure = scenario.run()
    except DocumentError as error:
        failure = f"{path}: {error}"
    except Exception as error:  # a fault of the harness must not hide the other verdicts
        failure = f"{path}: the harness failed: {type(error).__name__}: {error}"
    return junit.Case(name, time.monotonic() - started, failure)


def select(options):
    files = options.files or sorted(glob.glob(os.path.join(FOLDER, "*.yaml")))
    missing = [path for path in files if not os.path.isfile(path)]
    if missing:
        sys.exit(f"run.py: no such file: {', '.join(missing)}")
    if not options.match:
        return files
    chosen = []
    for path in files:
        with open(path, encoding="utf-8") as file:
            first = file.read(400)
        if options.match in path or options.match in first:
            chosen.append(path)
    return chosen


def main(arguments):
    options = parse(arguments)
    files = select(options)
    if options.list:
        print("\n".join(files))
        return 0
    if not files:
        sys.exit("run.py: no scenario matches")
    binary = os.path.abspath(options.binary)
    if not os.access(binary, os.X_OK):
        sys.exit(f"run.py: {binary} is not there; build it with: bazel build -c opt "
                 "//source:ringfence")
    chosen = {"engine": options.engine, "disk_io": options.disk_io}
    defaults = {name: value for name, value in chosen.items() if value}
    cases = []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for case in pool.map(lambda path: run_one(path, binary, defaults), files):
            cases.append(case)
            verdict = "FAILED" if case.failure else "ok"
            print(f"{verdict:6} {case.seconds:6.2f} s  {case.name}", flush=True)
            if case.failure:
                print(case.failure, flush=True)
    junit.write(options.xml, "scenario", cases)
    failed = [case for case in cases if case.failure]
    for case in failed:
        print(f"FAILED {case.name}")
    print(f"{len(cases) - len(failed)} passed, {len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
