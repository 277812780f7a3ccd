#!/bin/bash
# Goal: a replay that cannot find the planted fault must fail the build. Method: run the canary's
# replay and demand that it dies and that it saved the input that killed it; then replay that input.
set -u
replay=$1
corpus=$2
export TEST_UNDECLARED_OUTPUTS_DIR=$TEST_TMPDIR

if "$replay" "$corpus" >"$TEST_TMPDIR/log" 2>&1; then
  echo "FAIL: the planted fault was not found"
  cat "$TEST_TMPDIR/log"
  exit 1
fi
saved=$TEST_TMPDIR/crash_input
if ! [ -s "$saved" ]; then
  echo "FAIL: the replay died but saved no input"
  cat "$TEST_TMPDIR/log"
  exit 1
fi
cp "$saved" "$TEST_TMPDIR/again"
if "$replay" --mutations=0 "$TEST_TMPDIR/again" >/dev/null 2>&1; then
  echo "FAIL: the saved input does not reproduce the fault"
  exit 1
fi
echo "the planted fault was found and reproduced"
