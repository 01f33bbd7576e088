"""Forbidden built-ins are noticed however they are called, and nothing else is."""

import copy
import math
import subprocess
import sys
import textwrap
from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.attention import flex_attention  # noqa: F401

from autograder.paths import ROOT
from autograder.sandbox.client import RemoteStudent, WarmClient
from utils import hosts, standins
from utils.catalogue import all_chapters
from utils.execution import Executor
from utils.shortcuts import ALL_NAMES, FUNCTIONS, MODULES, ShortcutWatch, family_in_words, hand_out, shortcuts_allowed

X = torch.randn(2, 3, 4)


def found(call: Callable[[], object], *families: str) -> list[str]:
    with ShortcutWatch(families) as watch:
        call()
    return watch.found


my_alias = torch.softmax


class Heads(nn.MultiheadAttention):
    """A subclass under a name of its own."""


class Mine(nn.Module):
    """A module that hides another one."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, *inputs: Tensor) -> Tensor:
        return self.inner(*inputs)


SOFTMAX: dict[str, Callable[[], object]] = {
    "torch.softmax": lambda: torch.softmax(X, -1),
    "F.softmax": lambda: F.softmax(X, dim=-1),
    "Tensor.softmax": lambda: X.softmax(-1),
    "Tensor.softmax, unbound": lambda: Tensor.softmax(X, -1),
    "an alias": lambda: my_alias(X, -1),
    "by name": lambda: getattr(torch, "soft" + "max")(X, -1),
    "nn.Softmax": lambda: nn.Softmax(-1)(X),
    "nn.Softmax.forward": lambda: nn.Softmax(-1).forward(X),
    "nn.Softmax inside": lambda: Mine(nn.Softmax(-1))(X),
    "nn.Softmin": lambda: nn.Softmin(-1)(-X),
    "nn.Softmax2d": lambda: nn.Softmax2d()(X),
    "torch.special": lambda: torch.special.softmax(X, -1),
    "log-softmax": lambda: F.log_softmax(X, -1).exp(),
    "Tensor.log_softmax": lambda: X.log_softmax(-1).exp(),
    "nn.LogSoftmax": lambda: nn.LogSoftmax(-1)(X).exp(),
    "torch.ops.aten": lambda: torch.ops.aten.softmax.int(X, -1),
    "torch.ops.aten, packet": lambda: torch.ops.aten.softmax(X, -1),
    "torch.ops.aten._softmax": lambda: torch.ops.aten._softmax(X, -1, False),
    "torch._softmax": lambda: torch._softmax(X, -1, False),
    "gumbel": lambda: F.gumbel_softmax(X),
    "softmin": lambda: F.softmin(-X, dim=-1),
    "torch.masked": lambda: torch.masked.softmax(X, -1),
    "adaptive": lambda: nn.AdaptiveLogSoftmaxWithLoss(4, 5, [2])(X[0], torch.tensor([0, 1, 2])),
    "cross-entropy": lambda: F.cross_entropy(X[0], torch.tensor([1, 2, 0])),
    "a distribution": lambda: torch.distributions.Categorical(logits=X).probs,
    "vmap": lambda: torch.vmap(lambda row: row.softmax(-1))(X),
    "a trace": lambda: torch.fx.symbolic_trace(lambda x: x.softmax(-1))(X),
    "checkpointing": lambda: torch.utils.checkpoint.checkpoint(lambda x: x.softmax(-1), X, use_reentrant=False),
}


@pytest.mark.parametrize("call", SOFTMAX.values(), ids=SOFTMAX)
def test_softmax_is_noticed(call: Callable[[], object]) -> None:
    assert found(call, "softmax")
    assert not found(call, "attention")


def _attend() -> object:
    return F.scaled_dot_product_attention(X, X, X)


ATTENTION: dict[str, Callable[[], object]] = {
    "F.scaled_dot_product_attention": _attend,
    "torch._C": lambda: torch._C._nn.scaled_dot_product_attention(X, X, X),
    "torch.ops.aten": lambda: torch.ops.aten.scaled_dot_product_attention(X, X, X),
    "the math behind it": lambda: torch.ops.aten._scaled_dot_product_attention_math(X, X, X),
    "nn.MultiheadAttention": lambda: nn.MultiheadAttention(4, 2, batch_first=True)(X, X, X),
    "nn.MultiheadAttention, no weights": lambda: nn.MultiheadAttention(4, 2).eval()(X, X, X, need_weights=False),
    "a subclass": lambda: Heads(4, 2)(X, X, X),
    "inside a module": lambda: Mine(Heads(4, 2))(X, X, X),
    "F.multi_head_attention_forward": lambda: F.multi_head_attention_forward(
        X, X, X, 4, 2, torch.zeros(12, 4), torch.zeros(12), None, None, False, 0.0, torch.zeros(4, 4), torch.zeros(4)
    ),
    "an encoder layer": lambda: nn.TransformerEncoderLayer(4, 2, 8).eval()(X),
    "a decoder layer": lambda: nn.TransformerDecoderLayer(4, 2, 8).eval()(X, X),
}


@pytest.mark.parametrize("call", ATTENTION.values(), ids=ATTENTION)
def test_attention_is_noticed(call: Callable[[], object]) -> None:
    assert found(call, "attention")
    assert not found(call, "recurrent")


OTHERS: dict[str, tuple[str, Callable[[], object]]] = {
    "nn.RNN": ("recurrent", lambda: nn.RNN(4, 5)(X)),
    "nn.GRU": ("recurrent", lambda: nn.GRU(4, 5)(X)),
    "nn.LSTM": ("recurrent", lambda: nn.LSTM(4, 5)(X)),
    "nn.RNNCell": ("recurrent", lambda: nn.RNNCell(4, 5)(X[0])),
    "nn.LSTMCell": ("recurrent", lambda: nn.LSTMCell(4, 5)(X[0])),
    "nn.LayerNorm": ("norm", lambda: nn.LayerNorm(4)(X)),
    "F.layer_norm": ("norm", lambda: F.layer_norm(X, (4,))),
    "torch.layer_norm": ("norm", lambda: torch.layer_norm(X, (4,))),
    "nn.BatchNorm1d": ("norm", lambda: nn.BatchNorm1d(3)(X)),
    "nn.GroupNorm": ("norm", lambda: nn.GroupNorm(1, 3)(X)),
    "nn.RMSNorm": ("norm", lambda: nn.RMSNorm(4)(X)),
    "F.local_response_norm": ("norm", lambda: F.local_response_norm(X, 2)),
    "nn.LocalResponseNorm": ("norm", lambda: nn.LocalResponseNorm(2)(X)),
    "nn.Transformer": ("transformer", lambda: nn.Transformer(4, 2, 1, 1, 8, batch_first=True)(X, X)),
    "nn.TransformerEncoder": (
        "transformer",
        lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8), 1, enable_nested_tensor=False)(X),
    ),
    "nn.TransformerDecoderLayer": ("transformer", lambda: nn.TransformerDecoderLayer(4, 2, 8)(X, X)),
    "F.cross_entropy": ("cross_entropy", lambda: F.cross_entropy(X[0], torch.tensor([1, 2, 0]))),
    "nn.CrossEntropyLoss": ("cross_entropy", lambda: nn.CrossEntropyLoss()(X[0], torch.tensor([1, 2, 0]))),
}


@pytest.mark.parametrize(("family", "call"), OTHERS.values(), ids=OTHERS)
def test_other_built_ins_are_noticed(family: str, call: Callable[[], object]) -> None:
    assert found(call, family)


def by_hand(x: Tensor) -> Tensor:
    powers = (x - x.amax(-1, keepdim=True)).exp()
    return powers / powers.sum(-1, keepdim=True)


HARMLESS: dict[str, tuple[str, Callable[[], object]]] = {
    "exponentials": ("softmax", lambda: by_hand(X)),
    "logsumexp": ("softmax", lambda: (X - X.logsumexp(-1, keepdim=True)).exp()),
    "maxima": ("softmax", lambda: (X.max(-1), X.amax(-1), torch.maximum(X, X))),
    "softplus and sigmoid": ("softmax", lambda: (F.softplus(X), X.sigmoid(), X.tanh())),
    "a vector norm": ("norm", lambda: (X.norm(), torch.linalg.vector_norm(X), F.normalize(X), X.std(), X.var(-1))),
    "softmax for attention": ("attention", lambda: torch.softmax(X @ X.mT / math.sqrt(4), -1) @ X),
    "layers for attention": ("attention", lambda: nn.LayerNorm(4)(nn.Linear(4, 4)(X))),
    "attention for a Transformer": ("transformer", lambda: nn.MultiheadAttention(4, 2)(X, X, X)),
    "log-softmax for cross-entropy": (
        "cross_entropy",
        lambda: F.nll_loss(X[0].log_softmax(-1), torch.tensor([1, 2, 0])),
    ),
    "matrix products": ("attention", lambda: torch.einsum("bqd,bkd->bqk", X, X)),
    "a layer that is only built": ("recurrent", lambda: nn.LSTM(4, 5)),
    "a function that is only named": ("softmax", lambda: (torch.softmax, F.softmax, nn.Softmax(-1))),
    "a name that only looks like it": ("softmax", lambda: Mine(nn.Linear(4, 4))(X)),
}


@pytest.mark.parametrize(("family", "call"), HARMLESS.values(), ids=HARMLESS)
def test_what_is_allowed_raises_no_alarm(family: str, call: Callable[[], object]) -> None:
    assert found(call, family) == []


def test_what_is_noticed_has_a_name_that_learners_know() -> None:
    assert found(lambda: torch.softmax(X, -1), "softmax") == ["softmax"]
    assert found(lambda: X.softmax(-1), "softmax") == ["softmax"]
    assert found(lambda: Heads(4, 2)(X, X, X), "attention")[0] == "nn.MultiheadAttention"
    assert found(_attend, "attention") == ["scaled_dot_product_attention"]


@pytest.mark.parametrize("call", [*SOFTMAX.values(), *ATTENTION.values()], ids=[*SOFTMAX, *ATTENTION])
def test_every_name_that_is_reported_is_a_known_one(call: Callable[[], object]) -> None:
    assert set(found(call, *FUNCTIONS)) <= ALL_NAMES


def test_each_name_is_told_once() -> None:
    assert found(lambda: [X.softmax(-1) for _ in range(5)], "softmax") == ["softmax"]


def test_several_families_are_watched_at_once() -> None:
    both = found(lambda: (X.softmax(-1), F.layer_norm(X, (4,))), "softmax", "norm")
    assert both == ["softmax", "layer_norm"]


def test_nothing_is_watched_before_and_after() -> None:
    with ShortcutWatch(["softmax"]) as watch:
        pass
    torch.softmax(X, -1)
    nn.Softmax(-1)(X)
    assert watch.found == []


def test_a_watch_ends_where_an_error_passes_through() -> None:
    watch = ShortcutWatch(["softmax"])
    with pytest.raises(ValueError, match="learner"), watch:
        raise ValueError("learner")
    nn.Softmax(-1)(X)
    assert watch.found == []


def test_results_and_gradients_are_the_same_under_a_watch() -> None:
    def run() -> tuple[Tensor, Tensor]:
        x = X.clone().requires_grad_()
        result = by_hand(x)
        (gradient,) = torch.autograd.grad(result.square().sum(), x)
        return result, gradient

    with ShortcutWatch(list(FUNCTIONS)):
        watched = run()
    assert all(torch.equal(a, b) for a, b in zip(watched, run(), strict=True))


def test_the_courses_own_pieces_may_use_what_learners_build() -> None:
    with ShortcutWatch(["softmax"], chapter="03") as watch:
        standins.softmax(X)
    assert watch.found == []
    with ShortcutWatch(["softmax"], chapter="02") as watch:
        standins.softmax(X)
    assert watch.found == ["softmax"]
    assert found(lambda: (standins.softmax(X), X.log_softmax(-1)), "softmax") == ["log_softmax"]


def test_nobody_else_is_allowed_anything() -> None:
    def run() -> None:
        with shortcuts_allowed():
            torch.softmax(X, -1)

    assert found(run, "softmax") == ["softmax"]


def test_a_host_may_use_shortcuts_only_where_a_test_has_asked_for_it() -> None:
    host = Executor({}).host("recurrent", ["lstm", 4, 5], {})["value"]
    executor = Executor({})
    executor.objects[host.id] = hand_out(hosts.build("recurrent", "lstm", 4, 5))
    assert found(lambda: executor.objects[host.id](X), "recurrent") == []
    assert found(lambda: hosts.build("recurrent", "lstm", 4, 5)(X), "recurrent") != []
    assert found(lambda: copy.deepcopy(executor.objects[host.id])(X), "recurrent") != []


def test_every_family_of_the_catalogue_is_known_and_has_words() -> None:
    used = {family for chapter in all_chapters() for exercise in chapter.exercises for family in exercise.shortcuts}
    assert used <= FUNCTIONS.keys() == MODULES.keys()
    assert all(family_in_words(family) for family in FUNCTIONS)


# Where notebooks are graded, kernels listen too: ways around a mode, as learners' code would take them.

AROUND: dict[str, tuple[str, str]] = {
    "function modes switched off": (
        "softmax",
        "with torch._C.DisableTorchFunction():\n    return F.softmax(x, -1)",
    ),
    "a script": ("softmax", "return torch.jit.script(plain)(x)"),
    "a traced function": ("softmax", "return torch.jit.trace(lambda t: F.softmax(t, -1), x)(x)"),
    "another thread": (
        "softmax",
        "with ThreadPoolExecutor() as pool:\n    return pool.submit(F.softmax, x, -1).result()",
    ),
    "a thread with modes off": ("attention", "return on_a_thread(lambda: F.scaled_dot_product_attention(x, x, x))"),
    "a kernel by its key": ("softmax", "return torch.ops.aten._softmax.default._op_dk(keys.CPU, x, -1, False)"),
    "keys left out": (
        "softmax",
        "with torch._C._ExcludeDispatchKeyGuard(torch._C.DispatchKeySet(keys.BackendSelect)):\n    return F.softmax(x, -1)",
    ),
    "an operator into a given tensor": (
        "softmax",
        "return without_modes(lambda: torch.softmax(x, -1, out=torch.empty_like(x)))",
    ),
    "inference mode": (
        "softmax",
        "with torch.inference_mode():\n    return without_modes(lambda: x.softmax(-1)).clone()",
    ),
    "vmap with modes off": ("softmax", "return without_modes(lambda: torch.vmap(lambda row: row.softmax(-1))(x))"),
    "through autograd": (
        "softmax",
        "return without_modes(lambda: torch.func.jvp(lambda t: t.softmax(-1), (x,), (x,))[0])",
    ),
    "log-softmax with modes off": ("softmax", "return without_modes(lambda: F.log_softmax(x, -1).exp())"),
    "softmax inside attention": (
        "softmax",
        "eye = torch.eye(x.shape[-1])\n"
        "return without_modes(lambda: F.scaled_dot_product_attention(x, eye, eye.expand(2, 4, 4), scale=1.0))",
    ),
    "attention's forward itself": (
        "attention",
        "return without_modes(lambda: nn.MultiheadAttention(4, 2).forward(x, x, x))[0]",
    ),
    "a subclass that calls its parent's forward": ("attention", "return without_modes(lambda: Heads(4, 2).attend(x))"),
    "the function of attention": (
        "attention",
        "m = nn.MultiheadAttention(4, 2)\nreturn without_modes(lambda: F.multi_head_attention_forward(x, x, x, 4, 2, "
        "m.in_proj_weight, m.in_proj_bias, None, None, False, 0.0, m.out_proj.weight, m.out_proj.bias))[0]",
    ),
    "attention of one token after the other": (
        "attention",
        "return without_modes(lambda: torch.stack([F.scaled_dot_product_attention(row, row, row) for row in x]))",
    ),
    "a recurrent layer's function": (
        "recurrent",
        "m = nn.LSTM(4, 5)\nreturn without_modes(lambda: torch._VF.lstm(x, (torch.zeros(1, 3, 5),) * 2, m._flat_weights, True, "
        "1, 0.0, False, False, False))[0]",
    ),
    "a recurrent layer's forward": ("recurrent", "return without_modes(lambda: nn.RNN(4, 5).forward(x))[0]"),
    "a cell's forward": ("recurrent", "return without_modes(lambda: nn.GRUCell(4, 5).forward(x[0]))"),
    "a host of one's own": ("recurrent", "from utils import hosts\nreturn hosts.build('recurrent', 'rnn', 4, 5)(x)"),
    "a norm with modes off": ("norm", "return without_modes(lambda: F.layer_norm(x, (4,)))"),
    "a norm by its operator": (
        "norm",
        "return without_modes(lambda: torch.ops.aten.native_layer_norm(x, [4], None, None, 1e-5))[0]",
    ),
    "a root-mean-square norm": ("norm", "return without_modes(lambda: F.rms_norm(x, (4,)))"),
    "a group norm": ("norm", "return without_modes(lambda: F.group_norm(x, 1))"),
    "an encoder layer's forward": (
        "transformer",
        "return without_modes(lambda: nn.TransformerEncoderLayer(4, 2, 8).forward(x))",
    ),
    "cross-entropy with modes off": (
        "cross_entropy",
        "return without_modes(lambda: F.cross_entropy(x[0], torch.tensor([0, 1, 2])))",
    ),
    "permission from the course": (
        "softmax",
        "from utils.shortcuts import shortcuts_allowed\nwith shortcuts_allowed():\n    return F.softmax(x, -1)",
    ),
    "a reference in Python": ("softmax", "return torch._refs.softmax(x, -1)"),
    "a reference of attention's norm": ("norm", "return torch._refs.native_layer_norm(x, (4,), None, None, 1e-5)[0]"),
    "a decomposition": (
        "softmax",
        "return torch._decomp.decomposition_table[torch.ops.aten._softmax.default](x, -1, False)",
    ),
    "computed when it is read": ("softmax", "return x.as_subclass(Late)"),
    "computed when it is sent": ("softmax", "return [x, Later(x)]"),
}

PREPARED = """
import threading
from concurrent.futures import ThreadPoolExecutor

