"""Run learners' functions and classes on request, and hand back plain values.

The same executor serves the checks in a notebook (in the learner's own process) and the hidden tests (inside the sandbox).
It knows nothing of tests: it calls what it is told to by name, keeps objects that can't travel, and does backward passes.
"""

import traceback
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from utils.shortcuts import LAST, ShortcutWatch, hand_out, stop_listening

MESSAGE_CHARACTERS = 4000  # of an exception's text that are kept; a learner's own exception may say anything
KEPT_GRAPHS = 64  # backward passes are asked for soon after the call; older graphs are dropped


@dataclass(frozen=True)
class Held:
    """An object that stays with the executor, known outside by its number and the name of its type."""

    id: int
    type_name: str


class LearnerError(Exception):
    """An exception that learners' code raised: its type, message and the learner's own line."""

    def __init__(self, type_name: str, message: str, bases: list[str], line: int | None, cell: str | None) -> None:
        super().__init__(f"{type_name}: {message}")
        self.type_name, self.message, self.bases, self.line, self.cell = type_name, message, bases, line, cell


def map_leaves(function: Callable[[Any], Any], tree: Any) -> Any:
    """Apply a function to everything in a tree that isn't a list, tuple or dict; named tuples become plain ones."""
    if type(tree) is Tensor:  # most are
        return function(tree)
    if isinstance(tree, dict):
        return {key: map_leaves(function, value) for key, value in tree.items()}
    if isinstance(tree, (list, tuple)):
        mapped = [function(leaf) if type(leaf) is Tensor else map_leaves(function, leaf) for leaf in tree]
        return mapped if isinstance(tree, list) else tuple(mapped)
    return function(tree)


def describe_exception(error: BaseException, namespace: dict) -> LearnerError:
    """Turn an exception into a LearnerError that points at the last line of the learner's own code."""
    line = cell = None
    for frame, number in traceback.walk_tb(error.__traceback__):
        if frame.f_globals is namespace:
            line, cell = number, frame.f_code.co_filename
    if isinstance(error, SyntaxError) and error.filename and error.lineno:
        line, cell = error.lineno, error.filename
    try:
        message = str(error)[:MESSAGE_CHARACTERS]
    except Exception:  # a learner's own exception class may fail to print itself
        message = ""
    bases = [cls.__name__ for cls in type(error).__mro__]
    described = LearnerError(type(error).__name__, message, bases, line, cell)
    described.__cause__ = error
    return described


