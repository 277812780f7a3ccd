"""Goal: every rule of the linter catches what it forbids and lets the right form pass.
Method: small trees in a temporary folder, a bad and a good sample for each rule; the real tree is
not read."""

import os
import shutil
import sys
import tempfile
import unittest

from tools.lib import junit
from tools.linter import allow, banned, dead, formatting, headers, layering, main, marks, sizes
from tools.linter.source import Tree, strip_cpp

# Words that the linter would find in this very file.
OPEN_END = "TO" "DO"


class RuleTest(unittest.TestCase):
    """Makes trees out of {path: text}."""

    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.addCleanup(self._folder.cleanup)

    def findings(self, check, files):
        for path, text in files.items():
            full = os.path.join(self._folder.name, path)
            os.makedirs(os.path.dirname(full), exist_ok=True)
            with open(full, "w", encoding="utf-8") as file:
                file.write(text)
        return check(Tree(self._folder.name))

    def rules(self, check, files):
        return sorted({finding.rule for finding in self.findings(check, files)})

    def _clear(self):
        for name in os.listdir(self._folder.name):
            shutil.rmtree(os.path.join(self._folder.name, name))

    def bad(self, check, rule, text, path="source/http/a.cc"):
        self._clear()
        self.assertIn(rule, self.rules(check, {path: text}), text)

    def good(self, check, text, path="source/http/a.cc"):
        self._clear()
        self.assertEqual([], [str(f) for f in self.findings(check, {path: text})], text)


class LayeringTest(RuleTest):
    def refused(self, include, path):
        self.bad(layering.check, "layering", f'#include "{include}"\n', path)

    def test_lower_folder_is_allowed(self):
        self.good(layering.check, '#include "source/base/result.h"\n')

    def test_own_folder_is_allowed(self):
        self.good(layering.check, '#include "source/http/b.h"\n')

    def test_upper_folder_is_refused(self):
        self.bad(layering.check, "layering", '#include "source/policy/a.h"\n')

    def test_cache_must_not_see_upstream(self):
        self.refused("source/upstream/a.h", "source/cache/a.cc")

    def test_store_must_not_see_http(self):
        self.refused("source/http/a.h", "source/store/core/a.h")

    def test_shard_must_not_see_an_engine(self):
        self.refused("source/io/uring/a.h", "source/shard/a.cc")

    def test_data_plane_must_not_see_protos(self):
        self.bad(layering.check, "layering", '#include "api/x/a.pb.h"\n', "source/proxy/a.cc")

    def test_unknown_folder_is_refused(self):
        self.bad(layering.check, "layering", "\n", "source/misc/a.cc")

    def test_include_without_root_is_refused(self):
        self.bad(layering.check, "layering", '#include "b.h"\n')

    def test_source_must_not_see_tests(self):
        self.bad(layering.check, "layering", '#include "test/sim/a.h"\n')

    def test_include_in_a_comment_counts_for_nothing(self):
        self.good(layering.check, '// #include "source/policy/a.h"\n')

    def test_library_belongs_to_its_folder(self):
        self.bad(layering.check, "layering", "#include <liburing.h>\n", "source/rt/a.cc")
        self.bad(layering.check, "layering", "#include <yaml-cpp/yaml.h>\n", "source/server/a.cc")
        self.good(layering.check, "#include <liburing.h>\n", "source/io/uring/a.cc")

    def test_the_allowed_edges_have_no_cycle(self):
        rank = {}

        def visit(layer, path):
            self.assertNotIn(layer, path, f"cycle through {layer}")
            if layer not in rank:
                edges = layering.ALLOWED.get(layer, set())
                rank[layer] = 1 + max([visit(e, path | {layer}) for e in edges], default=0)
            return rank[layer]

        for layer in layering.ALLOWED:
            visit(layer, frozenset())


