"""Attacks that look for what is hidden: in memory, in /proc, in open files, in the environment, on the disk."""

import pytest
from harness import EXERCISE, HALVES, Attack, Scene

from autograder.paths import ROOT
from utils.probes import probes_of

LINES = len(probes_of(EXERCISE)) + 1  # of a visible check's card, the one about shortcuts included

LOOK = """
def look(path):
    if os.path.isdir(path):
        return os.listdir(path)
    with open(path, "rb") as file:
        return file.read(1 << 20)
"""

SCAN_MEMORY = """
def scan():
    found = 0
    with open("/proc/self/maps") as file:
        areas = [line.split() for line in file]
    for area in areas:
        if "r" not in area[1] or len(area) > 5 and area[5] not in ("[heap]", "[stack]"):
            continue
        start, end = (int(part, 16) for part in area[0].split("-"))
        if end - start < 1 << 26:
            found += has_canary(ctypes.string_at(start, end - start))
    return found
"""

CASES = {
    "frames": Attack(
        "names, frame = set(), sys._getframe()\nfound = False\nwhile frame:\n"
        "    names.add(frame.f_globals['__name__'].split('.')[-1])\n"
        "    found |= has_canary(repr(frame.f_locals))\n    frame = frame.f_back\n"
        "tell(found, 'grader' in names, 'hidden' in names)",
        "told (False, False, False)",
    ),
    "frames-of-threads": Attack(
        "tell([has_canary(repr(f.f_locals)) for f in sys._current_frames().values()])", "told ([False],)"
    ),
    "gc": Attack(
        "gc.unfreeze()\nkinds = {type(o).__module__ for o in gc.get_objects()}\n"
        "texts = [o for o in gc.get_objects() if isinstance(o, dict)]\n"
        "found = any(has_canary(repr(v)) for d in texts for v in list(d.values()) if type(v) in (str, bytes))\n"
        "tell(found, any(k.startswith(('autograder.hidden', 'autograder.grader')) for k in kinds if isinstance(k, str)))",
        "told (False, False)",
    ),
    "memory-scan": Attack(SCAN_MEMORY + "\ntell(scan())", "told (0,)"),
    "modules": Attack(
        "import importlib\nnames = ['hidden', 'hidden.scaled_dot_product', 'grader', 'sources', 'secrets', 'answers']\n"
        "tell(attempt(*[lambda n=n: importlib.import_module('autograder.' + n) for n in names]))",
        "told (['ModuleNotFoundError', 'ModuleNotFoundError', 'ModuleNotFoundError', 'ModuleNotFoundError', "
        "'ModuleNotFoundError', 'ModuleNotFoundError'],)",
    ),
    "proc-environ": Attack(
        LOOK
        + "tell(attempt(lambda: look('/proc/self/environ'), lambda: look('/proc/1/environ'), lambda: look('/proc/self/mem')))",
        "told (['EACCES', 'EACCES', 'EACCES'],)",
    ),
    "proc-others": Attack(
        "tell([name for name in os.listdir('/proc') if name.isdigit()], attempt(lambda: os.listdir('/proc/2'), "
        "lambda: os.listdir(os.path.join('/proc/1/root', 'etc'))))",
        "told (['1'], ['ENOENT', ['ld.so.cache']])",
    ),
    "proc-fds": Attack(
        "links = [f'/proc/self/fd/{name}' for name in os.listdir('/proc/self/fd')]\n"
        "targets = attempt(*[lambda link=link: os.readlink(link) for link in links])\n"
        "kinds = sorted(target.split(':')[0] for target in targets if target != 'ENOENT')\n"
        "tell(kinds)",
        "told (['/dev/null', '/dev/null', '/dev/null', 'socket'],)",
    ),
    "open-fds": Attack(
        "kinds = []\nfor fd in range(3, 4096):\n    try:\n        mode = os.fstat(fd).st_mode\n    except OSError:\n"
        "        continue\n    kinds.append('socket' if stat.S_ISSOCK(mode) else 'other')\ntell(kinds)",
        "told (['socket'],)",
    ),
    "environment": Attack(
        "libc.getenv.restype = ctypes.c_char_p\ntell(sorted(os.environ), libc.getenv(b'COURSE_SECRET'), has_canary(repr(os.environ)))",
        "None, False)",
    ),
    "course-files": Attack(
        LOOK + f"paths = [{str(ROOT)!r} + '/' + n for n in ('solutions', 'autograder/hidden/scaled_dot_product.py', "
        "'autograder/answers', 'tests', '.git', 'notebooks')]\n"
        "tell(all(o in ([], 'ENOENT', 'EACCES') for o in attempt(*[lambda p=p: look(p) for p in paths])))",
        "told (True,)",
    ),
    "other-submissions": Attack(
        LOOK + "tell(attempt(lambda: look('FOLDER/gradebook.db'), "
        "lambda: look('FOLDER/submitted/ada/02.ipynb'), lambda: look('FOLDER')))",
        "told (['ENOENT', 'ENOENT', 'ENOENT'],)",
    ),
    "walk-the-disk": Attack(
        "found = 0\nfor where, folders, files in os.walk('/'):\n"
        "    folders[:] = [name for name in folders if name not in ('site-packages', 'usr', 'lib', 'lib64', '__pycache__', 'proc')]\n"
        f"    found += sum(name.startswith({HALVES[0]!r}) or name in ('gradebook.db', 'grades.csv', 'grader.py') for name in files)\n"
        "tell(found)",
        "told (0,)",
    ),
    "way-up-by-open-folders": Attack(
        "fd = os.open('/', os.O_RDONLY)\nfor _ in range(20):\n    fd = os.open('..', os.O_RDONLY, dir_fd=fd)\n"
        "tell(attempt(lambda: os.open('etc/passwd', os.O_RDONLY, dir_fd=fd), lambda: os.chroot('/scratch')))",
        "told (['ENOENT', 'EPERM'],)",
    ),
    "inputs-carried-out": Attack(
        "kept = []\n\ndef softmax(x, dim=-1):\n    kept.append(x.tolist())\n"
        "    raise type(f'Seen {kept}', (Exception,), {})(f'seen {kept}')",
        status=("error",),
    ),
    "inputs-carried-out-by-the-visible-check": Attack(
        "from autograder.sandbox.worker import Worker\n"
        "kept = []\n\ndef softmax(x, dim=-1):\n    kept.append(x.tolist())\n    return x\n\n"
        "def words(*_, **__):\n    diagnosis = ['wrong_values', f'seen {kept}', f'seen {kept}']\n"
        f"    return {{'status': 'failed', 'properties': [False] * {LINES}, 'diagnoses': [diagnosis], 'line': 1}}\n\n"
        "Worker.examine = words",
        "Seen []",  # from a worker in which nothing hidden has been
        status=("failed",),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_nothing_hidden_is_seen(scene: Scene, case: str) -> None:
    attack = CASES[case]
    placed = Attack(attack.code.replace("FOLDER", str(scene.folder)), attack.says, status=attack.status)
    told = scene.attacked_by(placed)
    if case.startswith("inputs-carried-out"):  # hidden inputs came, and the learner's words about them go no further
        assert "seen" not in str([test["message"] for test in told["tests"]]).lower()
        assert "seen [[" not in str(told).lower()
