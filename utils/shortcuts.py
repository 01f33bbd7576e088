"""Notice, while learners' code runs, PyTorch functions that an exercise asks them to build by hand.

What runs is watched, not the text: an alias is found, and a shortcut in a comment or in a comparison that is never called
is not. In a notebook a mode and a hook watch; where notebooks are graded, PyTorch's own kernels listen as well
(`utils.shortcut_kernels`), so that neither a script nor a thread gets past.
"""

import sys
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from functools import cache
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.modules.module import register_module_forward_pre_hook
from torch.overrides import TorchFunctionMode

from utils import shortcut_kernels

# Family → names of the functions in it, as PyTorch dispatches them (without module and overload).
FUNCTIONS: dict[str, frozenset[str]] = {
    "softmax": frozenset(
        [
            "softmax",
            "_softmax",
            "special_softmax",
            "log_softmax",
            "_log_softmax",
            "special_log_softmax",
            "_safe_softmax",
            "softmin",
            "gumbel_softmax",
            "_sparse_softmax",
            "_sparse_log_softmax",
            "masked_softmax",
            "_masked_softmax",
            "cross_entropy",
            "cross_entropy_loss",
            "adaptive_log_softmax_with_loss",
        ]
    ),
    "attention": frozenset(
        [
            "scaled_dot_product_attention",
            "multi_head_attention_forward",
            "_native_multi_head_attention",
            "_triton_multi_head_attention",
            "_scaled_dot_product_attention_math",
            "_scaled_dot_product_flash_attention",
            "_scaled_dot_product_flash_attention_for_cpu",
            "_scaled_dot_product_efficient_attention",
            "_scaled_dot_product_fused_attention_overrideable",
            "_transformer_encoder_layer_fwd",
            "flex_attention",
        ]
    ),
    "recurrent": frozenset(
        [
            "rnn_tanh",
            "rnn_relu",
            "lstm",
            "gru",
            "rnn_tanh_cell",
            "rnn_relu_cell",
            "lstm_cell",
            "gru_cell",
            "_thnn_fused_lstm_cell",
            "_thnn_fused_gru_cell",
            "quantized_lstm",
            "mkldnn_rnn_layer",
        ]
    ),
    "norm": frozenset(
        [
            "layer_norm",
            "native_layer_norm",
            "batch_norm",
            "group_norm",
            "instance_norm",
            "rms_norm",
            "_fused_rms_norm",
            "native_batch_norm",
            "native_group_norm",
            "local_response_norm",
        ]
    ),
    "transformer": frozenset(["_transformer_encoder_layer_fwd"]),
    "cross_entropy": frozenset(["cross_entropy", "cross_entropy_loss"]),
}

# Family → module classes whose forward pass counts as well (also through a subclass).
MODULES: dict[str, tuple[type[nn.Module], ...]] = {
    "softmax": (nn.Softmax, nn.LogSoftmax, nn.Softmin, nn.Softmax2d),
    "attention": (nn.MultiheadAttention,),
    "recurrent": (nn.RNNBase, nn.RNNCellBase),
    "norm": (nn.LayerNorm, nn.RMSNorm, nn.GroupNorm, nn.modules.batchnorm._NormBase),
    "transformer": (
        nn.Transformer,
        nn.TransformerEncoder,
        nn.TransformerDecoder,
        nn.TransformerEncoderLayer,
        nn.TransformerDecoderLayer,
    ),
    "cross_entropy": (nn.CrossEntropyLoss,),
}

# Every name that a watch can report.
ALL_NAMES = frozenset().union(*FUNCTIONS.values(), (f"nn.{cls.__name__}" for kind in MODULES.values() for cls in kind))

LAST = "99"  # sorts after every chapter
ALWAYS = ""  # sorts before every chapter
_allowed_after: ContextVar[str | None] = ContextVar("shortcuts_allowed_after", default=None)
_READY_MADE = ("utils.standins", "utils.hosts")  # the modules whose pieces may use what learners have to build
_handed_out: weakref.WeakSet[nn.Module] = weakref.WeakSet()  # hosts that a check or a hidden test has asked for


def shortcuts_allowed(after: str = ALWAYS) -> Any:
    """Let the course's own ready-made pieces use what learners have to build, in chapters after the piece's own.

    A piece called by another one has the outer one's freedom. Anyone else who asks is allowed nothing.
    """
    asking = sys._getframe(1).f_globals.get("__name__")
    return _allowed(after) if asking in _READY_MADE else nullcontext()


def allowed_for_host(host: nn.Module) -> Any:
    """Let a host use shortcuts, if it was built for a test: one that learners build for themselves is a shortcut too."""
    return _allowed(ALWAYS) if host in _handed_out else nullcontext()


def hand_out(host: Any) -> Any:
    """Note that a test has asked for this host, and give it back."""
    if isinstance(host, nn.Module):
        _handed_out.add(host)
    return host


@contextmanager
def _allowed(after: str) -> Any:
    outer = _allowed_after.get()
    token = _allowed_after.set(after if outer is None else outer)
    try:
        yield
    finally:
        _allowed_after.reset(token)


@cache
def _watched(families: tuple[str, ...]) -> tuple[tuple[type[nn.Module], ...], frozenset[str]]:
    """Give the module classes, and the names of functions and classes, that stand for these families."""
    classes = tuple(cls for family in families for cls in MODULES[family])
    names = [FUNCTIONS[family] for family in families]
    return classes, frozenset().union(*names, (f"nn.{cls.__name__}" for cls in classes))


