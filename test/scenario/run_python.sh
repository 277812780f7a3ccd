#!/bin/bash
# Goal: run a Python test under Bazel, which has no Python rules here. Method: Debian's interpreter.
set -euo pipefail
exec /usr/bin/python3 -B "$@"
