"""Goal: a scenario that should fail does fail, with a reason, and one that should pass passes.
Method: small scenarios against a stub proxy whose behaviour is known; each bad one is broken in one
way."""

import os
import sys
import tempfile
import textwrap
import unittest

SCENARIO_FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [SCENARIO_FOLDER, os.path.dirname(os.path.dirname(SCENARIO_FOLDER))]

from harness import document, expect, origin, prometheus, wire
from harness.scenario import Scenario
from tools.lib import junit

STUB = os.path.join(os.path.dirname(os.path.abspath(__file__)), "stub_proxy.py")
CACHEABLE = """
    name: a miss then a hit
    origin:
      replies:
      - match: {path: /x}
        respond: {headers: {Cache-Control: max-age=60}, body: "v{{n}}"}
"""


class HarnessTest(unittest.TestCase):
    def outcome(self, *texts):
        with tempfile.NamedTemporaryFile("w", suffix=".yaml", encoding="utf-8") as file:
            file.write("".join(textwrap.dedent(text).strip("\n") + "\n" for text in texts))
            file.flush()
            return Scenario(file.name, STUB).run()

    def passes(self, *texts):
        self.assertIsNone(self.outcome(*texts))

    def fails(self, reason, *texts):
        report = self.outcome(*texts)
        self.assertIsNotNone(report, "the scenario passed")
        self.assertIn(reason, report)
        return report

    def test_a_miss_then_a_hit(self):
        self.passes(CACHEABLE, """
            steps:
            - {get: /x, expect: {status: 200, body: v1, cache: miss, absent: [Age]}}
            - {get: /x, expect: {status: 200, body: v1, cache: hit, headers: {Age: {ge: 0}}}}
            - origin: {path: /x, requests: 1}
            - admin: {path: "/shards?format=json", expect: {json: {shards.*.requests: 2}}}
            """)

    def test_wrong_status_is_reported_with_its_line_and_the_transcript(self):
        report = self.fails("line 7: the status is 200, expected 404", CACHEABLE, """
            steps:
            - {get: /x, expect: {status: 404}}
            """)
        self.assertIn("GET /x HTTP/1.1", report)
        self.assertIn("origin#1", report)

    def test_wrong_body_field_cache_and_count_are_reported(self):
        for reason, step in (("the body is b'v1'", "{get: /x, expect: {body: v2}}"),
                             ("field Age is None", "{get: /x, expect: {headers: {Age: 0}}}"),
                             ("Cache-Status is", "{get: /x, expect: {cache: hit}}"),
                             ("field Date is", "{get: /x, expect: {absent: [Date]}}"),
                             ("is 0, expected 1", "origin: {path: /x, requests: 1}")):
            with self.subTest(step):
                self.fails(reason, CACHEABLE, f"steps:\n- {step}\n")

    def test_a_message_cut_short_is_not_complete(self):
        cut = """
            name: cut
            origin:
              replies:
              - steps:
                - send: "HTTP/1.1 200 OK\\r\\nContent-Length: 9\\r\\n\\r\\nhello"
                - close: fin
            """
        self.fails("the response is cut short", cut, "steps:\n- {get: /, expect: {status: 200}}\n")
        self.passes(cut, "steps:\n- {get: /, expect: {status: 200, complete: false}}\n")

    def test_two_lengths_are_a_violation_whatever_is_expected(self):
        self.fails("bad Content-Length", "flags: [--lie-about-length]", CACHEABLE, """
            steps:
            - {get: /x, expect: {status: 200}}
            """)

    def test_exit_code_and_complaints_of_the_process_count(self):
        steps = "steps:\n- {get: /x, expect: {status: 200}}\n"
        self.fails("exited with 3", "flags: [--bad-exit]", CACHEABLE, steps)
        self.fails("CHECK failed", "flags: [--complain]", CACHEABLE, steps)

    def test_what_no_reply_is_scripted_for_fails(self):
        self.fails("no reply is scripted for GET /y", CACHEABLE,
                   "steps:\n- get: /y\n  expect: {}\n")

    def test_expectations_on_requests_are_checked(self):
        self.fails("field X-A is None", """
            name: x
            origin:
              replies: [{expect: {headers: {X-A: "1"}}}]
            steps:
            - {get: /, expect: {status: 200}}
            """)

    def test_barriers_order_what_happens(self):
        self.passes("""
            name: barrier
            origin:
              replies:
              - steps: [{wait: go}, {respond: {body: done}}]
            steps:
            - parallel:
              - - {client: a, get: /, expect: {body: done}}
              - - wait_origin: {path: /}
                - signal: go
            """)

    def test_a_barrier_that_nobody_signals_times_out(self):
        self.fails("nobody signalled go", "name: x\ntimeout_s: 4\nsteps:\n- wait: go\n")

    def test_loops_have_their_variables(self):
        self.passes("""
            name: loop
            origin:
              replies:
              - for_each: [{p: /a, b: one}, {p: /b, b: two}]
                do:
                - {match: {path: "${p}"}, respond: {body: "${b}"}}
            steps:
            - for_each: [{p: /a, b: one}, {p: /b, b: two}]
              do:
              - {client: "c${i}", get: "${p}", expect: {body: "${b}"}}
            """)

    def test_restart_and_reload(self):
        self.passes(CACHEABLE, """
            steps:
            - {get: /x, expect: {cache: miss}}
            - process: [stop, start]
            - {get: /x, expect: {body: v2, cache: miss}}
            - reload: {config: {text: "static_resources: {clusters: []}"}, expect: {status: 400}}
            - {get: /x, expect: {body: v2, cache: hit}}
            """)

    def test_misspelt_keys_are_errors(self):
        for text in ("name: x\nsteps: []\nstep: []\n", "name: x\nname: y\nsteps: []\n",
                     "name: x\nsteps: [{gett: /x}]\n", "steps: []\n"):
            with self.subTest(text), self.assertRaises(document.DocumentError):
                self.outcome(text)