class ShortcutWatch(TorchFunctionMode):
    """Record in `found` every function and module of the given families that runs inside the `with` block.

    Ready-made pieces of chapters before `chapter` may use them: a chapter builds on earlier ones, not on itself.

    Kernels that listen go on telling after the block, until `stop_listening`: what is returned may compute when it is read.
    """

    def __init__(self, families: Iterable[str], chapter: str = LAST) -> None:
        super().__init__()
        self.chapter = chapter
        self.classes, self.names = _watched(tuple(families))
        self.found: list[str] = []
        self._hook = None

    def _note(self, name: str) -> None:
        after = _allowed_after.get()
        if (after is None or after >= self.chapter) and name not in self.found:
            self.found.append(name)

    def __torch_function__(self, func: Callable, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        name = getattr(func, "__name__", "")
        if "." in name:  # an overload
            name = name.split(".")[0]
        if name in self.names:
            self._note(name)
        return func(*args, **kwargs) if kwargs else func(*args)

    def _before_forward(self, module: nn.Module, _inputs: Any) -> None:
        if isinstance(module, self.classes):
            built_in = next(cls for cls in self.classes if isinstance(module, cls))
            self._note(f"nn.{built_in.__name__}")

    def hear(self, name: str) -> None:
        """Take in what a kernel tells: it counts where nothing has been noticed by a better-known name."""
        if name in self.names and not self.found:
            known = name.lstrip("_")
            self._note(known if known in self.names else name)

    def __enter__(self) -> "ShortcutWatch":
        global _listening
        _listening = self
        if self.classes and not _kernels_tell:
            self._hook = register_module_forward_pre_hook(self._before_forward)
        return self if _kernels_tell else super().__enter__()  # a mode costs a call for every operation

    def __exit__(self, *exc_info: Any) -> None:
        if self._hook is not None:
            self._hook.remove()
        if not _kernels_tell:
            super().__exit__(*exc_info)


_listening: ShortcutWatch | None = None
_kernels_tell = False


def _hear(name: str) -> None:
    if _listening is not None:
        _listening.hear(name)


def _before_any_forward(module: nn.Module, inputs: Any) -> None:
    if _listening is not None:
        _listening._before_forward(module, inputs)


def listen_below_python() -> int:
    """Let PyTorch's kernels tell the watch of the moment what runs, in this process for good; gives their number."""
    global _kernels_tell
    _kernels_tell = True
    # Once: for each watch it would take as long as a small softmax. It gives the better-known name; kernels hear the call without it.
    register_module_forward_pre_hook(_before_any_forward)
    every_name = frozenset().union(*FUNCTIONS.values())
    for holder, name, told in _without_kernel(frozenset(MODULES), every_name):
        _put(holder, name, _told(_get(holder, name), told))
    return shortcut_kernels.listen(every_name, _hear)


def take_out(families: Iterable[str]) -> int:
    """Let these families fail in this process, for good; gives the number of operators.

    What doesn't need them works as before. What needs them, and hides that from a watch, doesn't.
    """
    names = frozenset().union(*(FUNCTIONS[family] for family in families))
    for holder, name, _told_as in _without_kernel(frozenset(families), names):
        _put(holder, name, sys.intern)  # takes no tensor, and shows no Python code that could be changed
    return shortcut_kernels.take_out(names)


def _without_kernel(families: frozenset[str], names: frozenset[str]) -> Iterator[tuple[Any, Any, str]]:
    """Give where shortcuts stand that are written in Python: what holds them, under which name or key, what to call them."""
    import torch._decomp as decompositions
    import torch._refs as references
    from torch.nn.attention import flex_attention  # imports half of PyTorch's compiler, which learners needn't wait for

    for family in families & {"attention", "transformer"}:
        for cls in MODULES[family]:
            yield cls, "forward", f"nn.{cls.__name__}"
    for module, name in (
        (F, "multi_head_attention_forward"),
        (F, "local_response_norm"),
        (flex_attention, "flex_attention"),
    ):
        if name in names:
            yield module, name, name
    for module in (references, references.special, references.nn.functional, decompositions.decompositions):
        yield from ((module, name, name) for name in sorted(names) if hasattr(module, name))
    for table in decompositions.global_decomposition_table.values():
        for operator in [operator for operator in table if _packet_name(operator) in names]:
            yield table, operator, _packet_name(operator)


def _packet_name(operator: Any) -> str:
    return getattr(operator, "__name__", "").split(".")[0]


def _get(holder: Any, name: Any) -> Callable:
    return holder[name] if isinstance(holder, dict) else getattr(holder, name)


def _put(holder: Any, name: Any, function: Callable) -> None:
    if isinstance(holder, dict):
        holder[name] = function
    else:
        setattr(holder, name, function)


def _told(function: Callable, name: str) -> Callable:
    def call(*args: Any, **kwargs: Any) -> Any:
        _hear(name)
        return function(*args, **kwargs)

    return call


def stop_listening() -> None:
    """End what is left of the last watch: another request begins."""
    global _listening
    _listening = None


def family_in_words(family: str) -> str:
    """Say which built-in pieces a family stands for."""
    return {
        "softmax": "PyTorch's softmax and log-softmax",
        "attention": "PyTorch's attention (F.scaled_dot_product_attention, nn.MultiheadAttention)",
        "recurrent": "PyTorch's recurrent layers and cells",
        "norm": "PyTorch's norm layers",
        "transformer": "PyTorch's Transformer layers",
        "cross_entropy": "PyTorch's cross-entropy",
    }[family]


assert torch.softmax.__name__ in FUNCTIONS["softmax"]  # names are matched, so a renaming in PyTorch has to be noticed
