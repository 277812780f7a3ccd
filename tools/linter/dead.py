"""Rule `dead-file`: a C++ or proto file that no BUILD.bazel names."""

import fnmatch
import posixpath
import re

from tools.linter.source import Finding

RULE = "dead-file"
_STRING = re.compile(r'"([^"\n]+)"')


def _build_of(tree, path):
    """The BUILD file of the package that a path belongs to, and the path relative to it."""
    folder = posixpath.dirname(path)
    while True:
        build = posixpath.join(folder, "BUILD.bazel") if folder else "BUILD.bazel"
        if build in tree.files:
            return tree.files[build], posixpath.relpath(path, folder or ".")
        if not folder:
            return None, path
        folder = posixpath.dirname(folder)


def _named(build, relative):
    code = re.sub(r"#[^\n]*", "", build.text)
    stem = relative.rsplit(".", 1)[0]  # lists of tests are often names that a loop completes
    return any(name.lstrip(":") in (relative, stem) or
               ("*" in name and fnmatch.fnmatchcase(relative, name))
               for name in _STRING.findall(code))


def check(tree):
    findings = []
    for file in tree.chosen(".cc", ".h", ".proto"):
        if not file.path.startswith(("source/", "test/", "api/")):
            continue
        build, relative = _build_of(tree, file.path)
        if build is None or not _named(build, relative):
            where = build.path if build else "a BUILD.bazel"
            findings.append(Finding(file.path, 1, RULE,
                                    f"{where} does not name it: add or delete it"))
    return findings
