"""Rules on words and forms: open ends, what a file opens with, scripts that parse."""

import ast
import re
import subprocess

import yaml

from tools.linter.source import Finding

RULES = ["todo", "opening", "pragma-once", "script", "whitespace"]
# Put together here, so that this file does not offend against itself.
_OPEN_END = re.compile(r"\b(?:TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b")
_WITH_ISSUE = re.compile(r"TO" r"DO\(#\d+\): \S")
_SHELL = re.compile(r"^#!.*\b(?:ba)?sh\b")


def _check_todo(file, findings):
    for number, line in enumerate(file.lines, start=1):
        for match in _OPEN_END.finditer(line):
            if not _WITH_ISSUE.match(line[match.start():]):
                findings.append(Finding(file.path, number, "todo",
                                        f"`{match.group(0)}` needs an issue: TO" "DO(#12): reason"))


def _check_whitespace(file, findings):
    for number, line in enumerate(file.lines, start=1):
        if line != line.rstrip():
            findings.append(Finding(file.path, number, "whitespace", "space at the end of a line"))
        if "\t" in line and file.path.endswith((".cc", ".h", ".py", ".bzl", ".bazel", ".proto")):
            findings.append(Finding(file.path, number, "whitespace", "a tab; indent with spaces"))
    if file.text and not file.text.endswith("\n"):
        findings.append(Finding(file.path, len(file.lines), "whitespace", "no newline at the end"))


def _check_cpp(file, findings):
    if file.path.endswith(".h") and not re.search(r"^#pragma once$", file.text, re.MULTILINE):
        findings.append(Finding(file.path, 1, "pragma-once", "a header has #pragma once"))
    if file.path.endswith("_test.cc") and not file.text.startswith("//"):
        findings.append(Finding(file.path, 1, "opening",
                                "a test opens with a comment that states its goal and method"))


def _check_script(file, findings):
    first = file.lines[0]
    if file.path.endswith(".py"):
        try:
            ast.parse(file.text)
        except SyntaxError as error:
            findings.append(Finding(file.path, error.lineno or 1, "script", f"{error.msg}"))
    elif _SHELL.match(first):
        done = subprocess.run(["bash", "-n"], input=file.text, text=True, capture_output=True,
                              check=False)
        if done.returncode != 0:
            findings.append(Finding(file.path, 1, "script", done.stderr.strip().split("\n")[0]))
    elif file.path.endswith((".yaml", ".yml")) and file.path.startswith(("configs/", "test/")):
        try:
            list(yaml.compose_all(file.text, yaml.SafeLoader))
        except yaml.YAMLError as error:
            line = getattr(getattr(error, "problem_mark", None), "line", 0) + 1
            findings.append(Finding(file.path, line, "script", f"not YAML: {error}".split("\n")[0]))


def check(tree):
    findings = []
    for file in tree.chosen():
        _check_todo(file, findings)
        _check_whitespace(file, findings)
        _check_script(file, findings)
        if file.is_cpp:
            _check_cpp(file, findings)
    return findings
