"""Rule `self-contained`: every header compiles alone. What compiled once is cached.

A header that some source file includes before anything else compiles alone whenever that file
compiles, so the build has already judged it; the others are compiled here.
"""

import concurrent.futures
import hashlib
import os
import re
import subprocess
import tempfile

from tools.linter.source import Finding

RULE = "self-contained"
COMPILER = "clang++-19"
FLAGS = ["-std=c++20", "-fsyntax-only", "-x", "c++", "-Wall", "-Wextra", "-Werror",
         "-Wno-pragma-once-outside-header", "-Wno-unused-parameter",
         "-Wno-missing-field-initializers", "-Wno-unused-function", "-msse4.2", "-maes",
         "-DSPDLOG_COMPILED_LIB", "-DSPDLOG_FMT_EXTERNAL", "-DXXH_INLINE_ALL"]
PARALLEL = 2
FOLDERS = ("source/", "test/")
CACHE_FOLDER = ".lint-cache"
_INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[ \t]*([<\"])([^>\"\n]+)", re.MULTILINE)


def _closure(tree, path, seen):
    """Every file of the tree that a header includes, itself first."""
    if path in seen or path not in tree.files:
        return
    seen.append(path)
    for _, include in tree.files[path].includes():
        _closure(tree, include, seen)


def _key(tree, path):
    seen = []
    _closure(tree, path, seen)
    digest = hashlib.sha256(" ".join([COMPILER] + FLAGS).encode())
    generated = any(include.endswith(".pb.h") for p in seen for _, include in
                    tree.files[p].includes())
    protos = [p for p in sorted(tree.files) if p.endswith(".proto")] if generated else []
    for name in sorted(seen) + protos:
        digest.update(b"\0" + name.encode() + b"\0" + tree.files[name].text.encode())
    return digest.hexdigest()


def _generate_protos(tree, folder):
    protos = [p for p in sorted(tree.files) if p.endswith(".proto") and p.startswith("api/")]
    if protos:
        command = ["protoc", "-I.", f"--cpp_out={folder}"] + protos
        subprocess.run(command, cwd=tree.root, check=False, capture_output=True)


def _compile(root, path, generated):
    command = [COMPILER] + FLAGS + ["-I.", f"-isystem{generated}", path]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return ""
    lines = [line for line in done.stderr.split("\n") if "error:" in line]
    return (lines or done.stderr.split("\n"))[0]


class Cache:
    """Keys of headers that compiled; a folder that cannot be written only costs time."""

    def __init__(self, root):
        self._folder = os.path.join(root, CACHE_FOLDER)

    def has(self, key):
        return os.path.exists(os.path.join(self._folder, key))

    def add(self, key):
        try:
            os.makedirs(self._folder, exist_ok=True)
            with open(os.path.join(self._folder, key), "w", encoding="utf-8"):
                pass
        except OSError:
            pass


def _included_first(tree):
    """Headers that the build compiles alone."""
    found = set()
    for path, file in tree.files.items():
        if path.endswith(".cc") and path.startswith(FOLDERS):
            first = _INCLUDE.search(file.text)
            if first and first.group(1) == '"':
                found.add(first.group(2))
    return found


def _affected(tree):
    """Headers whose own text or whose includes are among the wanted files."""
    judged = _included_first(tree)
    for path in sorted(tree.files):
        if not path.endswith(".h") or not path.startswith(FOLDERS) or path in judged:
            continue
        seen = []
        _closure(tree, path, seen)
        if any(name in tree.wanted for name in seen):
            yield path


def check(tree):
    cache = Cache(tree.root)
    keys = {path: _key(tree, path) for path in _affected(tree)}
    pending = [path for path, key in keys.items() if not cache.has(key)]
    findings = []
    if not pending:
        return findings
    with tempfile.TemporaryDirectory() as generated:
        _generate_protos(tree, generated)
        with concurrent.futures.ThreadPoolExecutor(PARALLEL) as pool:
            verdicts = pool.map(lambda path: _compile(tree.root, path, generated), pending)
            for path, verdict in zip(pending, verdicts):
                if verdict:
                    findings.append(Finding(path, 1, RULE, f"does not compile alone: {verdict}"))
                else:
                    cache.add(keys[path])
    return findings
