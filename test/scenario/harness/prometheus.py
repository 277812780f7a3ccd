"""Judges text in Prometheus's exposition format 0.0.4 as strictly as its scrapers do."""

import re

from harness.expect import Unmet

_NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
_LABEL = r'[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*"'
_SAMPLE = re.compile(rf"({_NAME})(?:\{{((?:{_LABEL})(?:,{_LABEL})*)?,?\}})? "
                     r"([-+]?(?:[0-9.]+(?:[eE][-+]?[0-9]+)?|Inf)|NaN)(?: -?[0-9]+)?\Z")
_TYPE = re.compile(rf"# TYPE ({_NAME}) (counter|gauge|histogram|summary|untyped)\Z")
_HELP = re.compile(rf"# HELP ({_NAME}) .*\Z")
_SUFFIXES = {"histogram": ("_bucket", "_sum", "_count"), "summary": ("", "_sum", "_count")}


class Exposition:
    """Families and series of one scrape."""

    def __init__(self, text):
        self._types = {}
        self._closed = set()
        self._current = None
        self.series = {}
        if not text.endswith("\n"):
            raise Unmet("the exposition does not end with a newline")
        for line in text[:-1].split("\n"):
            self._line(line)
        for name, kind in self._types.items():
            if kind == "histogram":
                self._check_histogram(name)

    def _line(self, line):
        if _HELP.match(line) or not line:
            return
        match = _TYPE.match(line)
        if match:
            name, kind = match.groups()
            if name in self._types:
                raise Unmet(f"a second TYPE line for {name}")
            self._types[name] = kind
            self._enter(name)
            return
        match = _SAMPLE.match(line)
        if not match:
            raise Unmet(f"not a sample: {line!r}")
        self._sample(match.group(1), match.group(2) or "", match.group(3))

    def _enter(self, family):
        if family == self._current:
            return
        if family in self._closed:
            raise Unmet(f"the lines of {family} are not together")
        if self._current is not None:
            self._closed.add(self._current)
        self._current = family

    def _sample(self, name, labels, value):
        family = next((known for known in self._families(name)), None)
        if family is None:
            raise Unmet(f"no TYPE line before {name}")
        self._enter(family)
        key = (name, tuple(sorted(re.findall(_LABEL, labels))))
        if key in self.series:
            raise Unmet(f"the series {name}{{{labels}}} comes twice")
        self.series[key] = float(value)
        if self._types[family] == "counter" and float(value) < 0:
            raise Unmet(f"the counter {name} is negative")

    def _families(self, name):
        if self._types.get(name) in ("counter", "gauge", "untyped", "summary"):
            yield name
        for family, kind in self._types.items():
            if kind in _SUFFIXES and name in {family + suffix for suffix in _SUFFIXES[kind]}:
                yield family

    def _check_histogram(self, name):
        groups = {}
        for (series, labels), value in self.series.items():
            if series == name + "_bucket":
                rest = tuple(label for label in labels if not label.startswith("le="))
                bound = [label[4:-1] for label in labels if label.startswith("le=")]
                if len(bound) != 1:
                    raise Unmet(f"a bucket of {name} has no le")
                groups.setdefault(rest, []).append((float(bound[0].replace("+Inf", "inf")), value))
        if not groups:
            raise Unmet(f"the histogram {name} has no buckets")
        for labels, buckets in groups.items():
            buckets.sort()
            counts = [count for _, count in buckets]
            if buckets[-1][0] != float("inf"):
                raise Unmet(f"the histogram {name} has no bucket +Inf")
            if counts != sorted(counts):
                raise Unmet(f"the buckets of {name} are not cumulative")
            if self.series.get((name + "_count", labels)) != counts[-1]:
                raise Unmet(f"{name}_count is not the bucket +Inf")
            if (name + "_sum", labels) not in self.series:
                raise Unmet(f"{name}_sum is missing")
