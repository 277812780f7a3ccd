"""Goal: tools/test counts what ran, and never counts a failure as a pass. Method: JUnit files and
build events as Bazel writes them, made by hand in a temporary folder; Bazel is not run."""

import json
import os
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [ROOT, os.path.join(ROOT, "tools")]

import test_lanes  # noqa: E402
from tools.lib import junit  # noqa: E402

GTEST = """<?xml version="1.0" encoding="UTF-8"?>
<testsuites tests="4" failures="1" disabled="1" errors="0" name="AllTests">
  <testsuite name="A" tests="4" failures="1" disabled="1" skipped="1" errors="0">
    <testcase name="Good" status="run" result="completed" classname="A" />
    <testcase name="Bad" status="run" result="completed" classname="A">
      <failure message="x" type=""><![CDATA[x]]></failure>
    </testcase>
    <testcase name="Off" status="notrun" result="suppressed" classname="A" />
    <testcase name="Skipped" status="run" result="skipped" classname="A"><skipped/></testcase>
  </testsuite>
</testsuites>
"""


class CountTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def tally(self, *events):
        results = test_lanes.Results()
        results.read(self.write("events", "\n".join(json.dumps(event) for event in events)))
        return results.tally("lane")

    def result(self, status, xml):
        output = {"name": "test.xml", "uri": "file://" + xml}
        return {"id": {"testResult": {"label": "//a:a"}},
                "testResult": {"status": status, "testActionOutput": [output]}}

    def test_cases_of_googletest_are_counted_one_by_one(self):
        tally = self.tally(self.result("FAILED", self.write("a b.xml", GTEST)))
        self.assertEqual("1 passed, 1 failed, 2 skipped", tally.line())
        self.assertEqual(["[lane] //a:a A.Bad"], tally.failures)

    def test_a_test_that_died_fails_although_its_cases_passed(self):
        good = GTEST.replace("<failure message=\"x\" type=\"\"><![CDATA[x]]></failure>", "")
        tally = self.tally(self.result("FAILED", self.write("a.xml", good)))
        self.assertEqual(1, tally.failed)

    def test_a_test_without_readable_cases_counts_once(self):
        self.assertEqual("1 passed, 0 failed", self.tally(self.result("PASSED", "/none")).line())
        broken = self.write("a.xml", "<testsuites><testsuite>")
        self.assertEqual("0 passed, 1 failed", self.tally(self.result("FAILED", broken)).line())
        self.assertEqual("0 passed, 1 failed", self.tally(self.result("TIMEOUT", "/none")).line())

    def test_what_does_not_build_fails(self):
        completed = {"id": {"targetCompleted": {"label": "//a:b"}}, "completed": {}}
        aborted = {"id": {"configuredLabel": {"label": "//a:c"}},
                   "aborted": {"reason": "ANALYSIS_FAILURE"}}
        self.assertEqual(["[lane] //a:b (does not build)", "[lane] //a:c (does not build)"],
                         self.tally(completed, aborted).failures)

    def test_what_is_skipped_by_its_platform_is_no_failure(self):
        skipped = {"id": {"targetCompleted": {"label": "//a:b"}}, "aborted": {"reason": "SKIPPED"}}
        self.assertEqual("0 passed, 0 failed", self.tally(skipped).line())

    def test_no_events_at_all_fail(self):
        results = test_lanes.Results()
        results.read(os.path.join(self.folder, "none"))
        self.assertEqual(1, results.tally("lane").failed)

    def test_our_own_files_are_counted_too(self):
        path = os.path.join(self.folder, "own.xml")
        junit.write(path, "suite", [junit.Case("a"), junit.Case("b", failure="no\x00"),
                                    junit.Case("c", skipped="why")])
        tally = test_lanes.Tally()
        self.assertEqual((3, 1), test_lanes.count_xml(path, "x", tally))
        self.assertEqual("1 passed, 1 failed, 1 skipped", tally.line())

    def test_every_lane_says_what_it_is(self):
        for name, lane in test_lanes.LANES.items():
            self.assertTrue(lane.__doc__, name)
        self.assertLessEqual(set(test_lanes.FULL + test_lanes.QUICK), set(test_lanes.LANES))


if __name__ == "__main__":
    sys.exit(junit.run_unittests("__main__", "lanes"))
