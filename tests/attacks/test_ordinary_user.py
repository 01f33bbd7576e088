"""A choice of attacks of every kind while an ordinary user grades, not root."""

import json
import os
import subprocess
import sys
import tempfile

import pytest
from test_isolation import AS_NOBODY

from autograder.paths import ROOT

CHOSEN = {
    "test_patching": ["patch-torch", "tensor-subclass-equal", "patch-watch-through-a-ready-made-piece"],
    "test_spying": ["memory-scan", "environment", "open-fds", "course-files", "proc-others", "other-submissions"],
    "test_files": ["write-gradebook", "write-course", "poison-packages", "hard-link", "remount-writable"],
    "test_messages": ["forged-true", "flood", "overlapping-tensors"],
    "test_processes": ["os-exit", "kill-parent", "kill-everyone", "fork-bomb", "double-fork"],
    "test_resources": ["disk", "inodes", "file-descriptors", "limits-raised"],
    "test_kernel": ["loopback", "abstract-sockets", "ptrace", "new-namespaces", "mounts", "setuid", "io-uring", "bpf"],
    "test_across": ["cache-in-scratch", "cache-by-file-locks"],
}

ATTACK = """
import importlib, json, os, sys, tempfile
from dataclasses import replace
from pathlib import Path
sys.path[:0] = [sys.argv[1], sys.argv[2]]
import harness
from autograder.grader import Grader
from autograder.sandbox.client import WarmClient

os.environ["COURSE_SECRET"] = harness.CANARY
told = {"uid": os.getuid(), "held": []}
with WarmClient("strict") as warm, tempfile.TemporaryDirectory() as folder:
    scene = harness.set_up(Grader("secret", warm=warm.wait_until_ready()), Path(folder))
    for module, names in json.loads(sys.argv[3]).items():
        for name in names:
            attack = importlib.import_module(module).CASES[name]
            scene.attacked_by(replace(attack, code=attack.code.replace("FOLDER", folder)))
            told["held"].append(name)
print(json.dumps(told))
"""


@pytest.mark.slow
def test_attacks_fail_where_an_ordinary_user_grades() -> None:
    with tempfile.TemporaryDirectory() as home:
        os.chmod(home, 0o777)
        go_on = f"os.execv(sys.executable, [sys.executable, '-c', {ATTACK!r}, sys.argv[1], sys.argv[3], sys.argv[4]])"
        code = f"{AS_NOBODY}\nos.environ['HOME'] = {home!r}\n{go_on}"
        places = [str(ROOT / "tests"), str(ROOT), str(ROOT / "tests" / "attacks"), json.dumps(CHOSEN)]
        done = subprocess.run(
            [sys.executable, "-c", code, *places], capture_output=True, text=True, timeout=280, cwd="/"
        )
    assert done.returncode == 0, done.stderr[-3000:]
    told = json.loads(done.stdout)
    assert told["uid"] != 0
    assert told["held"] == [name for names in CHOSEN.values() for name in names]
