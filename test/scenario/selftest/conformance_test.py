"""Goal: verdicts of the cache-tests suite are counted by its own rules and a lost pass is found.
Method: a small catalogue and results made by hand; neither the suite nor a proxy is run."""

import json
import os
import sys
import tempfile
import unittest

FOLDER = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(FOLDER)))
sys.path[:0] = [ROOT, os.path.join(ROOT, "tools")]

import conformance_run  # noqa: E402
from tools.lib import junit  # noqa: E402


def catalogue(**tests):
    return {name: {"id": name, "kind": kind, "needs": needs} for name, (kind, needs) in
            tests.items()}


class JudgeTest(unittest.TestCase):
    TESTS = catalogue(a=("required", []), b=("required", ["a"]), c=("required", ["b"]),
                      d=("optimal", []), e=("check", []), f=("required", ["d"]))

    def test_a_test_passes_only_with_what_it_needs(self):
        results = {"a": ["Assertion", "no"], "b": True, "c": True, "d": True, "e": True, "f": True}
        self.assertEqual({"a": "fail", "b": "dependency", "c": "dependency", "d": "pass",
                          "e": "pass", "f": "pass"}, conformance_run.judge(self.TESTS, results))

    def test_setup_failures_and_missing_results_are_not_passes(self):
        verdicts = conformance_run.judge(self.TESTS, {"a": ["Setup", "retry"], "d": True})
        self.assertEqual("setup", verdicts["a"])
        self.assertEqual("untested", verdicts["c"])

    def test_tests_that_need_each_other_do_not_hang(self):
        tests = catalogue(a=("required", ["b"]), b=("required", ["a"]))
        verdicts = conformance_run.judge(tests, {"a": True, "b": True})
        self.assertEqual({"dependency"}, set(verdicts.values()))

    def test_counts_are_by_kind(self):
        verdicts = conformance_run.judge(self.TESTS, {name: True for name in self.TESTS})
        counts = conformance_run.count(self.TESTS, verdicts)
        self.assertEqual([4, 1, 1], [counts[k]["pass"] for k in conformance_run.KINDS])
        self.assertEqual([4, 1, 1], [counts[k]["total"] for k in conformance_run.KINDS])

    def test_a_lost_pass_is_a_regression_unless_it_is_a_check(self):
        recorded = {"tests": {"a": "pass", "b": "fail", "d": "pass", "e": "pass", "gone": "pass"}}
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump(recorded, file)
            file.flush()
            lost = conformance_run.regressions({"a": "fail", "b": "fail", "d": "pass", "e": "fail"},
                                               self.TESTS, file.name)
        self.assertEqual(["a"], lost)


if __name__ == "__main__":
    sys.exit(junit.run_unittests("__main__", "conformance"))
