"""Listen below Python: replace the kernels of functions that exercises ask learners to build by hand with listening ones.

A mode sees what Python code calls on its own thread, while nobody has switched it off. A kernel sees every call that reaches
the operator, whichever way it came: from a script of `torch.jit`, from another thread, with modes disabled, by number of
dispatch key. Each listening kernel tells the name and goes on to the original, so results and gradients are PyTorch's own.
"""

import ctypes
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch

COMPOSITE = "CompositeImplicitAutograd"  # an operator that is made of other ones: its gradient comes from theirs
# Where an operator may have a kernel of its own.
_KEYS = (COMPOSITE, "CompositeExplicitAutograd", "BackendSelect", "AutogradCPU", "CPU", "MkldnnCPU", "QuantizedCPU", "SparseCPU",
         "NestedTensorCPU")  # fmt: skip
_kept: list[torch.library.Library] = []  # kernels last as long as their library


def listen(names: Iterable[str], hear: Callable[[str], None]) -> int:
    """Call `hear(name)` from now on whenever an operator of one of these names runs; gives the number of operators."""
    if _kept:
        return 0
    library = torch.library.Library("aten", "IMPL")
    _kept.append(library)
    count = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch warns of kernels that are replaced: that is what happens here
        for name, operator in _operators(names):
            _replace(library, operator, name, hear)
            count += 1
    return count


def take_out(names: Iterable[str]) -> int:
    """Let all operators of these names fail from now on, in this process for good; gives their number.

    What fails in their place is one of Python's own functions, and the library that put it there is known to nobody: nothing
    of it can be reached, changed or taken back from Python.
    """
    library = torch._C._dispatch_library("IMPL", "aten", "", __file__, 0)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(library))  # it lasts although no name is left for it
    count = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _name, operator in _operators(names):
            for key in _KEYS:
                if _has(operator, key):
                    library.impl(operator.name().removeprefix("aten::"), key, sys.intern, False)
            count += 1
    return count


def _operators(names: Iterable[str]) -> Iterator[tuple[str, Any]]:
    for name in sorted(names):
        packet = getattr(torch.ops.aten, name, None)
        for overload in packet.overloads() if packet is not None else ():
            yield name, getattr(packet, overload)


def _replace(library: torch.library.Library, operator: Any, name: str, hear: Callable[[str], None]) -> None:
    keys = torch._C.DispatchKey
    if _has(operator, COMPOSITE):

        def composite(*args: Any, **kwargs: Any) -> Any:
            hear(name)
            return operator._op_dk(keys.CompositeImplicitAutograd, *args, **kwargs)

        for key in ("AutogradCPU", "CPU"):
            if not _has(operator, key):
                library.impl(operator, composite, key)
        return
    below = torch._C._dispatch_keyset_full_after(keys.BackendSelect)

    def on_the_way(keyset: Any, *args: Any, **kwargs: Any) -> Any:
        hear(name)
        return operator.redispatch(keyset & below, *args, **kwargs)

    if not _has(operator, "BackendSelect"):
        library.impl(operator, on_the_way, "BackendSelect", with_keyset=True)  # every device passes here
    if _has(operator, "CPU") and hasattr(torch.library, "get_kernel"):
        _replace_last(library, operator, name, hear)


def _replace_last(library: torch.library.Library, operator: Any, name: str, hear: Callable[[str], None]) -> None:
    """Replace the kernel that computes, for calls that leave out every step before it."""
    original = torch.library.get_kernel(operator, "CPU")

    def last(keyset: Any, *args: Any, **kwargs: Any) -> Any:
        hear(name)
        return original.call_boxed(keyset, *args, **kwargs)

    library.impl(operator, last, "CPU", with_keyset=True)


def _has(operator: Any, key: str) -> bool:
    return torch._C._dispatch_has_kernel_for_dispatch_key(operator.name(), key)
