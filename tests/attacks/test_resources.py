"""Attacks that use things up: memory, disk, inodes, file descriptors, output, processor time."""

import pytest
from harness import Attack, Scene

CASES = {
    "memory": Attack(
        "kept = []\n\ndef softmax(x, dim=-1):\n    while True:\n        kept.append(bytearray(1 << 27))",
        status=("error", "timeout"),
    ),
    "memory-at-once": Attack("def softmax(x, dim=-1):\n    return torch.empty(1 << 45)", status=("error",)),
    "memory-by-mapping": Attack(
        "import mmap\nkept = []\n\ndef fill():\n    while True:\n        kept.append(mmap.mmap(-1, 1 << 28))\n\ntell(attempt(fill), len(kept) < 9)",
        "told (['ENOMEM'], True)",
    ),
    "disk": Attack(
        "written = 0\ntry:\n    for number in range(100):\n        with open(f'file {number}', 'wb') as file:\n"
        "            written += file.write(bytes(8 << 20))\nexcept OSError as error:\n"
        "    tell(errno.errorcode[error.errno], written <= 64 << 20)",
        "told ('ENOSPC', True)",
    ),
    "one-big-file": Attack(
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\nwith open('big', 'wb', buffering=0) as file:\n"
        "    tell(attempt(lambda: [file.write(bytes(1 << 20)) for _ in range(64)]), os.path.getsize('big') <= 32 << 20)",
        "told (['EFBIG'], True)",
    ),
    "inodes": Attack(
        "made = 0\ntry:\n    for made in range(100_000):\n        os.mkdir(f'{made}')\nexcept OSError as error:\n"
        "    tell(errno.errorcode[error.errno], made < 5000)",
        "told ('ENOSPC', True)",
    ),
    "file-descriptors": Attack(
        "kept = []\ntell(attempt(lambda: [kept.append(os.dup(0)) for _ in range(10_000)]), len(kept) < 64)",
        "told (['EMFILE'], True)",
    ),
    "pipes-and-events": Attack(
        "kept = []\ntell(attempt(lambda: [kept.append(os.pipe()) for _ in range(10_000)], "
        "lambda: [kept.append(os.eventfd(0)) for _ in range(10_000)]), len(kept) < 64)",
        "told (['EMFILE', 'EMFILE'], True)",
    ),
    "endless-output": Attack(
        "def softmax(x, dim=-1):\n    while True:\n        print('x' * 10_000)\n        sys.stderr.write('y' * 10_000)",
        status=("timeout",),
        hangs=True,
    ),
    "endless-warnings": Attack(
        "import logging, warnings\nwarnings.simplefilter('always')\nfor _ in range(20_000):\n    warnings.warn('\\x1b[2J')\n"
        "    logging.error('x')\n"
    ),
    "limits-raised": Attack(
        "import resource\ntell(attempt(*[lambda n=n: resource.setrlimit(n, (1 << 40, 1 << 40)) for n in "
        "(resource.RLIMIT_AS, resource.RLIMIT_CPU, resource.RLIMIT_NPROC, resource.RLIMIT_FSIZE)], "
        "lambda: resource.prlimit(0, resource.RLIMIT_NOFILE, (10 ** 6, 10 ** 6)), lambda: os.nice(-10)))",
        "Error",
    ),
    "names-without-end": Attack(
        "for depth in range(200):\n    if attempt(lambda: os.mkdir('d' * 250)) == [None]:\n        os.chdir('d' * 250)\n"
        "tell(attempt(os.getcwd) != ['/scratch'])",
        "told (True,)",
    ),
    "number-crunching-in-a-cell": Attack(
        "def burn():\n    return pow(3, 10 ** 10)\n\nburn()", status=("timeout", "error"), hangs=True
    ),
    "catastrophic-repr": Attack(
        "class Long(Exception):\n    def __str__(self):\n        return 'x' * (1 << 28)\n\ndef softmax(x, dim=-1):\n    raise Long",
        status=("error",),
    ),
    "newlines-without-end": Attack("\n" * 150_000 + "def softmax(x, dim=-1:", status=("error",)),
    "magics-without-end": Attack("!ls\n" * 20_000 + "def softmax(x, dim=-1):\n    return x"),
}


@pytest.mark.parametrize("case", CASES)
def test_nothing_is_used_up(scene: Scene, case: str) -> None:
    scene.attacked_by(CASES[case])