class BannedTest(RuleTest):
    BAD = {
        "clock": "auto t = std::chrono::steady_clock::now();\n",
        "random": "int x = rand();\n",
        "mutex": "std::mutex m;\n",
        "atomic": "std::atomic<int> a;\n",
        "volatile": "volatile int a;\n",
        "thread-local": "thread_local int a;\n",
        "thread": "std::thread t;\n",
        "exceptions": "void f() {\n  throw 1;\n}\n",
        "function": "std::function<void()> f;\n",
        "shared-ptr": "std::shared_ptr<int> p;\n",
        "assert": "void f() {\n  assert(true);\n}\n",
        "print": "void f() {\n  printf(\"x\");\n}\n",
        "sleep": "void f() {\n  usleep(1);\n}\n",
        "endl": "o << std::endl;\n",
        "using-namespace": "using namespace std;\n",
        "goto": "void f() {\n  goto out;\n}\n",
        "null": "void* p = NULL;\n",
        "disabled-code": "#if 0\n#endif\n",
        "static-state": "void f() {\n  static int calls = 0;\n}\n",
        "unordered-iteration": "std::unordered_map<int, int> m;\n"
                               "void f() {\n  for (auto& e : m) {\n  }\n}\n",
        "await-braces": "Task<int> f() {\n  co_await g(Options{1, 2});\n}\n",
    }
    GOOD = [
        "// std::mutex, rand() and printf( in a comment\n",
        'const char* text = "std::mutex; throw; goto out;";\n',
        'const char* raw = R"(printf("x"); std::atomic<int>)";\n',
        "static_assert(sizeof(int) == 4);\n",
        "void f() {\n  static constexpr int kLimit = 3;\n  static const int kOther = 4;\n}\n",
        "struct A {\n  static int of(int x) { return x; }\n};\n",
        "std::map<int, int> m;\nvoid f() {\n  for (auto& e : m) {\n  }\n}\n",
        "std::unordered_map<int, int> m;\nint f() { return m.at(3); }\n",
        "Task<int> f() {\n  if (co_await g(x)) {\n    co_return 1;\n  }\n}\n",
        "Task<int> f() {\n  auto r = co_await g(std::move(options));\n}\n",
        "Task<int> f() {\n  while (co_await next()) {\n  }\n}\n",
        "Task<int> f() {\n  co_await Sent{this, to};\n  co_await g(ShardId{to}, {});\n}\n",
        "struct A {\n  Task<void> sleep(int ms);\n};\n",
        "int x = 1'000'000;\nchar c = '\"';\nint y = 0;\n",
        "void f() {\n  snprintf(b, 3, \"x\");\n}\n",
    ]

    def test_each_bad_sample_is_caught(self):
        for rule, text in self.BAD.items():
            with self.subTest(rule):
                self.bad(banned.check, rule, text)

    def test_no_rule_lacks_a_bad_sample(self):
        self.assertEqual(sorted(banned.rules()), sorted(self.BAD))

    def test_good_samples_pass(self):
        for text in self.GOOD:
            with self.subTest(text):
                self.good(banned.check, text)

    def test_iteration_over_a_member_of_the_header_is_caught(self):
        files = {"source/http/a.h": "struct A {\n  std::unordered_set<int> seen_;\n};\n",
                 "source/http/a.cc": "void A::f() {\n  for (int x : seen_) {\n  }\n}\n"}
        self.assertEqual(["unordered-iteration"], self.rules(banned.check, files))

    def test_allow_list_permits_only_what_it_names(self):
        allowed = allow.load()
        self.assertTrue(allowed.permits("atomic", "source/rt/peer_link.h"))
        self.assertTrue(allowed.permits("atomic", "source/io/uring/uring_engine.cc"))
        self.assertTrue(allowed.permits("thread-local", "source/rt/frame_pool.cc"))
        self.assertFalse(allowed.permits("thread-local", "source/rt/peer_link.h"))
        self.assertFalse(allowed.permits("atomic", "source/cache/object_cache.cc"))

    def test_allow_list_needs_a_reason_and_a_known_rule(self):
        broken = allow.AllowList("atomic source/x.cc\nnonsense source/* because\n")
        self.assertEqual([1], [number for number, _ in broken.errors])
        self.assertEqual([(2, "nonsense")], broken.unknown_rules(main.known_rules()))
        self.assertEqual([], main.allow_list_findings(allow.load()))


