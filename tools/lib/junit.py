"""Writes JUnit XML, the one format in which every test of this project reports its cases."""

import os
import unittest
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass


@dataclass
class Case:
    """One test case; `failure` is None if it passed, and `skipped` says why it did not run."""

    name: str
    seconds: float = 0.0
    failure: str | None = None
    skipped: str | None = None


def _printable(text):
    """XML 1.0 forbids most control characters, even escaped."""
    return "".join(c if c in "\t\n\r" or ord(c) >= 0x20 else "?" for c in text)


def write(path, suite_name, cases):
    """Writes the cases to `path`; does nothing if the path is empty."""
    if not path:
        return
    failed = sum(1 for case in cases if case.failure is not None)
    skipped = sum(1 for case in cases if case.skipped is not None)
    root = ElementTree.Element("testsuites")
    suite = ElementTree.SubElement(root, "testsuite", name=suite_name, tests=str(len(cases)),
                                   failures=str(failed), skipped=str(skipped))
    for case in cases:
        element = ElementTree.SubElement(suite, "testcase", name=case.name, classname=suite_name,
                                         time=f"{case.seconds:.3f}")
        if case.failure is not None:
            lines = case.failure.splitlines() or ["failed"]
            ElementTree.SubElement(element, "failure", message=_printable(lines[0])).text = \
                _printable(case.failure)
        elif case.skipped is not None:
            ElementTree.SubElement(element, "skipped", message=_printable(case.skipped))
    ElementTree.ElementTree(root).write(path, encoding="utf-8", xml_declaration=True)


class _Recorder(unittest.TextTestResult):
    """Keeps what unittest learns about each test."""

    def __init__(self, *arguments, **keywords):
        super().__init__(*arguments, **keywords)
        self.cases = []

    def addSuccess(self, test):
        super().addSuccess(test)
        self.cases.append(Case(test.id()))

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.cases.append(Case(test.id(), failure=self.failures[-1][1]))

    def addError(self, test, err):
        super().addError(test, err)
        self.cases.append(Case(test.id(), failure=self.errors[-1][1]))

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.cases.append(Case(test.id(), skipped=reason))


def run_unittests(module_name, suite_name):
    """Runs the tests of one loaded module, reports to $XML_OUTPUT_FILE, returns an exit code."""
    suite = unittest.defaultTestLoader.loadTestsFromName(module_name)
    result = unittest.TextTestRunner(resultclass=_Recorder, verbosity=2).run(suite)
    write(os.environ.get("XML_OUTPUT_FILE", ""), suite_name, result.cases)
    return 0 if result.wasSuccessful() and result.testsRun else 1
