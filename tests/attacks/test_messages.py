"""Attacks on the connection to the grader: what comes back may be forged, huge, late, damaged, or not an answer at all."""

import pytest
from harness import Attack, Scene

FORGE = """
import msgpack
from autograder.sandbox import wire

(line,) = [fd for fd in range(3, 64) if attempt(lambda: stat.S_ISSOCK(os.fstat(fd).st_mode))[0] is True]


def raw(data):
    view = memoryview(data)
    while view:
        view = view[os.write(line, view):]


def frame(header, payload=b""):
    header = header if isinstance(header, bytes) else msgpack.packb(header)
    raw(struct.pack(">II", len(header), len(payload)) + header + payload)


def answer(value, **more):
    return {"ok": {"value": value, "graph": None, "differentiable": [], "changed": [], "left": [], "shortcuts": []} | more}


def tensor(*shape, flags=0, order=b""):
    head = struct.pack(f">BBB{len(shape)}Q", wire.NUMBERS[torch.float32], len(shape), flags, *shape)
    return msgpack.ExtType(wire.TENSOR, head + order)


def wait():
    threading.Event().wait()
"""


def _forged(statement: str, **more: object) -> Attack:
    """An attack whose function sends something itself, and then waits or goes on."""
    return Attack(f"{FORGE}\n\ndef softmax(x, dim=-1):\n    {statement}\n    return x", **more)


CASES = {
    "forged-true": _forged("raw(wire.pack(answer(True))); wait()"),
    "forged-answers-ahead": _forged("raw(wire.pack(answer(True)) * 50)", status=("error", "failed")),
    "forged-shape-only": _forged("raw(wire.pack({'ok': {}})); wait()", says="isn't an answer", status=("error",)),
    "forged-shortcut-names": _forged(
        "raw(wire.pack(answer(1, shortcuts=['<script>', 'hidden inputs: ' + str(x.tolist())]))); wait()"
    ),
    "forged-error": _forged(
        "raw(wire.pack({'error': {'type_name': 'x' * 10**5, 'message': str(x.tolist()), 'bases': [str(x.tolist())], "
        "'line': 7, 'cell': 'c'}})); wait()",
        status=("error", "timeout"),
        hangs=True,
    ),
    "forged-by-patching-the-worker": Attack(
        "from autograder.sandbox.worker import Worker\n"
        "Worker.answer = lambda *a: {'ok': {'value': True, 'graph': 1, 'differentiable': [True]}}",
        status=("error", "failed"),
    ),
    "flood": _forged(
        "while True:\n        raw(b'x' * (1 << 16))",
        says="can't be read",
        status=("error",),
    ),
    "flood-before-the-question": Attack(
        f"{FORGE}\ndef more():\n    while True:\n        raw(b'\\0' * 4096)\n\n"
        "threading.Thread(target=more, daemon=True).start()",
        status=("error",),
    ),
    "late": _forged("time.sleep(6)", says="did not finish in time", status=("timeout",), hangs=True),
    "drip": _forged(
        "data = wire.pack(answer(True))\n    for byte in data:\n        raw(bytes([byte])); time.sleep(0.5)",
        says="did not finish in time",
        status=("timeout",),
        hangs=True,
    ),
    "silent": _forged("os.close(line); wait()", status=("error",)),
    "huge-by-its-head": _forged("raw(b'\\xff' * 8); wait()", says="too large", status=("error",)),
    "huge-tensor": _forged("return torch.zeros(1 << 25)", status=("error", "failed")),
    "huge-tensor-by-its-shape": _forged(
        "frame(answer(tensor(1 << 40), differentiable=[False]), bytes(8)); wait()",
        says="can't be read",
        status=("error",),
    ),
    "huge-number": _forged("return 10 ** 5000", status=("error", "failed")),
    "deep": _forged("frame(bytes([0x91]) * 100_000 + bytes(1)); wait()", says="can't be read", status=("error",)),
    "deep-list": _forged(
        "deep = []\n    for _ in range(500):\n        deep = [deep]\n    return deep", status=("error", "failed")
    ),
    "nan": _forged("return torch.full_like(x, float('nan'))", status=("failed",)),
    "inf-and-nan-numbers": _forged(
        "frame(answer(float('nan'), graph=float('inf'))); wait()", says="isn't an answer", status=("error",)
    ),
    "wrong-dtype": _forged("return x.to(torch.int64)", status=("failed",)),
    "complex-and-sparse": _forged("return x.to(torch.complex64).to_sparse()", status=("failed", "error")),
    "meta-tensor": _forged("return torch.empty(x.shape, device='meta')", status=("failed", "error")),
    "not-a-tensor": _forged("return {'softmax': [x, 'yes', None]}", status=("failed", "error")),
    "overlapping-tensors": _forged(
        "frame(answer([tensor(2), tensor(2)], differentiable=[False, False]), bytes(8)); wait()",
        says="less than it says",
        status=("error",),
    ),
    "expanded-tensor": _forged("return torch.zeros(1).expand(1 << 40)", status=("error", "failed")),
    "more-than-it-names": _forged(
        "frame(answer(tensor(4), differentiable=[False]), bytes(1 << 20)); wait()",
        says="more than it says",
        status=("error",),
    ),
    "order-of-many-dimensions": _forged(
        "entry = tensor(1, flags=wire.HAS_ORDER, order=bytes(100_000))\n"
        "    frame(answer(entry, differentiable=[False]), bytes(8)); wait()",
        says="order of dimensions",
        status=("error",),
    ),
    "extensions-in-extensions": _forged(
        "entry = b''\n    for _ in range(2000):\n        entry = msgpack.packb(msgpack.ExtType(wire.HELD, entry))\n"
        "    frame(entry); wait()",
        says="damaged",
        status=("error",),
    ),
    "lists-of-two-to-the-32": _forged(
        "frame(bytes([0xDD]) + bytes([255]) * 4); wait()", says="damaged", status=("error",)
    ),
    "pickle": _forged(
        "import pickle\n    data = pickle.dumps(print)\n    frame(data, data); wait()",
        says="can't be read",
        status=("error",),
    ),
    "wrong-gradients": Attack(
        "class Odd(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n        return x.exp() / x.exp().sum(-1, keepdim=True)\n"
        "    @staticmethod\n    def backward(ctx, grad):\n        os._exit(3)\n\n"
        "def softmax(x, dim=-1):\n    return Odd.apply(x) * 2",
        status=("error", "failed"),
    ),
    "forged-visible-check": Attack(
        "from autograder.sandbox.worker import Worker\n"
        "words = '<img src=x onerror=alert(1)> \\x1b[2J =cmd()'\n"
        "Worker.examine = lambda *a, **k: {'status': 'failed', 'properties': [True] * 99, 'diagnoses': [[words, words, words]] * 99, "
        "'line': 10**9}",
        status=("failed",),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_what_comes_back_is_never_trusted(scene: Scene, case: str) -> None:
    told = scene.attacked_by(CASES[case])
    assert "<script>" not in str(told)
    assert "onerror" not in str(told)
    assert len(str(told)) < 20_000
