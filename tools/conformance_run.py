#!/usr/bin/env python3
"""Runs the public HTTP cache-tests suite (npm package http-cache-tests) against Ringfence.

The suite's server is the origin, its command-line client asks the questions; this program puts the
proxy between them, counts the answers by the suite's own rules and compares them with a baseline. A
test passes only if the tests that it depends on pass too, as on the suite's own page.
"""

import argparse
import json
import os
import subprocess
import sys
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [os.path.join(ROOT, "test", "scenario"), ROOT]

from harness import proxy  # noqa: E402
from harness.transcript import Transcript  # noqa: E402

PACKAGE = "http-cache-tests"
VERSION = "0.4.5"
FOLDER = os.path.join(ROOT, ".conformance")
BINARY = os.path.join(ROOT, "bazel-bin", "source", "ringfence")
BASELINE = os.path.join(ROOT, "docs", "conformance.json")
KINDS = ("required", "optimal", "check")
RUN_SECONDS = 900
# The suite's origin speaks German: `accept_languages` is what its operator would say of it.
POLICY = {"honor_request_cache_control": True, "accept_languages": ["de", "fr"]}

# Prints what the suite knows of each test; run by Node inside the package.
CATALOGUE = """
import suites from './tests/index.mjs'
const tests = []
for (const suite of suites) {
  for (const test of suite.tests) {
    if (test.browser_only) continue
    tests.push({id: test.id, kind: test.kind || 'required', name: test.name, suite: suite.name,
      needs: test.depends_on || []})
  }
}
console.log(JSON.stringify(tests))
"""


class ToolError(Exception):
    """Something that this program needs is missing or did not work."""


def say(text):
    print(text, flush=True)


def package_folder():
    """Where the suite is; fetches it on first use."""
    folder = os.path.join(FOLDER, "node_modules", PACKAGE)
    if os.path.exists(os.path.join(folder, "cli.mjs")):
        return folder
    say(f"conformance: fetching {PACKAGE} {VERSION} with npm")
    os.makedirs(FOLDER, exist_ok=True)
    command = ["npm", "install", "--prefix", FOLDER, "--ignore-scripts", "--no-audit", "--no-fund",
               "--omit=dev", f"{PACKAGE}@{VERSION}"]
    if subprocess.run(command, cwd=FOLDER, stdout=subprocess.DEVNULL, check=False).returncode != 0:
        raise ToolError("npm could not fetch the suite; its message is above")
    return folder


def suite_environment(**settings):
    """The suite reads npm's variables; empty ones must be there too."""
    environment = dict(os.environ)
    values = {"protocol": "http", "port": "0", "base": "", "id": "", "pidfile": os.devnull}
    values.update(settings)
    for name, value in values.items():
        environment[f"npm_config_{name}"] = value
        environment[f"npm_package_config_{name}"] = value
    return environment


def read_catalogue(folder):
    command = ["node", "--no-warnings", "--input-type=module", "-e", CATALOGUE]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ToolError(f"node could not list the tests: {done.stderr.strip()}")
    return {test["id"]: test for test in json.loads(done.stdout)}


