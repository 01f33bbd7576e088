"""A student: an object with a learner's functions and classes on it, wherever their code runs.

Checks and hidden tests are plain functions of a student. Gradients work as with any PyTorch function: tensors that a
student returns can be sent backwards, and the pass runs where the learner's code is.
"""

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor

from utils.execution import Executor, Held, map_leaves
from utils.shortcuts import LAST

Transport = Callable[[str, dict], dict]


class _Bridge(torch.autograd.Function):
    """Join the learner's graph to ours: forward hands the outputs on, backward asks the executor."""

    @staticmethod
    def forward(ctx: Any, transport: Transport, reply: dict, _anchor: Tensor, outputs: list, *inputs: Tensor) -> tuple:
        ctx.transport, ctx.graph = transport, reply["graph"]
        fresh = tuple(out.view_as(out) for out in outputs)
        pairs = zip(fresh, reply["differentiable"], strict=True)
        ctx.mark_non_differentiable(*(out for out, differentiable in pairs if not differentiable))
        return fresh

    @staticmethod
    def backward(ctx: Any, *cotangents: Tensor) -> tuple:
        reply = ctx.transport("backward", {"graph": ctx.graph, "cotangents": list(cotangents)})
        return None, None, None, None, *reply["value"]


class Student:
    """A learner's functions and classes, called by name: `student.softmax(x)`."""

    def __init__(self, transport: Transport, shortcuts: Iterable[str] = (), chapter: str = LAST) -> None:
        self._transport = transport
        self._shortcuts = tuple(shortcuts)  # families that the exercise replaces
        self._chapter = chapter  # whose exercise it is: ready-made pieces of earlier chapters are fine
        self.changed: list[int] = []  # which tensors of the last call its code changed in place
        self.left: list[str] = []  # what the last call left on its tensors: "requires_grad", "grad"
        self.shortcuts_used: list[str] = []  # forbidden built-ins that ran in any call

    def __getattr__(self, name: str) -> Callable:
        if name.startswith("_"):
            raise AttributeError(name)
        return lambda *args, **kwargs: self._call(name, None, args, kwargs)

    def has(self, name: str) -> bool:
        """Say whether the learner has defined this name."""
        return bool(self._transport("has", {"name": name})["value"])

    def seed(self, seed: int) -> None:
        """Seed PyTorch's generator where the learner's code runs."""
        self._transport("seed", {"seed": seed})

    def host(self, name: str, *args: Any, **kwargs: Any) -> "HeldObject":
        """Build one of the public modules of `utils.hosts` beside the learner's code."""
        reply = self._transport("host", {"name": name, "args": list(args), "kwargs": kwargs})
        return self._incoming(reply, [])

    def _call(self, target: str | Held, method: str | None, args: tuple, kwargs: dict) -> Any:
        inputs: list[Tensor] = []

        def note(leaf: Any) -> Any:
            if isinstance(leaf, Tensor) and leaf.requires_grad:
                inputs.append(leaf)
            return leaf._held if isinstance(leaf, HeldObject) else leaf

        fields = {
            "target": target,
            "method": method,
            "args": map_leaves(note, list(args)),
            "kwargs": map_leaves(note, dict(kwargs)),
            "shortcuts": list(self._shortcuts),  # a tuple would take longer to send
            "chapter": self._chapter,
        }
        reply = self._transport("call", fields)
        self.changed = list(reply["changed"])
        self.left = list(reply["left"])
        self.shortcuts_used += [name for name in reply["shortcuts"] if name not in self.shortcuts_used]
        return self._incoming(reply, inputs)

    def _incoming(self, reply: dict, inputs: list[Tensor]) -> Any:
        value = reply["value"]
        if reply.get("graph") is not None:
            outputs: list[Tensor] = []
            map_leaves(lambda leaf: outputs.append(leaf) if isinstance(leaf, Tensor) else None, value)
            anchor = torch.zeros((), requires_grad=True)  # a graph may hang on a module's parameters alone
            with torch.enable_grad():
                joined = iter(_Bridge.apply(self._transport, reply, anchor, outputs, *inputs))
            value = map_leaves(lambda leaf: next(joined) if isinstance(leaf, Tensor) else leaf, value)
        return map_leaves(lambda leaf: HeldObject(self, leaf) if isinstance(leaf, Held) else leaf, value)


class HeldObject:
    """An object that lives beside the learner's code: call it, read its attributes, treat it as a module."""

    def __init__(self, student: Student, held: Held) -> None:
        self._student, self._held = student, held

    @property
    def type_name(self) -> str:
        """The name of the object's class, where the learner's code runs."""
        return self._held.type_name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._student._call(self._held, None, args, kwargs)

    def method(self, name: str, *args: Any, **kwargs: Any) -> Any:
        """Call a method of the object."""
        return self._student._call(self._held, name, args, kwargs)

    def attribute(self, name: str) -> Any:
        """Read an attribute; dots reach into sub-modules."""
        reply = self._student._transport("attribute", {"target": self._held, "name": name})
        return self._student._incoming(reply, [])

    def _module(self, action: str, **fields: Any) -> Any:
        return self._student._transport("module", {"target": self._held, "action": action, **fields}).get("value")

    def load(self, state: dict[str, Tensor]) -> "HeldObject":
        """Copy values into parameters by name; an unknown name or a wrong shape is the learner's error."""
        self._module("load", state=dict(state))
        return self

    def parameters(self) -> dict[str, Tensor]:
        """Read all parameters by name."""
        return self._module("parameters")

    def trainable(self) -> dict[str, bool]:
        """Say of each parameter whether it asks for gradients."""
        return self._module("trainable")

    def state(self) -> dict[str, Tensor]:
        """Read the state dict: parameters and persistent buffers."""
        return self._module("state")

    def gradients(self) -> dict[str, Tensor]:
        """Read the gradients that backward passes have left on parameters."""
        return self._module("gradients")

    def zero_grad(self) -> None:
        """Clear the gradients of all parameters."""
        self._module("zero_grad")

    def train(self) -> "HeldObject":
        """Switch to train mode."""
        self._module("train")
        return self

    def eval(self) -> "HeldObject":
        """Switch to eval mode."""
        self._module("eval")
        return self

    @property
    def training(self) -> bool:
        """Whether the module is in train mode."""
        return self._module("training")

    def to(self, dtype_or_device: str) -> "HeldObject":
        """Move to a dtype ("float64") or a device ("meta")."""
        self._module("to", to=dtype_or_device)
        return self


class LocalStudent(Student):
    """A student in this very process: the functions of a running notebook."""

    def __init__(
        self,
        namespace: dict,
        overrides: dict | None = None,
        shortcuts: Iterable[str] = (),
        chapter: str = LAST,
    ) -> None:
        self.executor = Executor(namespace, overrides)
        super().__init__(self.executor.request, shortcuts, chapter)
