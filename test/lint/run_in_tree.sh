#!/bin/bash
# Goal: run a command in the real tree, not in Bazel's copy of a part of it. Method: the first
# argument is a file of the tree as Bazel links it; where the link points tells where the tree is.
set -euo pipefail
marker=$(readlink -f "$1")
shift
cd "$(dirname "$marker")"
while ! [ -e WORKSPACE ]; do
  if [ "$PWD" = / ]; then
    echo "no WORKSPACE above $marker" >&2
    exit 1
  fi
  cd ..
done
export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$PWD
exec "$@"
