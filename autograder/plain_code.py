"""Tell plain code from code that may reach what isn't its own: Python's insides, or attributes whose names are put together.

Answers are plain, nearly all of them. What isn't may still be honest, so this is no verdict: it is looked at a second time,
without the functions that an exercise forbids (`Grader`). Whatever gets at other code's variables, at other modules' modules or
at objects by their names has to use one of the words below, or one that begins with an underscore.
"""

import ast
import re
from functools import lru_cache

from autograder.tampering import THE_WATCH, signs_of_tampering
from utils.definitions import parsed

# Few modules: a class made from one of a library's classes reads what that one keeps to itself (`contextlib` keeps `sys.modules`).
IMPORTS = frozenset(
    ["__future__", "abc", "bisect", "cmath", "collections", "copy", "dataclasses", "enum", "fractions", "functools", "heapq",
     "itertools", "json", "math", "numbers", "numpy", "random", "re", "safetensors", "statistics", "time", "torch", "typing",
     "utils", "warnings"]
)  # fmt: skip
IMPORTED_WHOLE = frozenset(["IPython.display.Markdown", "IPython.display.display", "matplotlib.pyplot"])
WORDS = frozenset(
    # built-in functions that find things by name, or run text
    ["breakpoint", "compile", "delattr", "dir", "exec", "getattr", "globals", "help", "locals", "open", "setattr", "vars",
     # modules that many modules have imported: `torch.sys` is one of them
     "builtins", "ctypes", "ctypeslib", "distributed", "fx", "gc", "hub", "importlib", "inspect", "jit", "library", "mock",
     "multiprocessing", "operator", "os", "overrides", "package", "pickle", "serialization", "sys", "traceback", "types",
     # what runs text, in NumPy, Matplotlib and `torch.utils`
     "benchmark", "bundled_inputs", "cbook", "collect_env", "cpp_extension", "f2py", "measure", "model_dump", "runstring", "show_pickle",
     "testing", "throughput_benchmark",
     # the collector's own
     "get_objects", "get_referents", "get_referrers", "unfreeze",
     # what takes names of attributes, or gives frames, classes, and what was stored or missed
     "Formatter", "ag_frame", "attrgetter", "cr_frame", "exc_info", "format_map", "get_buffer", "get_parameter", "get_submodule",
     "get_type_hints", "gi_frame", "load", "load_library", "loads", "make_dataclass", "methodcaller", "mro", "obj", "tb_frame",
     "tb_next", "update_wrapper", "vformat", "with_traceback", "wraps"]
)  # fmt: skip
UNDERSCORED = frozenset(
    ["__call__", "__class__", "__doc__", "__file__", "__init__", "__len__", "__main__", "__name__", "__version__", "_"]
)
OF_TORCH_UTILS = frozenset(["torch.utils.checkpoint", "torch.utils.data"])  # others run text, and build extensions
FIELD_WITH_PARTS = re.compile(r"\{[^}:!]*[.\[]")


def is_plain(source: str) -> bool:
    """Say whether a cell uses nothing but what it names openly; a cell that isn't Python runs nothing."""
    return not signs_of_tampering([("", source)]) and _is_plain(source)


@lru_cache(maxsize=1024)
def _is_plain(source: str) -> bool:
    tree = parsed(source)
    if tree is None:
        return True
    statements = [node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)]
    told = {id(value) for value in statements if isinstance(value, ast.Constant)}  # docstrings, and the like
    return all(id(node) in told or _node_is_plain(node) for node in ast.walk(tree))


def _node_is_plain(node: ast.AST) -> bool:
    match node:
        case ast.Import(names=names):
            return all(_module_is_plain(alias.name) for alias in names)
        case ast.ImportFrom(module=module, names=names, level=0) if module:
            return all(_module_is_plain(f"{module}.{alias.name}") for alias in names)
        case ast.ImportFrom():
            return False
        case ast.Name(id=name):
            private = name.startswith("_") and not name.startswith("__")
            return name != "eval" and (_is_plain_word(name) or (private and name not in WORDS))
        case ast.Attribute(value=ast.Name(id="self"), attr=name) if not name.startswith("__"):
            return name not in WORDS
        case ast.Attribute(value=value, attr="format"):
            return isinstance(value, ast.Constant) and not FIELD_WITH_PARTS.search(str(value.value))
        case ast.Attribute(value=ast.Name(id="torch"), attr="utils"):
            return False
        case ast.Attribute(attr=name):
            return _is_plain_word(name)
        case ast.MatchClass(kwd_attrs=names):
            return all(map(_is_plain_word, names))
        case ast.Constant(value=str() as text):
            return "__" not in text or text in UNDERSCORED
    return True


def _module_is_plain(name: str) -> bool:
    if name in IMPORTED_WHOLE:
        return True
    first, *others = name.split(".")
    if name.startswith("torch.utils") and not any(name.startswith(known) for known in OF_TORCH_UTILS):
        return False
    return first in IMPORTS and name not in THE_WATCH and all(map(_is_plain_word, others))


def _is_plain_word(name: str) -> bool:
    return name in UNDERSCORED or (not name.startswith("_") and name not in WORDS)