import torch
import torch.nn.functional as F
from torch import Tensor, nn

keys = torch._C.DispatchKey


class Heads(nn.MultiheadAttention):
    def attend(self, x):
        return super().forward(x, x, x, need_weights=False)[0]


class Late(Tensor):
    def detach(self):
        with torch._C.DisableTorchFunctionSubclass():
            return F.softmax(self.as_subclass(Tensor), -1)


class Later(float):
    def __new__(cls, x):
        self = float.__new__(cls, 1.0)
        self.x = x
        return self

    def __float__(self):
        without_modes(lambda: self.x.copy_(F.softmax(self.x, -1)))
        return 1.0


def plain(x: Tensor) -> Tensor:
    return torch.softmax(x, -1)


def without_modes(function):
    with torch._C.DisableTorchFunction():
        return function()


def on_a_thread(function):
    results = []
    thread = threading.Thread(target=lambda: results.append(without_modes(function)))
    thread.start()
    thread.join()
    return results[0]


"""


def called(warm: WarmClient, body: str, family: str, taken_out: dict | None = None) -> RemoteStudent:
    """Run the body of a function of `x` in a worker under a watch; gives the student, with what was noticed and `result`.

    `taken_out` is what the worker is told to take out before.
    """
    worker = warm.worker()
    try:
        if taken_out is not None:
            worker.request("take_out", taken_out)
        source = f"{PREPARED}def answer(x):\n{textwrap.indent(body, '    ')}"
        worker.request("cell", {"name": "<cell 1>", "source": source})
        student = RemoteStudent(worker, (family,))
        student.result = student.answer(X)
        return student
    finally:
        worker.close()


@pytest.mark.parametrize("way", AROUND)
def test_no_way_around_the_watch_is_open(warm: WarmClient, way: str) -> None:
    family, body = AROUND[way]
    student = called(warm, body, family)
    assert student.shortcuts_used
    assert set(student.shortcuts_used) <= ALL_NAMES


def test_all_that_a_mode_notices_kernels_notice_alone() -> None:
    """Where kernels listen no mode is on. In a process of its own, since kernels listen for good."""
    script = """
