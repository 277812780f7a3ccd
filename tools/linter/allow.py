"""The allow-list: which files may break which rule, and why."""

import fnmatch
import os


class AllowList:
    """Lines of `rule path-pattern reason`; a pattern matches the whole path, `*` any of it."""

    def __init__(self, text=""):
        self.entries = []
        self.errors = []
        for number, line in enumerate(text.split("\n"), start=1):
            line = line.strip()
            if not line or line.startswith("#"):
                continue
            words = line.split(None, 2)
            if len(words) < 3:
                self.errors.append((number, "an entry is `rule path-pattern reason`"))
                continue
            self.entries.append((number, words[0], words[1]))

    def permits(self, rule, path):
        return any(entry_rule == rule and fnmatch.fnmatchcase(path, pattern)
                   for _, entry_rule, pattern in self.entries)

    def unknown_rules(self, known):
        return [(number, rule) for number, rule, _ in self.entries if rule not in known]


def default_path():
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "allow.txt")


def load():
    with open(default_path(), encoding="utf-8") as file:
        return AllowList(file.read())
