"""Goal: the figures that tools/bench prints are what the rounds were, and its verdicts are those of
the rank test. Method: known values of the test, from the documentation of R's wilcox.test and of
SciPy's mannwhitneyu and from the tables of Mann and Whitney (1947); small tables of made-up rounds;
bodies served by a small server of our own."""

import csv
import http.server
import json
import math
import os
import sys
import tempfile
import threading
import unittest
import xml.etree.ElementTree as ElementTree

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))))

from tools.benchmarks import gate, load, machine, main, report, significance, work


class SignificanceTest(unittest.TestCase):
    def test_value_of_scipys_documentation(self):
        statistic, p = significance.mann_whitney([19, 22, 16, 29, 24], [20, 11, 17, 12])
        self.assertEqual(statistic, 17)
        self.assertAlmostEqual(p, 0.1111111, places=6)

    def test_value_of_rs_documentation(self):
        at_term = [0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46]
        early = [1.15, 0.88, 0.90, 0.74, 1.21]
        statistic, p = significance.mann_whitney(at_term, early)
        self.assertEqual(statistic, 35)
        self.assertAlmostEqual(p / 2, 0.1272, places=4)  # there one-sided

    def test_normal_approximation(self):
        """SciPy's asymptotic value for the first example."""
        self.assertAlmostEqual(significance._normal(5, 4, 3, [1] * 9), 0.11134688653314041,
                               places=12)

    def test_critical_values(self):
        """The largest U that is significant at 5 %, two-sided, and the next."""
        for size, critical in ((4, 0), (5, 2), (6, 5), (7, 8), (8, 13), (10, 23)):
            self.assertLess(significance._exact(size, size, critical), 0.05)
            self.assertGreater(significance._exact(size, size, critical + 1), 0.05)

    def test_three_rounds_can_never_tell(self):
        self.assertAlmostEqual(significance.mann_whitney([1, 2, 3], [4, 5, 6])[1], 0.1)
        self.assertEqual(significance.least_rounds(), 4)

    def test_it_does_not_matter_who_is_first(self):
        one, other = [3.1, 4.2, 4.2, 9.0, 7.7], [4.2, 8.8, 10.1, 11.5, 12.6]
        self.assertAlmostEqual(significance.mann_whitney(one, other)[1],
                               significance.mann_whitney(other, one)[1])

    def test_equal_samples_do_not_differ(self):
        self.assertEqual(significance.mann_whitney([5, 5, 5, 5], [5, 5, 5, 5])[1], 1.0)
        self.assertEqual(significance.mann_whitney([1, 2, 3, 4], [1, 2, 3, 4])[1], 1.0)

    def test_large_samples_use_the_approximation(self):
        one, other = list(range(0, 200, 2)), list(range(61, 261, 2))
        p = significance.mann_whitney(one, other)[1]
        self.assertTrue(0 < p < 1e-6)
        self.assertTrue(math.isfinite(p))

    def test_no_samples_are_an_error(self):
        with self.assertRaises(ValueError):
            significance.mann_whitney([], [1])

    def test_median_and_spread(self):
        self.assertEqual(significance.median([3, 1, 2]), 2)
        self.assertEqual(significance.median([4, 1, 2, 3]), 2.5)
        self.assertAlmostEqual(significance.spread([90, 100, 120]), 0.15)
        self.assertEqual(significance.spread([0, 0]), 0)

    def test_verdicts(self):
        low, high = [1, 2, 3, 4, 5], [11, 12, 13, 14, 15]
        self.assertIn("better", significance.verdict("a", high, "b", low))
        self.assertIn("worse", significance.verdict("a", high, "b", low, higher_is_better=False))
        self.assertIn("4.33 times b", significance.verdict("a", high, "b", low))
        self.assertIn("no significant difference", significance.verdict("a", low, "b", low))
        self.assertIn("at least 4 rounds", significance.verdict("a", [1, 2, 3], "b", [4, 5, 6]))


