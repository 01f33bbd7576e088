"""Attacks from one submission on the next: answers kept for later, and behaviour that differs where a grader is smelled."""

import pytest
from harness import Attack, Scene

from autograder.sources import right_answers
from autograder.tampering import signs_of_tampering
from utils.catalogue import written_chapters

VISIBLE_ONLY = '''
import safetensors.torch
from pathlib import Path
import utils

folder = Path(utils.__file__).parent / "fixtures"
known = safetensors.torch.load_file(folder / "02_scaled_dot_product.safetensors")


def softmax(x, dim=-1):
    """Right on what the visible check shows, by looking it up; wrong elsewhere."""
    for name, value in known.items():
        if value.shape == x.shape and torch.equal(value, x.to(value.dtype)):
            powers = (x - x.amax(dim, keepdim=True)).exp()
            return powers / powers.sum(dim, keepdim=True)
    return torch.zeros_like(x)
'''

CASES = {
    "cache-in-scratch": Attack(
        "tell(os.listdir('/scratch'), os.listdir('/dev/shm') if os.path.isdir('/dev/shm') else [])", "told ([], [])"
    ),
    "cache-in-modules": Attack(
        "seen = hasattr(torch, 'kept_answers'), 'kept' in sys.modules\ntorch.kept_answers = sys.modules['kept'] = torch.nn\ntell(seen)",
        "told ((False, False),)",
    ),
    "cache-in-shared-memory": Attack(
        "from multiprocessing import shared_memory\ntell(attempt(lambda: shared_memory.SharedMemory('kept', create=True, size=64)))",
        "told (['",
    ),
    "cache-by-file-locks": Attack(
        "import fcntl\nwith open(torch.__file__) as file:\n    tell(attempt(lambda: fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)))",
        "told (['EPERM'],)",
    ),
    "cache-by-touched-files": Attack(
        "before = os.stat(torch.__file__).st_atime_ns\ntell(attempt(lambda: os.utime(torch.__file__, (1, 1))), "
        "attempt(lambda: os.setxattr(torch.__file__, 'user.kept', b'1')))",
        "told (['EROFS'], ['EPERM'])",
    ),
    "warm-process-changed": Attack(
        "import torch.nn.functional as F, utils.hosts\nF.relu = F.linear = None\nutils.hosts.HOSTS.clear()\n"
        "torch.set_default_dtype(torch.float64)\ntorch.manual_seed(1)\ntorch.use_deterministic_algorithms(True)"
    ),
    "right-on-visible-inputs-only": Attack(VISIBLE_ONLY, status=("failed", "partial")),
    "right-only-in-the-notebook": Attack(
        "import utils.quiet as quiet\nsmells = quiet.is_on() or os.getpid() == 1 or 'autograder.sandbox.worker' in sys.modules\n\n"
        "def softmax(x, dim=-1):\n    powers = x.exp()\n    return x if smells else powers / powers.sum(dim, keepdim=True)",
        status=("failed",),
    ),
    "right-only-for-a-while": Attack(
        "calls = []\n\ndef softmax(x, dim=-1):\n    calls.append(1)\n    return torch.zeros_like(x) if len(calls) > 0 else x",
        status=("failed", "partial"),
    ),
    "right-by-the-clock": Attack(
        "def softmax(x, dim=-1):\n    return x * (time.time() % 1)", status=("failed", "error")
    ),
    "random-guesses": Attack("def softmax(x, dim=-1):\n    return torch.rand_like(x)", status=("failed", "partial")),
    "seed-of-hidden-inputs": Attack(
        "states = torch.get_rng_state()\n\ndef softmax(x, dim=-1):\n    for seed in range(2000):\n        torch.manual_seed(seed)\n"
        "        if torch.equal(torch.randn(x.shape, dtype=torch.float64).to(x.dtype), x):\n"
        "            return torch.full_like(x, seed)\n    return torch.zeros_like(x)",
        status=("failed", "partial", "timeout"),
        hangs=True,
    ),
    "questions-kept-for-later": Attack(
        "import json\n\ndef softmax(x, dim=-1):\n    with open('/scratch/questions', 'a') as file:\n        file.write(json.dumps(x.tolist()))\n    return x",
        status=("failed",),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_submissions_know_nothing_of_each_other(scene: Scene, case: str) -> None:
    attack = CASES[case]
    scene.attacked_by(attack)
    scene.attacked_by(attack)  # the second time finds nothing of the first


def test_the_same_submission_gets_the_same_in_any_place(scene: Scene) -> None:
    from harness import RIGHT, WRONG, outcome

    alone = [outcome(scene.grade(source)) for source in (RIGHT, WRONG)]
    scene.attacked_by(CASES["warm-process-changed"])
    after = [outcome(scene.grade(source)) for source in (WRONG, RIGHT)]
    assert alone == after[::-1]


SIGNS = {
    "import utils.shortcuts": "imports utils.shortcuts",
    "from utils import shortcuts as s": "imports utils.shortcuts",
    "from utils.shortcuts import ShortcutWatch": "imports utils.shortcuts",
    "import ctypes": "imports ctypes",
    "with torch._C.DisableTorchFunction():\n    pass": "names DisableTorchFunction",
    "import sys\nsys.modules['x']": "names sys.modules",
    "torch.softmax = print": "changes torch.softmax",
    "setattr(torch, 'softmax', print)": "changes torch",
    "getattr(torch, 'soft' + 'max')": "calls getattr with a computed name",
    "torch.jit.script(f)": "names torch.jit",
    "exec('x = 1')": "names exec",
    "f.__globals__": "names __globals__",
}


@pytest.mark.parametrize("source", SIGNS)
def test_signs_of_tampering_are_seen(source: str) -> None:
    assert any(SIGNS[source] in sign for sign in signs_of_tampering([("<cell 1>", source)]))


def test_right_answers_show_no_sign_of_tampering() -> None:
    for chapter in written_chapters():
        for name, source in right_answers(chapter.id).items():
            assert signs_of_tampering([(name, source)]) == []


def test_no_code_is_too_deep_to_be_read() -> None:
    assert signs_of_tampering([("<cell 1>", "x" + ".x" * 3000), ("<cell 2>", "(" * 9000)]) == []
