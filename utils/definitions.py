"""Read learners' cells without running them: what they define, what is still a stub, what is quick to run."""

import ast
import re
from functools import lru_cache

BLOCKS = ("body", "handlers", "orelse", "finalbody")

MAGIC = re.compile(r"^[ \t]*[%!?]|=[ \t]*[%!]|\?[ \t]*$", re.MULTILINE)


def cost_of_magics(source: str) -> int:
    """Estimate what `plain_python` has to do, in characters: IPython reads a cell again for every magic in it."""
    return 0 if parsed(source) is not None else len(source) * sum(1 for _ in MAGIC.finditer(source))


@lru_cache(maxsize=1024)
def plain_python(source: str) -> str:
    """Turn IPython's magics and shell commands into calls that do nothing in a worker."""
    if parsed(source) is not None:
        return source
    measured = re.match(r"(?:\s*%%(?:time|timeit|capture|prun)\b.*)+", source)
    if measured:  # the cell under it is the learner's own; every line keeps its number
        source = "\n" * measured[0].count("\n") + source[measured.end() :]
        if parsed(source) is not None:
            return source
    if not MAGIC.search(source):
        return source
    from IPython.core.inputtransformer2 import TransformerManager

    blank_lines = re.match(r"(?:[ \t]*\n)*", source)[0].count("\n")  # IPython drops them
    try:
        return "\n" * blank_lines + TransformerManager().transform_cell(source)
    except Exception:  # half a magic: Python's own message about the line will do
        return source


@lru_cache(maxsize=1024)
def parsed(source: str) -> ast.Module | None:
    """Parse a cell; None where it isn't Python."""
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


@lru_cache(maxsize=1024)
def defined_names(tree: ast.Module) -> dict[str, ast.stmt]:
    """Give what a cell defines outside of functions: functions, classes, imported and assigned names."""
    names: dict[str, ast.stmt] = {}
    waiting = tree.body[::-1]
    while waiting:
        node = waiting.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names[node.name] = node
        elif isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            parts = [part for target in targets for part in ast.walk(target)]
            names |= {part.id: node for part in parts if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            names |= {(alias.asname or alias.name): node for alias in node.names}
        else:  # under `if`, `try`, `with` and the like
            inside = [part for block in BLOCKS for part in getattr(node, block, ())]
            waiting += [part for part in inside if isinstance(part, (ast.stmt, ast.excepthandler))][::-1]
    return names


def is_stub(node: ast.stmt) -> bool:
    """Say whether a definition is still what the notebook came with: it only raises NotImplementedError."""
    if isinstance(node, ast.ClassDef):
        methods = [n for n in node.body if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))]
        return bool(methods) and all(is_stub(method) for method in methods)
    if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return False
    body = [n for n in node.body if not (isinstance(n, ast.Expr) and isinstance(n.value, ast.Constant))]
    if not body:
        return True
    first = body[0]
    if not isinstance(first, ast.Raise) or first.exc is None:
        return len(body) == 1 and isinstance(first, ast.Pass)
    raised = first.exc.func if isinstance(first.exc, ast.Call) else first.exc
    return isinstance(raised, ast.Name) and raised.id == "NotImplementedError"


def _simple(node: ast.expr) -> bool:
    """Say whether an expression only names and groups things: nothing is called, so nothing takes long."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "mine":
        return True  # a piece of an earlier chapter, under the name that this one uses
    harmless = (ast.Constant, ast.Name, ast.Tuple, ast.List, ast.Dict, ast.Set, ast.UnaryOp, ast.BinOp, ast.operator,
                ast.unaryop, ast.Load, ast.Attribute, ast.Subscript, ast.Slice)  # fmt: skip
    return all(isinstance(part, harmless) for part in ast.walk(node))


@lru_cache(maxsize=1024)
def definitions_only(source: str) -> str:
    """Keep of one of the course's cells the imports, definitions and simple assignments, each on its own line."""
    tree = parsed(source)
    if tree is None:
        return ""
    kept = []
    lines = lines_of(source)
    for node in tree.body:
        is_definition = isinstance(
            node, (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
        )
        assigns = isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None and _simple(node.value)
        if is_definition or assigns:
            kept.append("\n".join(lines[place_of(node)]))
    return "\n".join(kept)


def lines_of(source: str) -> list[str]:
    """Split into lines as Python counts them (`splitlines` knows more separators)."""
    return re.split(r"\r\n|\r|\n", source)


def place_of(node: ast.stmt) -> slice:
    """Give which lines a statement takes, its decorators among them."""
    first = min([node.lineno, *(decorator.lineno for decorator in getattr(node, "decorator_list", []))])
    return slice(first - 1, node.end_lineno)
