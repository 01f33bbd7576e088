"""Attacks on files: the course, the gradebook, other submissions, the packages that everyone shares."""

import pytest
from harness import Attack, Scene

from autograder.paths import ROOT

HIDDEN = ROOT / "autograder" / "hidden" / "scaled_dot_product.py"
UTILS = ROOT / "utils" / "shortcuts.py"

CASES = {
    "write-gradebook": Attack(
        "tell(refused(lambda: open('FOLDER/gradebook.db', 'a'), lambda: os.remove('FOLDER/gradebook.db'), "
        "lambda: os.makedirs('FOLDER/grades'), lambda: open('FOLDER/gradebook.db', 'w')))",
        "told (True,)",
    ),
    "delete-submissions": Attack(
        f"import shutil\nshutil.rmtree('FOLDER', ignore_errors=True)\nshutil.rmtree({str(UTILS.parent)!r}, ignore_errors=True)\n"
        "tell(os.path.exists(torch.__file__), refused(lambda: os.remove(torch.__file__)))",
        "told (True, True)",
    ),
    "write-course": Attack(
        f"tell(refused(lambda: open({str(UTILS)!r}, 'a'), lambda: os.remove({str(UTILS)!r}), lambda: open({str(HIDDEN)!r}, 'w'), "
        f"lambda: os.rename({str(UTILS)!r}, '/scratch/x'), lambda: os.chmod({str(UTILS)!r}, 0o777), "
        f"lambda: os.truncate({str(UTILS)!r}, 0)))",
        "told (True,)",
    ),
    "poison-packages": Attack(
        "import sysconfig\nplace = sysconfig.get_paths()['purelib']\n"
        "tell(refused(lambda: open(place + '/sitecustomize.py', 'w'), lambda: open(torch.__file__, 'a'), "
        "lambda: os.mkdir(place + '/torch/x'), lambda: os.utime(torch.__file__)))",
        "told (True,)",
    ),
    "symlink-out": Attack(
        "tell(refused(lambda: os.symlink('FOLDER/gradebook.db', 'way'), lambda: os.symlink('/', '/scratch/root')))",
        "told (True,)",
    ),
    "hard-link": Attack(
        "tell(attempt(lambda: os.link(torch.__file__, '/scratch/torch.py'), lambda: os.link('/dev/null', 'null')))",
        "told (['EPERM', 'EPERM'],)",
    ),
    "sparse-file": Attack(
        "with open('hole', 'wb') as file:\n    outcomes = attempt(lambda: file.truncate(1 << 40))\ntell(outcomes, os.path.getsize('hole'))",
        "told (['EFBIG'], 0)",
    ),
    "device-nodes": Attack(
        "tell(attempt(lambda: os.mknod('/scratch/disk', 0o60666, os.makedev(254, 0)), lambda: os.mkfifo('/scratch/pipe'), "
        "lambda: open('/dev/mem', 'rb'), lambda: open('/dev/vda', 'rb')))",
        "told (['EPERM', 'EPERM', 'ENOENT', 'ENOENT'],)",
    ),
    "remount-writable": Attack(
        "tell([call(165, b'none', b'/', b'none', ctypes.c_ulong(32 | 4096), None), "
        "call(442, -100, b'/', 0x8000, struct.pack('QQQQ', 0, 1, 0, 0), 32)])",
        "told (['EPERM', 'EPERM'],)",
    ),
    "shared-locks": Attack(
        "import fcntl\nwith open(torch.__file__) as file:\n    tell(attempt(lambda: fcntl.flock(file, fcntl.LOCK_EX), "
        "lambda: fcntl.lockf(file, fcntl.LOCK_SH), lambda: fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_RDLCK), "
        "lambda: fcntl.fcntl(file, fcntl.F_NOTIFY, 1)))",
        "told (['EPERM', 'EPERM', 'EPERM', 'EPERM'],)",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_no_file_of_others_is_touched(scene: Scene, case: str) -> None:
    attack = CASES[case]
    scene.attacked_by(Attack(attack.code.replace("FOLDER", str(scene.folder)), attack.says))