class SizesTest(RuleTest):
    def test_columns_at_the_limit_and_past_it(self):
        self.good(sizes.check, "x" * 100 + "\n")
        self.bad(sizes.check, "columns", "x" * 101 + "\n")

    def test_header_lines_at_the_limit_and_past_it(self):
        self.good(sizes.check, "\n" * 250, "source/http/a.h")
        self.bad(sizes.check, "file-length", "\n" * 251, "source/http/a.h")

    def test_source_lines_at_the_limit_and_past_it(self):
        self.good(sizes.check, "\n" * 500)
        self.bad(sizes.check, "file-length", "\n" * 501)

    @staticmethod
    def function(lines, head="int f(int x)"):
        return head + " {\n" + "  x++;\n" * (lines - 2) + "}\n"

    def test_function_lines_at_the_limit_and_past_it(self):
        self.good(sizes.check, self.function(70))
        self.bad(sizes.check, "function-length", self.function(71))

    def test_every_shape_of_function_is_measured(self):
        for head in ("A::A(int x) : x_(x), y_(0)", "auto f(int x) const noexcept -> int",
                     "template <class T>\nint f(T x)", "bool operator==(const A& a, const A& b)",
                     "TEST(Suite, Name)", "rt::Task<base::Result<int>> A::f(const Options& x)",
                     "struct A;\nint f(struct A x)"):
            with self.subTest(head):
                self.bad(sizes.check, "function-length", self.function(72, head))

    def test_long_class_and_namespace_are_not_functions(self):
        members = "  int x;\n" * 100
        self.good(sizes.check, "namespace a {\nclass B {\n" + members + "};\n}\n")
        self.good(sizes.check, "constexpr int kTable[] = {\n" + "  1,\n" * 100 + "};\n")
        self.good(sizes.check, "enum class E : uint8_t {\n" + "  a,\n" * 100 + "};\n")

    def test_methods_inside_a_class_are_measured(self):
        text = "class A {\n public:\n" + self.function(71) + "};\n"
        self.bad(sizes.check, "function-length", text)

    def test_python_functions_are_measured(self):
        self.bad(sizes.check, "function-length", "def f():\n" + "    x = 1\n" * 70, "tools/a.py")
        self.good(sizes.check, "def f():\n" + "    x = 1\n" * 69, "tools/a.py")

    def test_braces_in_literals_and_macros_do_not_count(self):
        names = [name for name, _, _ in sizes.cpp_functions(strip_cpp(
            '#define M(x) \\\n  do { x; \\\n  } while (0)\nint f() { return "}{"[0]; }\n'
            "int g() { return '{'; }\n"))]
        self.assertEqual(["f", "g"], names)


class MarksTest(RuleTest):
    def test_open_end_needs_an_issue_and_a_reason(self):
        self.bad(marks.check, "todo", f"// {OPEN_END}: later\n")
        self.bad(marks.check, "todo", f"// {OPEN_END}(me): later\n")
        self.bad(marks.check, "todo", "// FIX" "ME\n")
        self.good(marks.check, f"// {OPEN_END}(#12): the reason\n")

    def test_space_at_the_end_of_a_line(self):
        self.bad(marks.check, "whitespace", "int x; \n")
        self.bad(marks.check, "whitespace", "int x;")
        self.bad(marks.check, "whitespace", "\tint x;\n")

    def test_header_has_pragma_once(self):
        self.bad(marks.check, "pragma-once", "int f();\n", "source/http/a.h")
        self.good(marks.check, "#pragma once\nint f();\n", "source/http/a.h")

    def test_test_opens_with_a_comment(self):
        self.bad(marks.check, "opening", "#include <a>\n", "test/http/a_test.cc")
        self.good(marks.check, "// Goal: x. Method: y.\n#include <a>\n", "test/http/a_test.cc")

    def test_scripts_parse(self):
        self.bad(marks.check, "script", "def f(:\n", "tools/a.py")
        self.bad(marks.check, "script", "#!/bin/bash\nif true; then\n", "tools/a")
        self.bad(marks.check, "script", "a: [1\n", "configs/a.yaml")
        self.good(marks.check, "#!/bin/bash\ntrue\n", "tools/a")


