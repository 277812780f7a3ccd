"""The command line of the linter: which rules, over which files, and how findings are told."""

import argparse
import os
import subprocess
import sys
import time

from tools.lib import junit
from tools.linter import allow, banned, dead, formatting, headers, layering, marks, sizes
from tools.linter.source import Finding, Tree

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# Name of a group -> (function, rules it reports).
GROUPS = {
    "layering": (layering.check, [layering.RULE]),
    "banned": (banned.check, banned.rules()),
    "sizes": (sizes.check, sizes.RULES),
    "marks": (marks.check, marks.RULES),
    "dead": (dead.check, [dead.RULE]),
    "headers": (headers.check, [headers.RULE]),
    "format": (formatting.check, [formatting.RULE]),
}


def known_rules():
    return [rule for _, rules in GROUPS.values() for rule in rules]


def changed_files(root):
    """Paths that differ from the last commit, new files included."""
    def git(*arguments):
        done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True,
                              check=False)
        return [p for p in done.stdout.split("\0") if p] if done.returncode == 0 else []
    return git("diff", "--name-only", "-z", "--diff-filter=d", "HEAD") + \
        git("ls-files", "--others", "--exclude-standard", "-z")


def check(tree, groups, allowed):
    """(findings that the allow-list does not permit, seconds) for each group."""
    results = {}
    for name in groups:
        started = time.monotonic()
        findings = [f for f in GROUPS[name][0](tree) if not allowed.permits(f.rule, f.path)]
        findings.sort(key=lambda f: (f.path, f.line, f.rule))
        results[name] = (findings, time.monotonic() - started)
    return results


def allow_list_findings(allowed):
    path = os.path.relpath(allow.default_path(), ROOT)
    found = [Finding(path, number, "allow-list", text) for number, text in allowed.errors]
    return found + [Finding(path, number, "allow-list", f"there is no rule {rule}")
                    for number, rule in allowed.unknown_rules(known_rules())]


def parse(arguments):
    parser = argparse.ArgumentParser(
        prog="tools/lint", description="Checks the tree against the rules of tools/linter.",
        epilog="rules: " + ", ".join(known_rules()) + ". Exceptions are in tools/linter/allow.txt.")
    parser.add_argument("files", nargs="*", help="only findings in these files")
    parser.add_argument("--diff", action="store_true", help="only files that the last commit lacks")
    parser.add_argument("--group", action="append", choices=list(GROUPS),
                        help="only this group of rules (may be repeated)")
    parser.add_argument("--xml", default=os.environ.get("XML_OUTPUT_FILE", ""),
                        help="also write the verdicts as JUnit XML")
    return parser.parse_args(arguments)


def main(arguments):
    options = parse(arguments)
    wanted = None
    if options.files:
        wanted = [os.path.relpath(os.path.abspath(path), ROOT) for path in options.files]
        missing = [path for path in wanted if not os.path.isfile(os.path.join(ROOT, path))]
        if missing:
            print(f"tools/lint: no such file: {', '.join(missing)}", file=sys.stderr)
            return 2
    elif options.diff:
        wanted = changed_files(ROOT)
    allowed = allow.load()
    tree = Tree(ROOT, wanted)
    results = check(tree, options.group or list(GROUPS), allowed)
    results["allow-list"] = (allow_list_findings(allowed), 0.0)
    cases = []
    for name, (findings, seconds) in results.items():
        for finding in findings:
            print(finding)
        text = "\n".join(str(finding) for finding in findings)
        cases.append(junit.Case(name, seconds, text or None))
    count = sum(len(findings) for findings, _ in results.values())
    junit.write(options.xml, "lint", cases)
    print(f"lint: {len(tree.wanted)} files, {count} findings")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
