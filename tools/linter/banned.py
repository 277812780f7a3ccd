"""Rules on identifiers that this project does without, each with what to use instead."""

import re
from dataclasses import dataclass

from tools.linter.source import Finding

SOURCE = ("source/",)
EVERYWHERE = ("source/", "test/")


@dataclass
class Ban:
    """A pattern over code without comments; `instead` is the advice."""

    rule: str
    pattern: str
    instead: str
    under: tuple = SOURCE


BANS = [
    Ban("clock", r"\b\w*_clock::now\b|\b(?:clock_gettime|gettimeofday)\s*\("
        r"|\btime\s*\(\s*(?:nullptr|NULL|0)\s*\)",
        "take `now` as a parameter, or read it from the shard's turn", EVERYWHERE),
    Ban("random", r"\b(?:s?rand|drand48|getrandom)\s*\(|\bstd::(?:random_device|mt19937\w*"
        r"|default_random_engine|shuffle)\b", "use the generator of source/base/random.h",
        EVERYWHERE),
    Ban("mutex", r"\bstd::(?:\w*mutex|condition_variable\w*|lock_guard|unique_lock|scoped_lock"
        r"|shared_lock|call_once|once_flag|latch|barrier|counting_semaphore|promise|future"
        r"|async)\b|\bpthread_\w+", "cross shards by a call of source/rt/peers.h"),
    Ban("atomic", r"\bstd::(?:atomic\w*|memory_order\w*)\b|\b__(?:atomic|sync)_\w+",
        "a byte of state has one writer; cross shards by a call of source/rt/peers.h"),
    Ban("volatile", r"\bvolatile\b", "volatile orders nothing; see the allow-list"),
    Ban("thread-local", r"\bthread_local\b|\b__thread\b", "reach the shard by a parameter"),
    Ban("thread", r"\bstd::(?:j?thread|this_thread)\b", "only the server starts threads"),
    Ban("exceptions", r"\bthrow\b(?!\s*\()|\btry\s*\{|\bcatch\s*\(", "return base::Result<T>"),
    Ban("function", r"\bstd::(?:move_only_)?function\b",
        "use a template parameter, a function pointer or a named interface"),
    Ban("shared-ptr", r"\bstd::(?:shared_ptr|weak_ptr|make_shared)\b",
        "own by value or unique_ptr; only the configuration's snapshot is shared"),
    Ban("assert", r"(?<![\w:])assert\s*\(", "use CHECK or DCHECK of source/base/check.h",
        EVERYWHERE),
    Ban("print", r"\bstd::(?:cerr|cout|clog)\b|(?<![\w:.>])(?:std::)?(?:f|v|d|vf)?printf\s*\("
        r"|(?<![\w:.>])(?:std::)?(?:puts|fputs|perror)\s*\(|<iostream>",
        "log through telemetry; a leftover of debugging goes", EVERYWHERE),
    Ban("sleep", r"\b(?:sleep_for|sleep_until|usleep|nanosleep)\s*\(|^[ \t]*(?:::)?sleep\s*\(",
        "wait for the event itself, or use virtual time", EVERYWHERE),
    Ban("endl", r"\bstd::endl\b", 'use "\\n"', EVERYWHERE),
    Ban("using-namespace", r"\busing\s+namespace\b", "name what you use", EVERYWHERE),
    Ban("goto", r"\bgoto\s+\w+\s*;", "return early, or split the function", EVERYWHERE),
    Ban("null", r"\bNULL\b", "use nullptr", EVERYWHERE),
    Ban("disabled-code", r"^[ \t]*#[ \t]*if[ \t]+0\b", "delete it; the history keeps it",
        EVERYWHERE),
    Ban("static-state", r"^[ \t]+(?:inline[ \t]+)?static[ \t]+(?!const\b|constexpr\b|constinit[ \t]"
        r"+const\b|inline[ \t]+const)[\w:<>,*& \t]+?[ \t*&]\w+[ \t]*(?:=|;|\{[^}\n]*\}[ \t]*;)",
        "no mutable statics: state belongs to a shard"),
]

_UNORDERED = re.compile(r"\bstd::unordered_(?:multi)?(?:map|set)\s*<")
_CO_AWAIT = re.compile(r"\bco_await\b")


def _check_bans(file, findings):
    for ban in BANS:
        if not file.path.startswith(ban.under):
            continue
        for match in re.finditer(ban.pattern, file.code, re.MULTILINE):
            what = " ".join(match.group(0).split())
            findings.append(Finding(file.path, file.line_of(match.start()), ban.rule,
                                    f"`{what}` is banned: {ban.instead}"))


def _unordered_names(code):
    """Names of variables whose type is an unordered container."""
    for match in _UNORDERED.finditer(code):
        depth = 1
        at = match.end()
        while at < len(code) and depth:
            depth += {"<": 1, ">": -1}.get(code[at], 0)
            at += 1
        name = re.match(r"\s*[&*]?\s*(\w+)\s*[;={(,)]", code[at:at + 200])
        if name:
            yield name.group(1)


def _header_of(tree, file):
    return tree.files.get(file.path[:-len(".cc")] + ".h") if file.path.endswith(".cc") else None


def _check_unordered(tree, file, findings):
    header = _header_of(tree, file)
    names = set(_unordered_names(file.code))
    if header is not None:
        names |= set(_unordered_names(header.code))
    for name in names:
        loop = re.compile(r"\bfor\s*\([^;()]*:\s*(?:\w+(?:\.|->))*" + re.escape(name) + r"\s*\)")
        for match in loop.finditer(file.code):
            findings.append(Finding(
                file.path, file.line_of(match.start()), "unordered-iteration",
                f"the order of `{name}` is not the same in every run: use an ordered container"))


# Braces that build no aggregate: nothing inside, or one name that is converted.
_PLAIN_BRACES = re.compile(r"\{\s*[\w.]*\s*\}")
# The awaiter itself may be an aggregate: `co_await Sent{...}`.
_AWAITER = re.compile(r"\s*[\w:<>]+\s*(?=\{)")


def _brace_in_await(code, at):
    """Whether the co_await expression that starts at `at` hands over an aggregate in braces."""
    if _AWAITER.match(code, at):
        return False
    depth = 0
    for offset in range(at, min(len(code), at + 2000)):
        char = code[offset]
        if char in "([":
            depth += 1
        elif char in ")]":
            depth -= 1
            if depth < 0:
                return False
        elif char == ";" or (char in ",?:" and depth == 0):
            return False
        elif char == "{" and not _PLAIN_BRACES.match(code, offset):
            return True
    return False


def _check_await(file, findings):
    for match in _CO_AWAIT.finditer(file.code):
        if _brace_in_await(file.code, match.end()):
            findings.append(Finding(
                file.path, file.line_of(match.start()), "await-braces",
                "no braces inside a co_await expression: name the argument, then std::move it"))


def rules():
    return [ban.rule for ban in BANS] + ["unordered-iteration", "await-braces"]


def check(tree):
    findings = []
    for file in tree.chosen(".cc", ".h"):
        if not file.path.startswith(EVERYWHERE):
            continue
        _check_bans(file, findings)
        _check_await(file, findings)
        if file.path.startswith(SOURCE):
            _check_unordered(tree, file, findings)
    return findings
