"""Rules on size: columns, lines of a file, lines of a function."""

import ast
import re

from tools.linter.source import Finding

MAX_COLUMNS = 100
MAX_HEADER_LINES = 250
MAX_SOURCE_LINES = 500
MAX_FUNCTION_LINES = 70

RULES = ["columns", "file-length", "function-length"]
_COLUMN_FILES = (".cc", ".h", ".py", ".bzl", ".bazel", ".proto", ".sh", "/tools/test", "tools/lint",
                 "tools/format", "tools/quickstart", "tools/install_deps", "tools/conformance")
_CONTAINER = re.compile(r"\b(?:namespace|class|struct|union|enum)\b|\bextern\s+\"")
_CONTROL = re.compile(r"^\s*(?:if|for|while|switch|do|else|try|catch)\b")


def _check_columns(file, findings):
    for number, line in enumerate(file.lines, start=1):
        if len(line) > MAX_COLUMNS:
            findings.append(Finding(file.path, number, "columns",
                                    f"{len(line)} columns; the limit is {MAX_COLUMNS}"))


def _check_length(file, findings):
    limit = MAX_HEADER_LINES if file.path.endswith(".h") else MAX_SOURCE_LINES
    count = len(file.text.splitlines())
    if count > limit:
        findings.append(Finding(file.path, limit + 1, "file-length",
                                f"{count} lines; the limit is {limit}: split it by decision"))


def _without_preprocessor(code):
    """Blanks directives, so that the braces of macros do not count."""
    lines = code.split("\n")
    continued = False
    for number, line in enumerate(lines):
        directive = continued or line.lstrip().startswith("#")
        continued = directive and line.endswith("\\")
        if directive:
            lines[number] = ""
    return "\n".join(lines)


def _is_function(header):
    """Whether the text before a brace opens a function's body."""
    header = header.strip()
    if "(" not in header or _CONTROL.match(header):
        return False
    if header.endswith(("=", ",", "(", "return")):
        return False
    before_parenthesis = header[:header.index("(")]
    if _CONTAINER.search(before_parenthesis) and not re.search(r"\w\s*$", before_parenthesis):
        return False
    if re.match(r"(?:\w+\s+)*(?:namespace|class|struct|union|enum)\b[^()]*$", before_parenthesis) \
            and re.search(r"\balignas\s*$", before_parenthesis):
        return False
    return "=" not in re.sub(r"operator\s*\S{1,3}|[=!<>]=|=\s*(?:default|delete)", "",
                             before_parenthesis)


def cpp_functions(code):
    """(name, first line, last line) of each function with a body; lambdas belong to theirs."""
    code = _without_preprocessor(code)
    stack = []
    start = 0
    parentheses = 0
    for at, char in enumerate(code):
        if char == "(":
            parentheses += 1
        elif char == ")":
            parentheses = max(0, parentheses - 1)
        elif char == "{":
            header = code[start:at]
            inside = any(kind == "function" for kind, _, _ in stack)
            kind = "other"
            if not inside and parentheses == 0 and _is_function(header):
                kind = "function"
            first = start + len(header) - len(header.lstrip())
            stack.append((kind, header, (first, parentheses)))
            start = at + 1
            parentheses = 0
        elif char == "}" and stack:
            kind, header, (first, parentheses) = stack.pop()
            if kind == "function":
                name = re.findall(r"[\w:~]+(?=\s*\()", header)
                yield (name[0] if name else "?", code.count("\n", 0, first) + 1,
                       code.count("\n", 0, at) + 1)
            start = at + 1
        elif char == ";" and parentheses == 0:
            start = at + 1


def _python_functions(text):
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.name, node.lineno, node.end_lineno


def _check_functions(file, findings):
    functions = cpp_functions(file.code) if file.is_cpp else _python_functions(file.text)
    for name, first, last in functions:
        count = last - first + 1
        if count > MAX_FUNCTION_LINES:
            findings.append(Finding(file.path, first, "function-length",
                                    f"{name} has {count} lines; the limit is "
                                    f"{MAX_FUNCTION_LINES}: split it by decision"))


def check(tree):
    findings = []
    for file in tree.chosen(*_COLUMN_FILES):
        _check_columns(file, findings)
        if file.path.endswith((".cc", ".h", ".py")):
            _check_length(file, findings)
            _check_functions(file, findings)
    return findings