import sys
from utils import shortcuts
shortcuts.listen_below_python()
sys.path.insert(0, "tests")
import torch
from torch.nn.attention import flex_attention
from test_shortcuts import ATTENTION, OTHERS, SOFTMAX, found
cases = [(way, "softmax", call) for way, call in SOFTMAX.items()]
cases += [(way, "attention", call) for way, call in ATTENTION.items()]
cases += [(way, family, call) for way, (family, call) in OTHERS.items()]
# Under a mode this one fails in PyTorch's compiler, so that it can't be among those above.
cases.append(("flex_attention", "attention", lambda: flex_attention.flex_attention(*[torch.rand(1, 2, 16, 16)] * 3)))
print([way for way, family, call in cases if not found(call, family)], len(cases))
"""
    told = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert told.strip() == f"[] {len(SOFTMAX) + len(ATTENTION) + len(OTHERS) + 1}"


ALONE = {
    "softmax": "p = (x - x.amax(-1, keepdim=True)).exp()\nreturn p / p.sum(-1, keepdim=True)",
    "attention": "return torch.softmax(x @ x.mT / 2, -1) @ x",
    "recurrent": "h = torch.zeros(2, 4)\nfor t in range(3):\n    h = torch.tanh(nn.Linear(4, 4)(x[:, t]) + h)\nreturn h",
    "norm": "return (x - x.mean(-1, keepdim=True)) / (x.var(-1, keepdim=True, correction=0) + 1e-5).sqrt()",
    "transformer": "return nn.LayerNorm(4)(x + nn.MultiheadAttention(4, 2, batch_first=True)(x, x, x)[0])",
    "cross_entropy": "return F.nll_loss(F.log_softmax(x[0], -1), torch.tensor([0, 1, 2]))",
}


@pytest.mark.parametrize("family", ALONE)
def test_code_by_hand_raises_no_alarm_where_kernels_listen(warm: WarmClient, family: str) -> None:
    assert called(warm, ALONE[family], family).shortcuts_used == []


def test_every_family_has_its_code_by_hand() -> None:
    assert ALONE.keys() == FUNCTIONS.keys()


COMPUTED = {
    "softmax": (lambda x: F.softmax(x, -1), "return F.softmax(x, -1)"),
    "of another dtype": (
        lambda x: F.softmax(x.half(), -1, dtype=torch.float32),
        "return F.softmax(x.half(), -1, dtype=torch.float32)",
    ),
    "attention": (
        lambda x: F.scaled_dot_product_attention(x, x, x, is_causal=True),
        "return F.scaled_dot_product_attention(x, x, x, is_causal=True)",
    ),
    "a norm": (lambda x: F.layer_norm(x, (4,)), "return F.layer_norm(x, (4,))"),
    "cross-entropy": (
        lambda x: F.cross_entropy(x[0], torch.tensor([1, 2, 0]), label_smoothing=0.1),
        "return F.cross_entropy(x[0], torch.tensor([1, 2, 0]), label_smoothing=0.1)",
    ),
}


@pytest.mark.parametrize("what", COMPUTED)
def test_kernels_that_listen_compute_the_same(warm: WarmClient, what: str) -> None:
    here, there = COMPUTED[what]
    x = X.clone().requires_grad_()
    expected = here(x)
    (expected_gradient,) = torch.autograd.grad(expected.square().sum(), x)
    gradient_there = f"{PREPARED}def run(x):\n    {there}"
    worker = warm.worker()
    try:
        worker.request("cell", {"name": "<cell 1>", "source": gradient_there})
        x = X.clone().requires_grad_()
        result = RemoteStudent(worker).run(x)
        (gradient,) = torch.autograd.grad(result.square().sum(), x)
    finally:
        worker.close()
    assert torch.equal(result, expected)
    assert torch.equal(gradient, expected_gradient)