class SuiteServer:
    """The suite's origin, on a port of its own choice."""

    def __init__(self, folder):
        self._process = subprocess.Popen(
            ["node", "server/server.mjs"], cwd=folder, env=suite_environment(),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        line = self._process.stdout.readline()
        if "Listening on" not in line:
            raise ToolError(f"the suite's server did not start: {line!r}")
        self.port = int(line.strip().rstrip("/").rsplit(":", 1)[1])
        threading.Thread(target=self._process.stdout.read, daemon=True).start()

    def stop(self):
        self._process.terminate()
        self._process.wait()


def run_client(folder, base, test_id=""):
    """Results by test, or the suite's own dump if one test is asked for."""
    done = subprocess.run(["node", "--no-warnings", "cli.mjs"], cwd=folder, text=True,
                          env=suite_environment(base=base, id=test_id), stdout=subprocess.PIPE,
                          timeout=RUN_SECONDS, check=False)
    if done.returncode != 0:
        raise ToolError(f"the suite's client exited with {done.returncode}")
    if test_id:
        return done.stdout
    start = done.stdout.find("{")
    if start < 0:
        raise ToolError(f"the suite's client printed no results: {done.stdout[:400]}")
    return json.loads(done.stdout[start:])


def judge(catalogue, results):
    """Verdict of each test: pass, fail, dependency, setup or untested."""
    verdicts = {}

    def verdict(test_id):
        if test_id in verdicts:
            return verdicts[test_id]
        verdicts[test_id] = "dependency"  # a cycle would be one
        result = results.get(test_id)
        if result is None:
            answer = "untested"
        elif any(verdict(need) != "pass" for need in catalogue[test_id]["needs"]
                 if need in catalogue):
            answer = "dependency"
        elif result is True:
            answer = "pass"
        else:
            answer = "setup" if result[0] == "Setup" else "fail"
        verdicts[test_id] = answer
        return answer

    for test_id in catalogue:
        verdict(test_id)
    return verdicts


def count(catalogue, verdicts):
    counts = {kind: {"total": 0, "pass": 0, "fail": 0, "dependency": 0, "setup": 0, "untested": 0}
              for kind in KINDS}
    for test_id, verdict in verdicts.items():
        counts[catalogue[test_id]["kind"]]["total"] += 1
        counts[catalogue[test_id]["kind"]][verdict] += 1
    return counts


def report(catalogue, verdicts, results, options):
    counts = count(catalogue, verdicts)
    wanted = KINDS if options.verbose else ("required", "optimal")
    for kind in wanted:
        for test_id in sorted(verdicts):
            if catalogue[test_id]["kind"] == kind and verdicts[test_id] != "pass":
                result = results.get(test_id)
                why = result[1] if isinstance(result, list) else ""
                say(f"{kind:8} {verdicts[test_id]:10} {test_id}: {why}")
    for kind in KINDS:
        one = counts[kind]
        say(f"{kind:8} {one['pass']:3} of {one['total']:3} pass, {one['fail']} fail, "
            f"{one['dependency']} need another that fails, {one['setup']} not set up, "
            f"{one['untested']} untested")
    return counts


def regressions(verdicts, catalogue, path):
    """Tests that passed in the baseline and do not now; checks are no one's duty."""
    with open(path, encoding="utf-8") as file:
        recorded = json.load(file)["tests"]
    return [test_id for test_id, verdict in sorted(recorded.items())
            if verdict == "pass" and verdicts.get(test_id) != "pass"
            and catalogue.get(test_id, {}).get("kind") in ("required", "optimal")]


def write_json(path, verdicts, counts):
    document = {"suite": f"{PACKAGE} {VERSION}", "counts": counts,
                "tests": {test_id: verdicts[test_id] for test_id in sorted(verdicts)}}
    with open(path, "w", encoding="utf-8") as file:
        json.dump(document, file, indent=1)
        file.write("\n")


def measure(options):
    """(catalogue, results) of one run, or (None, dump) of one test."""
    folder = package_folder()
    if options.base:
        base = options.base.rstrip("/")
        output = run_client(folder, base, options.id)
        return (None, output) if options.id else (read_catalogue(folder), output)
    server = SuiteServer(folder)
    under_test = proxy.Proxy(options.binary, Transcript(), time.monotonic() + RUN_SECONDS)
    try:
        config = proxy.default_config(under_test.folder, {"origin": server.port},
                                      {"policy": POLICY})
        under_test.write_config(options.config.replace("${port}", str(server.port))
                                if options.config else config)
        under_test.start(options.flag)
        host, port = under_test.address()
        say(f"conformance: {options.binary} on {host}:{port}, origin on port {server.port}")
        output = run_client(folder, f"http://{host}:{port}", options.id)
        under_test.stop()
        if options.id:
            return None, output
        return read_catalogue(folder), output
    finally:
        under_test.cleanup()
        server.stop()


def parse(arguments):
    parser = argparse.ArgumentParser(
        prog="tools/conformance", description=__doc__.split("\n\n", maxsplit=1)[0],
        epilog="--skip-install does not look for Node.js and npm.")
    parser.add_argument("--binary", default=BINARY, metavar="PATH",
                        help="the program under test (default bazel-bin/source/ringfence)")
    parser.add_argument("--flag", action="append", default=[], help="a flag for the program")
    parser.add_argument("--config", metavar="FILE",
                        help="its configuration; ${port} stands for the origin's")
    parser.add_argument("--base", metavar="URL", help="test what already runs there instead")
    parser.add_argument("--id", default="", metavar="TEST", help="one test, with all its messages")
    parser.add_argument("--json", metavar="FILE", help="write verdicts and counts there")
    parser.add_argument("--baseline", default=BASELINE, metavar="FILE",
                        help="recorded verdicts; a pass that is lost fails (default "
                        "docs/conformance.json, if it is there)")
    parser.add_argument("--update", action="store_true", help="record this run as the baseline")
    parser.add_argument("--min-required", type=int, default=0, metavar="N",
                        help="fail below N required tests passed")
    parser.add_argument("--verbose", action="store_true", help="name the checks too")
    options = parser.parse_args(arguments)
    if options.config:
        with open(options.config, encoding="utf-8") as file:
            options.config = file.read()
    if not options.base and not os.access(options.binary, os.X_OK):
        raise ToolError(f"{options.binary} is not there; build it with: bazel build -c opt "
                        "//source:ringfence")
    options.binary = os.path.abspath(options.binary)
    return options


def main(arguments):
    options = parse(arguments)
    catalogue, results = measure(options)
    if catalogue is None:
        say(results)
        return 0
    verdicts = judge(catalogue, results)
    counts = report(catalogue, verdicts, results, options)
    if options.json:
        write_json(options.json, verdicts, counts)
    if options.update:
        write_json(options.baseline, verdicts, counts)
        say(f"conformance: recorded in {os.path.relpath(options.baseline, ROOT)}")
        return 0
    code = 0
    if os.path.exists(options.baseline):
        lost = regressions(verdicts, catalogue, options.baseline)
        for test_id in lost:
            say(f"REGRESSION {test_id}: it passes in the baseline")
        code = 1 if lost else 0
    if counts["required"]["pass"] < options.min_required:
        say(f"conformance: fewer than {options.min_required} required tests pass")
        code = 1
    return code


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except (ToolError, proxy.ProcessError, OSError, subprocess.TimeoutExpired) as error:
        print(f"tools/conformance: {error}", file=sys.stderr)
        sys.exit(1)
