"""Finds the files of the tree and gives each one's text, and for C++ its code without comments."""

import os
import re
from dataclasses import dataclass, field

CODE_FOLDERS = ("source", "test", "api", "tools", "bazel", "configs", ".ci")
SKIPPED_FOLDERS = {"__pycache__", "node_modules", ".git", ".lint-cache", ".bazel-cache"}
CPP = (".cc", ".h")

# A comment, a raw string, a string, or a character; digit separators are not quotes.
_TOKEN = re.compile(
    r'//(?:\\\n|[^\n])*'
    r'|/\*.*?\*/'
    r'|(?<![A-Za-z0-9_])(?:u8|u|U|L)?R"(?P<mark>[^\s()\\]{0,16})\(.*?\)(?P=mark)"'
    r'|"(?:\\.|[^"\\\n])*"'
    r"|(?<![A-Za-z0-9_])(?:u8|u|U|L)?'(?:\\.|[^'\\\n])+'",
    re.DOTALL)


@dataclass
class Finding:
    """One offence: where, which rule, and what to do instead."""

    path: str
    line: int
    rule: str
    message: str

    def __str__(self):
        return f"{self.path}:{self.line}: {self.rule}: {self.message}"


def _blank(match):
    text = match.group(0)
    if text.startswith("/"):
        return "".join(c if c == "\n" else " " for c in text)
    first = text.index('"') if '"' in text else text.index("'")
    inner = "".join(c if c == "\n" else " " for c in text[first + 1:-1])
    return text[:first + 1] + inner + text[-1]


def strip_cpp(text):
    """The same text with comments and the insides of literals blanked; lines and columns stay."""
    return _TOKEN.sub(_blank, text)


@dataclass
class File:
    """One file of the tree; `path` is relative to the root, with slashes."""

    path: str
    text: str
    _code: str | None = field(default=None, repr=False)

    @property
    def code(self):
        """C++ without comments and literals."""
        if self._code is None:
            self._code = strip_cpp(self.text)
        return self._code

    @property
    def lines(self):
        return self.text.split("\n")

    @property
    def is_cpp(self):
        return self.path.endswith(CPP)

    def line_of(self, offset):
        return self.text.count("\n", 0, offset) + 1

    def includes(self):
        """(line, path) of each quoted include."""
        pattern = r'^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"'
        for match in re.finditer(pattern, self.text, re.MULTILINE):
            yield self.line_of(match.start()), match.group(1)

    def system_includes(self):
        """(line, path) of each include in angle brackets."""
        pattern = r"^[ \t]*#[ \t]*include[ \t]*<([^>\n]+)>"
        for match in re.finditer(pattern, self.text, re.MULTILINE):
            yield self.line_of(match.start()), match.group(1)


def _is_text(path):
    try:
        with open(path, "rb") as file:
            return b"\0" not in file.read(4096)
    except OSError:
        return False


def paths(root):
    """Paths of every text file of the code folders, sorted; fuzz corpora are not text of ours."""
    found = []
    for top in CODE_FOLDERS:
        for folder, folders, files in os.walk(os.path.join(root, top)):
            folders[:] = sorted(f for f in folders
                                if f not in SKIPPED_FOLDERS and not f.startswith("corpus"))
            found += [os.path.join(folder, name) for name in files]
    for name in sorted(os.listdir(root)):
        path = os.path.join(root, name)
        if os.path.isfile(path) and not os.path.islink(path):
            found.append(path)
    return sorted(os.path.relpath(path, root) for path in found if _is_text(path))


def load(root, path):
    with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
        return File(path.replace(os.sep, "/"), file.read())


class Tree:
    """All files of the project, and the ones that findings are wanted for."""

    def __init__(self, root, wanted=None):
        self.root = root
        self.files = {path: load(root, path) for path in paths(root)}
        self.wanted = set(self.files) if wanted is None else set(wanted) & set(self.files)

    def chosen(self, *endings, under=""):
        """Wanted files with one of the endings (all if none is given), in order of path."""
        for path in sorted(self.wanted):
            if path.startswith(under) and (not endings or path.endswith(endings)):
                yield self.files[path]