class Executor:
    """Call functions, build objects and compute gradients in a namespace that holds learners' definitions."""

    OPERATIONS = frozenset(["call", "backward", "module", "host", "seed", "has", "attribute"])

    def __init__(self, namespace: dict, overrides: dict | None = None) -> None:
        self.namespace = namespace
        self.overrides = overrides or {}
        self.objects: dict[int, Any] = {}
        self.graphs: dict[int, tuple[list[Tensor], list[Tensor]]] = {}
        self._last_id = 0

    def request(self, operation: str, fields: dict) -> dict:
        """Carry out one operation; errors in learners' code come out as LearnerError."""
        if operation not in self.OPERATIONS:
            raise ValueError(f"unknown operation {operation!r}")
        stop_listening()
        try:
            return getattr(self, operation)(**fields)
        except (Exception, SystemExit, KeyboardInterrupt) as error:
            raise describe_exception(error, self.namespace) from error

    def has(self, name: str) -> dict:
        """Say whether the learner has defined this name."""
        return {"value": name in self.overrides or name in self.namespace}

    def seed(self, seed: int) -> dict:
        """Seed PyTorch's global generator."""
        torch.manual_seed(seed)
        return {}

    def call(
        self,
        target: str | Held,
        method: str | None,
        args: list,
        kwargs: dict,
        shortcuts: Iterable[str],
        chapter: str = LAST,
    ) -> dict:
        """Call a function, a class, or a method of a held object, on copies of the given tensors.

        The reply holds the value, the names of arguments that were changed in place, what autograd was left with on
        arguments ("requires_grad" where one asks for gradients that didn't, "grad" where one carries a gradient), the
        shortcuts that ran, and for results that can be differentiated the number of the graph to send backward passes to.
        """
        function = self._function(target, method)
        inputs: list[Tensor] = []
        originals: list[Tensor] = []

        def enter(leaf: Any) -> Any:
            if isinstance(leaf, Tensor):
                originals.append(leaf)  # out of the learner's reach: they get a copy
                leaf = leaf.detach().clone().requires_grad_() if leaf.requires_grad else leaf.clone()
                inputs.append(leaf)
                return leaf
            return self.objects[leaf.id] if isinstance(leaf, Held) else leaf

        args = map_leaves(enter, list(args))
        kwargs = map_leaves(enter, dict(kwargs))
        shortcuts = tuple(shortcuts)
        lists = [each for each in (*args, *kwargs.values()) if isinstance(each, (list, tuple, dict))]
        members = map_leaves(id, lists) if lists else lists
        with nullcontext() if torch.is_grad_enabled() else torch.enable_grad():
            if shortcuts:
                with ShortcutWatch(shortcuts, chapter) as watch:
                    result = function(*args, **kwargs)
                found = watch.found
            else:
                result, found = function(*args, **kwargs), []
        changed: list[int] = []
        asking = carrying = False
        for i, (now, was) in enumerate(zip(inputs, originals, strict=True)):
            if not _same(now, was):
                changed.append(i)
            asking = asking or (now.requires_grad and not was.requires_grad)
            carrying = carrying or (now.is_leaf and now.grad is not None)
        if lists and map_leaves(id, lists) != members:
            changed.append(len(inputs))  # a list or dict that it was given lost, gained or swapped something
        left = ["requires_grad"] * asking + ["grad"] * carrying
        return {**self._outgoing(result, inputs), "changed": changed, "left": left, "shortcuts": found}

    def backward(self, graph: int, cotangents: list) -> dict:
        """Send gradients back through an earlier call; gives the gradients of its inputs, None where there is none."""
        outputs, inputs = self.graphs[graph]
        for tensor in inputs:
            tensor.grad = None
        pairs = [(out, grad) for out, grad in zip(outputs, cotangents, strict=True) if out.requires_grad]
        torch.autograd.backward([out for out, _ in pairs], [grad for _, grad in pairs], retain_graph=True)
        return {"value": [None if tensor.grad is None else tensor.grad.detach() for tensor in inputs]}

    def attribute(self, target: Held, name: str) -> dict:
        """Read an attribute (dots allowed) of a held object."""
        value = self.objects[target.id]
        for part in name.split("."):
            value = getattr(value, part)
        return self._outgoing(value, [])

    def module(self, target: Held, action: str, state: dict | None = None, to: str | None = None) -> dict:
        """Act on a held nn.Module: load or read parameters and buffers, gradients, mode, dtype or device."""
        held: nn.Module = self.objects[target.id]
        if action == "load":
            parameters = dict(held.named_parameters())
            missing = sorted(set(state) - set(parameters))
            if missing:
                raise KeyError(f"no parameter named {', '.join(missing)}; there are: {', '.join(sorted(parameters))}")
            with torch.no_grad():
                for name, value in state.items():
                    if parameters[name].shape != value.shape:
                        raise ValueError(
                            f"parameter {name} has shape {tuple(parameters[name].shape)}, not {tuple(value.shape)}"
                        )
                    parameters[name].copy_(value)
            return {}
        if action == "parameters":
            return {"value": {name: value.detach().clone() for name, value in held.named_parameters()}}
        if action == "trainable":
            return {"value": {name: value.requires_grad for name, value in held.named_parameters()}}
        if action == "state":
            return {"value": {name: value.detach().clone() for name, value in held.state_dict().items()}}
        if action == "gradients":
            gradients = {name: value.grad for name, value in held.named_parameters() if value.grad is not None}
            return {"value": {name: grad.detach().clone() for name, grad in gradients.items()}}
        if action == "zero_grad":
            held.zero_grad()
        elif action == "train":
            held.train()
        elif action == "eval":
            held.eval()
        elif action == "training":
            return {"value": bool(held.training)}
        elif action == "to":
            held.to(getattr(torch, to) if hasattr(torch, to) else torch.device(to))
        else:
            raise ValueError(f"unknown action {action!r}")
        return {}

    def host(self, name: str, args: list, kwargs: dict) -> dict:
        """Build one of the course's public stand-in modules, for exercises that take a callable or a module."""
        from utils import hosts

        return self._outgoing(hand_out(hosts.build(name, *args, **kwargs)), [])

    def _function(self, target: str | Held, method: str | None) -> Callable:
        if isinstance(target, Held):
            held = self.objects[target.id]
            return held if method is None else getattr(held, method)
        if target in self.overrides:
            return self.overrides[target]
        if target not in self.namespace:
            raise NameError(f"name {target!r} is not defined")
        return self.namespace[target]

    def _new_id(self) -> int:
        self._last_id += 1
        return self._last_id

    def _outgoing(self, result: Any, inputs: list[Tensor]) -> dict:
        outputs: list[Tensor] = []

        def leave(leaf: Any) -> Any:
            if isinstance(leaf, Tensor):
                outputs.append(leaf)
                return leaf.detach()
            if leaf is None or isinstance(leaf, (bool, int, float, str, torch.dtype, torch.device)):
                return leaf
            number = self._new_id()
            self.objects[number] = leaf
            return Held(number, type(leaf).__name__)

        value = map_leaves(leave, result)
        differentiable = [bool(out.requires_grad) for out in outputs]
        graph = None
        if any(differentiable):
            graph = self._new_id()
            self.graphs[graph] = (outputs, [tensor for tensor in inputs if tensor.requires_grad])
            if len(self.graphs) > KEPT_GRAPHS:
                del self.graphs[next(iter(self.graphs))]
        return {"value": value, "graph": graph, "differentiable": differentiable}


def _same(now: Tensor, was: Tensor) -> bool:
    if now.dtype != was.dtype or now.shape != was.shape or now.device != was.device:
        return False
    if now.is_meta or torch.equal(now, was):  # on meta there are no numbers to compare
        return True
    now, was = now.detach(), was.detach()
    return bool(((now == was) | (now.isnan() & was.isnan())).all())
