"""Read learners' code for signs that it reaches for what grades it. A second line: what runs is watched first.

Inside of its own process nothing can keep code from changing what watches for shortcuts. Whoever tries has to name what they
change, or to hide the name; both can be seen in the source. Who names the watch itself gets no points where it watches, since no
answer has any business there; all other signs are for a person to look at.
"""

import ast
from collections.abc import Iterable, Iterator
from functools import lru_cache

from utils.definitions import parsed

# Modules whose business no answer has: what grades, and what reaches around Python's own rules.
MODULES = ("autograder", "utils.shortcuts", "utils.shortcut_kernels", "utils.execution", "utils.quiet", "utils.student",
           "utils.report", "ctypes", "gc", "inspect", "importlib", "builtins", "faulthandler", "torch.library", "torch.jit",
           "torch.utils.cpp_extension")  # fmt: skip
# Names and attributes that switch PyTorch's modes off, skip its dispatcher, or walk to other code's variables.
NAMES = frozenset(
    ["DisableTorchFunction", "DisableTorchFunctionSubclass", "_DisableTorchDispatch", "_DisableFuncTorch", "_op_dk", "redispatch",
     "_ExcludeDispatchKeyGuard", "_IncludeDispatchKeyGuard", "_dispatch_library", "ShortcutWatch", "shortcuts_allowed",
     "_allowed_after", "_handed_out", "_getframe", "_current_frames", "currentframe", "f_back", "f_globals", "f_locals",
     "f_builtins", "tb_frame", "gi_frame", "__globals__", "__closure__", "__code__", "__builtins__", "__subclasses__",
     "__loader__", "settrace", "setprofile"]
)  # fmt: skip
BUILT_IN = frozenset(["eval", "exec", "compile", "__import__"])  # as a name alone: `model.eval()` is another matter
PATCHED = frozenset(["torch", "nn", "F", "Tensor", "sys", "os", "utils"])  # whose attributes no answer sets
TELLING = (ast.Import, ast.ImportFrom, ast.Name, ast.Attribute, ast.Call, ast.Constant)  # what `_signs` looks at
# What watches, and the modules that hold it.
THE_WATCH = ("utils.shortcuts", "utils.shortcut_kernels", "ShortcutWatch", "_allowed_after", "_handed_out",
             "utils.execution", "utils.student", "utils.report")  # fmt: skip


def signs_of_tampering(sources: Iterable[tuple[str, str]]) -> list[str]:
    """Give what is worth a look in (cell, source) pairs: "cell 3, line 7: names utils.shortcuts"."""
    found: list[str] = []
    for cell, source in sources:
        found += [f"{cell.strip('<>')}, line {line}: {what}" for line, what in _signs_in(source)]
    return list(dict.fromkeys(found))


@lru_cache(maxsize=1024)  # most cells of a class are the course's own
def _signs_in(source: str) -> tuple[tuple[int, str], ...]:
    tree = parsed(source)
    nodes = [node for node in ast.walk(tree) if isinstance(node, TELLING)] if tree else []
    return tuple((node.lineno, what) for node in nodes for what in _signs(node))


def touching_the_watch(signs: list[str]) -> list[str]:
    """Give those signs that name what watches for shortcuts, or a module that holds it."""
    return [sign for sign in signs if any(_lies_in(sign.rsplit(" ", 1)[-1], name) for name in THE_WATCH)]


def _signs(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (f"imports {alias.name}" for alias in node.names if _is_watched(alias.name))
    elif isinstance(node, ast.ImportFrom) and node.module:
        names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        yield from (f"imports {name}" for name in names if _is_watched(name))
        yield from (f"names {alias.name}" for alias in node.names if alias.name in NAMES)
    elif isinstance(node, ast.Name) and node.id in NAMES | BUILT_IN:
        yield f"names {node.id}"
    elif isinstance(node, ast.Attribute):
        if node.attr in NAMES:
            yield f"names {node.attr}"
        if _path(node) in (*MODULES, "sys.modules"):
            yield f"names {_path(node)}"
        if isinstance(node.ctx, (ast.Store, ast.Del)) and _path(node).split(".")[0] in PATCHED:
            yield f"changes {_path(node)}"
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        yield from _by_computed_name(node)
    elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in NAMES | set(MODULES):
        yield f"names {node.value}"


def _by_computed_name(node: ast.Call) -> Iterator[str]:
    """A name that is put together while the code runs says nothing before."""
    if node.func.id in ("getattr", "setattr", "delattr") and len(node.args) > 1:
        if not isinstance(node.args[1], ast.Constant) and _path(node.args[0]).split(".")[0] in PATCHED:
            yield f"calls {node.func.id} with a computed name"
        elif node.func.id != "getattr" and _path(node.args[0]).split(".")[0] in PATCHED:
            yield f"changes {_path(node.args[0])}"


def _is_watched(module: str) -> bool:
    return any(_lies_in(module, watched) for watched in MODULES)


def _lies_in(name: str, module: str) -> bool:
    return name == module or name.startswith(f"{module}.")


def _path(node: ast.AST) -> str:
    """Give the dotted name that an expression spells out; empty where it is another expression, or a long one."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute) and len(parts) < 8:
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else ""
