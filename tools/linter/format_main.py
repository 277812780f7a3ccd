"""The command line of tools/format."""

import argparse
import os
import subprocess
import sys

from tools.linter import formatting
from tools.linter.main import ROOT, changed_files
from tools.linter.source import paths


def choose(options):
    if options.files:
        return [os.path.relpath(os.path.abspath(path), ROOT) for path in options.files]
    return paths(ROOT) if options.all else changed_files(ROOT)


def format_cpp(files):
    """Formats in place; returns the paths that changed."""
    changed = [path for path, _ in formatting.unformatted_cpp(ROOT, files)]
    if changed:
        command = [formatting.CLANG_FORMAT, "--style=file", "-i", *changed]
        subprocess.run(command, cwd=ROOT, check=True)
    return changed


def format_builds(files, write):
    changed = []
    for path in files:
        full = os.path.join(ROOT, path)
        with open(full, encoding="utf-8") as file:
            text = file.read()
        formatted = formatting.format_build(text)
        if formatted != text:
            changed.append(path)
            if write:
                with open(full, "w", encoding="utf-8") as file:
                    file.write(formatted)
    return changed


def main(arguments):
    parser = argparse.ArgumentParser(
        prog="tools/format", description="Lays out C++ with clang-format and sorts BUILD files. "
        "Without arguments it takes the files that the last commit lacks.")
    parser.add_argument("files", nargs="*", help="only these files")
    parser.add_argument("--all", action="store_true", help="every file of the tree")
    parser.add_argument("--check", action="store_true",
                        help="change nothing; exit 1 if anything would")
    options = parser.parse_args(arguments)
    chosen = choose(options)
    missing = [path for path in chosen if not os.path.isfile(os.path.join(ROOT, path))]
    if missing:
        print(f"tools/format: no such file: {', '.join(missing)}", file=sys.stderr)
        return 2
    cpp = [path for path in chosen if formatting.is_cpp(path)]
    if options.check:
        changed = [path for path, _ in formatting.unformatted_cpp(ROOT, cpp)]
    else:
        changed = format_cpp(cpp)
    changed += format_builds([p for p in chosen if formatting.is_build(p)], not options.check)
    for path in changed:
        print(("would change " if options.check else "formatted ") + path)
    verb = "to change" if options.check else "changed"
    print(f"format: {len(chosen)} files, {len(changed)} {verb}")
    return 1 if options.check and changed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