class WireTest(unittest.TestCase):
    def test_operators(self):
        for value, want in ((5, {"ge": 5, "le": 5}), ("abc", {"matches": "^a.c$"}), (None, None),
                            ("b", ["a", "b"]), ("x", {"not": "y"}), (None, {"optional": "x"}),
                            ("abc", {"all": [{"contains": "a"}, {"contains": "c"}]})):
            self.assertTrue(expect.matches(value, want), (value, want))
        for value, want in ((4, {"ge": 5}), ("abc", "ab"), ("x", None), ("c", ["a", "b"]),
                            ("y", {"optional": "x"}), ("x", {"present": False}), (None, "x")):
            self.assertFalse(expect.matches(value, want), (value, want))

    def test_json_paths(self):
        tree = {"a": [{"n": 1}, {"n": 2}], "b": {"c": "x"}}
        expect.check_json(tree, {"a.*.n": 3, "a.1.n": 2, "b.c": "x", "b.d": None})
        with self.assertRaises(expect.Unmet):
            expect.check_json(tree, {"a.*.n": 4})

    def test_prometheus_text_is_judged_strictly(self):
        good = ("# TYPE a counter\na{x=\"1\"} 1\na{x=\"2\"} 2\n# TYPE h histogram\n"
                "h_bucket{le=\"1\"} 1\nh_bucket{le=\"+Inf\"} 3\nh_sum 4\nh_count 3\n")
        prometheus.Exposition(good)
        for bad in ("a 1\n", "# TYPE a counter\na 1\na 1\n", "# TYPE a counter\na -1\n",
                    "# TYPE a counter\n# TYPE a gauge\na 1\n", "# TYPE a counter\na 1",
                    "# TYPE a counter\na{x=1} 1\n", "# TYPE h histogram\nh_sum 1\nh_count 1\n",
                    good.replace("+Inf", "2"), good.replace("h_sum 4\n", ""),
                    good.replace("h_count 3", "h_count 2"),
                    "# TYPE a gauge\na 1\n# TYPE b gauge\nb 1\na{x=\"1\"} 1\n"):
            with self.subTest(bad), self.assertRaises(expect.Unmet):
                prometheus.Exposition(bad)

    def test_strict_parsers_refuse_bad_fields(self):
        for line in (b"A : b", b": b", b"A\x00: b", b"no colon", b"A: b\x01"):
            with self.subTest(line), self.assertRaises(wire.WireError):
                wire.parse_fields([line])

    def test_patterns_are_functions_of_their_seed(self):
        self.assertEqual(wire.pattern("a", 1000), wire.pattern("a", 1000))
        self.assertNotEqual(wire.pattern("a", 1000), wire.pattern("b", 1000))

    def test_chunks_take_the_given_sizes(self):
        self.assertEqual(b"2\r\nab\r\n3\r\ncde\r\n0\r\n\r\n",
                         origin.chunks({"chunked": [2]}, b"abcde"))


if __name__ == "__main__":
    sys.exit(junit.run_unittests("__main__", "scenario_harness"))
