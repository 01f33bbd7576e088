#!/usr/bin/env bash
# Gradescope runs this once, while it builds the image: a Python of 3.11 or newer, and what the grader needs.
set -euo pipefail
BASE="${AUTOGRADER_ROOT:-/autograder}"
export DEBIAN_FRONTEND=noninteractive

usable() { "$1" -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }
find_python() {
  for name in python3 python3.13 python3.12 python3.11; do
    if usable "$name"; then echo "$name"; return; fi
  done
  return 1
}

PYTHON="$(find_python || true)"
if [ -z "$PYTHON" ]; then
  apt-get update -q
  apt-get install -y -q python3 python3-venv
  PYTHON="$(find_python || true)"
fi
if [ -z "$PYTHON" ]; then
  apt-get install -y -q python3.11 python3.11-venv
  PYTHON="$(find_python)"
fi
"$PYTHON" -m venv "$BASE/venv"
"$BASE/venv/bin/python" -m pip install --disable-pip-version-check --no-cache-dir \
  -c "$BASE/source/requirements.lock" @PIP_ARGS@ -r "$BASE/source/requirements.txt"