class DeadFileTest(RuleTest):
    def test_unnamed_file_is_dead(self):
        files = {"source/http/BUILD.bazel": 'srcs = ["a.cc"]\n', "source/http/a.cc": "\n",
                 "source/http/b.cc": "\n"}
        self.assertEqual(["source/http/b.cc"], [f.path for f in self.findings(dead.check, files)])

    def test_glob_and_subfolder_name_files(self):
        files = {"test/x/BUILD.bazel": 'srcs = glob(["*.cc"]) + ["sub/b.h"]\n', "test/x/a.cc": "\n",
                 "test/x/sub/b.h": "\n"}
        self.assertEqual([], self.findings(dead.check, files))

    def test_name_that_a_loop_completes_counts(self):
        loop = '[cc_test(name = n, srcs = [n + ".cc"]) for n in ["a_test"]]\n'
        files = {"test/x/BUILD.bazel": loop,
                 "test/x/a_test.cc": "// x\n"}
        self.assertEqual([], self.findings(dead.check, files))

    def test_name_in_a_comment_does_not_count(self):
        files = {"source/http/BUILD.bazel": '# "a.cc"\n', "source/http/a.cc": "\n"}
        self.assertEqual(1, len(self.findings(dead.check, files)))


class HeadersTest(RuleTest):
    def test_header_that_needs_another_first_is_caught(self):
        self.bad(headers.check, "self-contained", "#pragma once\nstd::string f();\n",
                 "source/http/a.h")

    def test_header_that_includes_what_it_uses_passes(self):
        text = "#pragma once\n#include <string>\nstd::string f();\n"
        self.good(headers.check, text, "source/http/a.h")

    def test_header_that_a_source_file_includes_first_is_left_to_the_build(self):
        header = "#pragma once\nstd::string f();\n"
        first = '// A file.\n#include "source/http/a.h"\n\n#include <string>\n'
        self.assertEqual([], self.findings(headers.check, {"source/http/a.h": header,
                                                           "source/http/a.cc": first}))
        second = '#include <string>\n\n#include "source/http/a.h"\n'
        self.assertEqual(["self-contained"], self.rules(
            headers.check, {"source/http/a.h": header, "source/http/a.cc": second}))

    def test_verdict_is_cached_until_an_included_file_changes(self):
        files = {"source/http/a.h": '#pragma once\n#include "source/http/b.h"\nB f();\n',
                 "source/http/b.h": "#pragma once\nstruct B {};\n"}
        self.assertEqual([], self.findings(headers.check, files))
        files["source/http/b.h"] = "#pragma once\n"
        self.assertEqual(["source/http/a.h"],
                         [f.path for f in self.findings(headers.check, files)])


class FormatTest(RuleTest):
    def test_badly_laid_out_code_is_caught(self):
        style = {".clang-format": "BasedOnStyle: Google\n"}
        bad = dict(style, **{"source/http/a.cc": "int  f( ){return 1;}\n"})
        self.assertEqual(["format"], self.rules(formatting.check, bad))
        good = dict(style, **{"source/http/a.cc": "int f() { return 1; }\n"})
        self.assertEqual([], self.rules(formatting.check, good))

    def test_lists_of_build_files_are_sorted(self):
        text = 'x(\n    deps = [\n        "@a//:b",\n        "//c",\n        ":d",\n    ],\n)\n'
        wanted = 'x(\n    deps = [\n        ":d",\n        "//c",\n        "@a//:b",\n    ],\n)\n'
        self.assertEqual(wanted, formatting.format_build(text))
        self.assertEqual(wanted, formatting.format_build(wanted))

    def test_lists_with_more_than_labels_stay(self):
        text = 'x(\n    deps = [\n        "b",  # why\n        "a",\n    ],\n)\n'
        self.assertEqual(text, formatting.format_build(text))


if __name__ == "__main__":
    sys.exit(junit.run_unittests("__main__", "lint_rules"))
