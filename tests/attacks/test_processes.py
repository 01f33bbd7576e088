"""Attacks with processes, signals and threads: nothing gets out of the worker, and nothing outlives it."""

import pytest
from harness import Attack, Scene

LATER = "def later(seconds, action):\n    threading.Thread(target=lambda: (time.sleep(seconds), action()), daemon=True).start()\n"

CASES = {
    "os-exit": Attack("os._exit(0)", status=("error",)),
    "os-exit-in-a-call": Attack("def softmax(x, dim=-1):\n    os._exit(0)", status=("error",)),
    "sys-exit": Attack("def softmax(x, dim=-1):\n    sys.exit(0)", status=("error",)),
    "kill-parent": Attack(
        "tell(os.getppid(), attempt(lambda: os.kill(os.getppid(), 9), lambda: os.kill(1, 0), lambda: os.kill(2, 9)))",
        "told (0, ['EPERM', 'EPERM', 'EPERM'])",
    ),
    "kill-everyone": Attack(
        "tell(attempt(lambda: os.kill(-1, 9), lambda: os.killpg(0, 9)), "
        "[call(234, 2, 2, 9), call(200, 2, 9), call(129, 2, 9, None)])",
        "'EPERM'], ['EPERM', 'EPERM', 'EPERM'])",
    ),
    "kill-itself": Attack("def softmax(x, dim=-1):\n    os.abort()", status=("error",)),
    "signal-by-file-owner": Attack(
        "import fcntl\ntell(attempt(lambda: fcntl.fcntl(0, fcntl.F_SETOWN, -1), lambda: fcntl.fcntl(0, fcntl.F_SETSIG, 9)))",
        "told (['EPERM', 'EPERM'],)",
    ),
    "fork-bomb": Attack(
        "outcomes = set()\nfor _ in range(2000):\n    outcomes |= set(attempt(os.fork))\ntell(outcomes)",
        "told ({'EPERM'},)",
    ),
    "thread-bomb": Attack(
        "started = 0\ntry:\n    while started < 5000:\n        threading.Thread(target=threading.Event().wait, daemon=True).start()\n"
        "        started += 1\nexcept RuntimeError:\n    pass\ntell(started < 128)",
        "told (True,)",
    ),
    "clone-by-number": Attack(
        "tell([call(56, 17, 0, 0, 0, 0), call(57), call(58), call(435, bytes(88), 88), call(56, 0x10000011, 0, 0, 0, 0)])",
        "told (['EPERM', 'EPERM', 'EPERM', 'ENOSYS', 'EPERM'],)",
    ),
    "double-fork": Attack(
        "def daemon():\n    if os.fork() == 0:\n        os.setsid()\n        if os.fork() == 0:\n            time.sleep(600)\n"
        "tell(attempt(daemon, lambda: os.posix_spawn('/bin/sh', ['sh'], {}), os.setsid))",
        "told (['EPERM', 'EPERM', 'EPERM'],)",
    ),
    "run-a-program": Attack(
        "import subprocess\nwith open('/scratch/x', 'wb') as file:\n    file.write(b'#!/bin/sh')\nos.chmod('/scratch/x', 0o755)\n"
        "tell(attempt(lambda: os.execv('/scratch/x', ['x']), lambda: subprocess.run(['/bin/true']), lambda: os.system('true') and 1 / 0), "
        "[call(322, -100, b'/scratch/x', None, None, 0)])",
        "'EPERM'",
    ),
    "thread-left-behind": Attack(
        f"{LATER}def spin():\n    while True:\n        pass\nfor _ in range(4):\n    later(0, spin)", hangs=True
    ),
    "thread-that-exits-later": Attack(
        f"{LATER}later(0.05, lambda: os._exit(1))\n\ndef softmax(x, dim=-1):\n    time.sleep(0.2)\n    return x",
        status=("error",),
    ),
    "loop-that-ignores-signals": Attack(
        "for number in range(1, 65):\n    attempt(lambda: signal.signal(number, signal.SIG_IGN))\n"
        "signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))\n\ndef softmax(x, dim=-1):\n    while True:\n        try:\n"
        "            while True:\n                pass\n        except BaseException:\n            continue",
        says="did not finish in time",
        status=("timeout",),
        hangs=True,
    ),
    "loop-in-a-cell": Attack("while True:\n    time.sleep(1)", status=("timeout",), hangs=True),
    "loop-in-c": Attack("def softmax(x, dim=-1):\n    return sum(range(10 ** 18))", status=("timeout",), hangs=True),
    "null-pointer": Attack("def softmax(x, dim=-1):\n    ctypes.string_at(0)", status=("error",)),
    "smashed-memory": Attack(
        "def softmax(x, dim=-1):\n    ctypes.memset(id(x), 0xFF, 4096)\n    return x + x", status=("error",)
    ),
    "stack-without-end": Attack(
        "sys.setrecursionlimit(10 ** 9)\n\ndef softmax(x, dim=-1):\n    return softmax([x, x].__getitem__(0), dim)",
        status=("error", "timeout"),
        hangs=True,
    ),
    "exit-handlers": Attack(
        "import atexit\natexit.register(time.sleep, 600)\n\nclass Clings:\n    def __del__(self):\n        time.sleep(600)\n\nkept = Clings()"
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_processes_end_with_their_submission(scene: Scene, case: str) -> None:
    scene.attacked_by(CASES[case])