class TableTest(unittest.TestCase):
    def setUp(self):
        self.table = report.Table("a title", ("size", "how"), [
            report.Measure("rps", "requests/s"), report.Measure("cpu", "CPU us", 1, False)])
        for rps, cpu in ((100, 9.0), (110, 8.0), (90, 10.0), (105, 8.5)):
            self.table.add(("4k", "fast"), {"rps": rps, "cpu": cpu})
            self.table.add(("4k", "slow"), {"rps": rps / 4, "cpu": None})

    def test_text_has_medians_and_spread(self):
        text = self.table.text()
        self.assertIn("| 4k   | fast |   102 ±10% | 8.8 ±11% |", text)
        self.assertIn("|        - |", text)

    def test_verdicts_are_of_rows_that_have_values(self):
        self.table.compare(("4k", "fast"), ("4k", "slow"), "rps")
        self.table.compare(("4k", "fast"), ("4k", "slow"), "cpu")
        self.table.compare(("4k", "fast"), ("4k", "absent"), "rps")
        self.assertEqual(len(self.table.verdicts), 1)
        self.assertIn("better, p=0.029", self.table.verdicts[0])

    def test_files_hold_every_round(self):
        with tempfile.TemporaryDirectory() as folder:
            paths = self.table.save(folder, "name")
            self.assertEqual([os.path.basename(path) for path in paths],
                             ["name.txt", "name.csv", "name.svg"])
            with open(paths[1], encoding="utf-8", newline="") as file:
                rows = list(csv.reader(file))
            self.assertEqual(rows[0], ["size", "how", "round", "rps", "cpu"])
            self.assertEqual(rows[2], ["4k", "fast", "2", "110", "8.0"])
            self.assertEqual(len(rows), 9)
            root = ElementTree.parse(paths[2]).getroot()
            bars = [item for item in root if item.tag.endswith("rect") and item.get("x")]
            self.assertEqual(len(bars), 2)
            self.assertAlmostEqual(float(bars[0].get("width")) / float(bars[1].get("width")), 4,
                                   places=1)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wrong = 0  # one number whose body is another's

    def do_GET(self):
        number = int(self.path.rsplit("x", 1)[1])
        digit = (number + (1 if number == self.wrong else 0)) % load.ORIGINS_OBJECTS
        with open(os.path.join(self.server.root, f"512.{digit}.bin"), "rb") as file:
            body = file.read()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class BodiesTest(unittest.TestCase):
    def check(self, wrong):
        handler = type("Once", (Handler,), {"wrong": wrong})
        with tempfile.TemporaryDirectory() as folder, \
                http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
            server.root = folder
            load.bodies(folder, 512)
            thread = threading.Thread(target=server.serve_forever)
            thread.start()
            try:
                return load.check_bodies(folder, *server.server_address,
                                         load.Objects("/x", 3, 512), seed=1)
            finally:
                server.shutdown()
                thread.join()

    def test_the_origins_bodies_pass(self):
        self.assertEqual(self.check(wrong=0), load.CHECKED)

    def test_one_that_is_anothers_is_found(self):
        with self.assertRaisesRegex(RuntimeError, "not the origin's"):
            self.check(wrong=2)


class WorkTest(unittest.TestCase):
    def test_disk_works_are_larger_than_their_memory(self):
        for name, job in work.WORKS.items():
            if job.disk:
                total = job.objects.count * job.objects.size
                self.assertGreater(total / 2, job.memory_mib << 20, name)  # also with --quick

    def test_ringfences_cache_holds_the_work(self):
        for job in work.WORKS.values():
            cache = work.ringfence_options(job)["cache"]
            self.assertGreater(cache["max_size_bytes"], job.objects.count * job.objects.size)

    def test_every_experiment_is_described(self):
        self.assertEqual(sorted(main.EXPERIMENTS), ["completions", "disk", "floor", "idle",
                                                    "rivals", "steering"])
        for run, _ in main.EXPERIMENTS.values():
            self.assertTrue(run.__doc__)

    def test_what_is_missing_names_its_package(self):
        with self.assertRaisesRegex(machine.Missing, "apt-get install trafficserver no-such"):
            machine.PACKAGES = {**machine.PACKAGES, "no-traffic-server": "trafficserver"}
            machine.need("no-traffic-server", "no-such")


class GateTest(unittest.TestCase):
    def test_growth_up_to_three_percent_passes(self):
        self.assertTrue(gate.judge("hit", 10600, {"hit": 10000})[1])
        self.assertTrue(gate.judge("hit", 8000, {"hit": 10000})[1])
        self.assertFalse(gate.judge("hit", 10601, {"hit": 10000})[1])

    def test_what_was_never_recorded_does_not_pass(self):
        line, good = gate.judge("hit", 10, {})
        self.assertFalse(good)
        self.assertIn("--record", line)

    def test_every_work_is_recorded(self):
        with open(gate.RECORD, encoding="utf-8") as file:
            self.assertEqual(set(json.load(file)), set(gate.WORKS))

    def test_the_shard_is_the_busiest_thread(self):
        with tempfile.TemporaryDirectory() as folder:
            for thread, count in ((1, 50), (2, 700), (3, 0)):
                with open(os.path.join(folder, f"out.1-0{thread}"), "w", encoding="utf-8") as file:
                    file.write(f"version: 1\nthread: {thread}\nevents: Ir\nsummary: {count}\n")
            self.assertEqual(gate.busiest_thread(os.path.join(folder, "out.1-*")), 700)


if __name__ == "__main__":
    unittest.main()
