"""How files are laid out: clang-format for C++, sorted lists and trimmed lines for BUILD files."""

import os
import re
import subprocess

from tools.linter.source import Finding

RULE = "format"
CLANG_FORMAT = "clang-format-19"
_LIST_OPEN = re.compile(r"^(\s*)(?:srcs|hdrs|deps|data|tags|visibility) = \[$")
_ITEM = re.compile(r'^\s*"([^"]+)",$')


def _label_key(line):
    name = _ITEM.match(line).group(1)
    prefixes = (":", "//", "@")
    phase = next((i + 1 for i, prefix in enumerate(prefixes) if name.startswith(prefix)), 0)
    return phase, [part.lower() for part in re.split(r"[:/]", name)], name


def format_build(text):
    """Sorts every plain list of labels and trims lines; a list with anything else in it stays."""
    lines = [line.rstrip() for line in text.rstrip().split("\n")]
    at = 0
    while at < len(lines):
        if _LIST_OPEN.match(lines[at]):
            end = at + 1
            while end < len(lines) and _ITEM.match(lines[end]):
                end += 1
            if end < len(lines) and re.match(r"^\s*\]", lines[end]):
                lines[at + 1:end] = sorted(dict.fromkeys(lines[at + 1:end]), key=_label_key)
        at += 1
    return "\n".join(lines) + "\n" if text.strip() else ""


def is_cpp(path):
    return path.endswith((".cc", ".h"))


def is_build(path):
    return os.path.basename(path) in ("BUILD.bazel", "BUILD")


def unformatted_cpp(root, paths):
    """(path, line) of the first place in each file that clang-format would change."""
    if not paths:
        return []
    done = subprocess.run([CLANG_FORMAT, "--style=file", "--dry-run", "--Werror", *paths], cwd=root,
                          capture_output=True, text=True, check=False)
    first = {}
    for match in re.finditer(r"^(\S+?):(\d+):\d+: error: code should be clang-formatted",
                             done.stderr, re.MULTILINE):
        first.setdefault(match.group(1), int(match.group(2)))
    if done.returncode != 0 and not first:
        return [(paths[0], 1)]
    return sorted(first.items())


def check(tree):
    advice = "not formatted: run tools/format"
    cpp = [file.path for file in tree.chosen(".cc", ".h")]
    findings = [Finding(path, line, RULE, advice) for path, line in unformatted_cpp(tree.root, cpp)]
    for file in tree.chosen("BUILD.bazel", "/BUILD"):
        if format_build(file.text) != file.text:
            findings.append(Finding(file.path, 1, RULE, advice))
    return findings
