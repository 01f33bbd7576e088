"""Plain code is told from code that may reach further, and nearly all answers are plain."""

import pytest

from autograder.answers import answers_of
from autograder.cells import cells_to_run, make_plan
from autograder.plain_code import is_plain
from autograder.sources import read_source
from autograder.submissions import parse
from notebooks import as_bytes
from utils.catalogue import Chapter, all_chapters

PLAIN = {
    "an answer": "def softmax(x, dim=-1):\n    e = (x - x.amax(dim, keepdim=True)).exp()\n    return e / e.sum(dim, keepdim=True)",
    "a class": "class A(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self._cache = None\n        self.eval()",
    "imports": "import math\nimport torch.nn.functional as F\nfrom torch.utils.data import DataLoader\nfrom utils.plots import heatmap",
    "a name of its own": "_helper = 3\nprint(_helper)",
    "text": 'x = 3\nprint("{:.2f} and {0}".format(x), f"{x.shape}")',
    "a docstring": 'def f():\n    """Call `__init__`, then getattr."""',
    "the name of a module": 'if __name__ == "__main__":\n    print(type(3).__name__)',
    "what isn't Python": "def f(:",
}
REACHING = {
    "a name put together": "getattr(f, '__glo' + 'bals__')",
    "an alias of it": "g = getattr\ng(f, name)",
    "an insider": "f.__globals__",
    "a private part of PyTorch": "torch._C.DisableTorchFunction()",
    "a private part under another name": "from torch import _C as c",
    "a module of a module": "torch.sys.modules",
    "a module of a module, imported": "from warnings import sys as s",
    "a relative import": "from . import x",
    "a further module": "import socket",
    "the watch": "from utils import shortcuts",
    "text that is run": "eval('1')",
    "text that is run by PyTorch": "from torch.utils import benchmark",
    "text that is run by PyTorch, by path": "torch.utils.benchmark.Timer('1')",
    "text that is run by PyTorch, under another name": "nn = torch\nnn.utils.benchmark.Timer('1')",
    "text that is run by NumPy": "numpy.testing.measure('1')",
    "a library's private part": (
        "import contextlib\n\nclass R(contextlib.redirect_stdout):\n    _stream = 'modules'\n\n"
        "    def taken(self):\n        return self._old_targets[-1]"
    ),
    "what the collector knows": "collector.get_objects()",
    "text with attributes": "'{0.gi_frame}'.format(g)",
    "text that comes from elsewhere": "text.format(g)",
    "a name in text": "attributes = ['__globals__']",
    "a pattern": "match f:\n    case object(__globals__=g):\n        pass",
    "an attribute that is missed": "try:\n    prune(f)\nexcept AttributeError as e:\n    g = e.obj",
    "a wrapper": "functools.update_wrapper(thief, f, assigned=names)",
    "a frame": "g.gi_frame",
    "a tensor that is patched": "torch.Tensor.exp = torch.Tensor.softmax",
    "a dunder name": "__builtins__",
    "an underscore of others": "other._parameters",
}


@pytest.mark.parametrize("source", PLAIN.values(), ids=PLAIN)
def test_plain_code_is_plain(source: str) -> None:
    assert is_plain(source)


@pytest.mark.parametrize("source", REACHING.values(), ids=REACHING)
def test_code_that_may_reach_further_is_not(source: str) -> None:
    assert not is_plain(source)


def test_nearly_all_answers_of_the_catalogue_are_plain() -> None:
    """Each that isn't costs a second look."""
    names = [exercise.name for chapter in all_chapters() for exercise in chapter.exercises]
    answers = [answer for name in names for kind in ("correct", "wrong") for answer in answers_of(name, kind)]
    others = [answer for answer in answers if not is_plain(answer.source)]
    assert len(others) < len(answers) / 100


@pytest.mark.parametrize("chapter", [chapter for chapter in all_chapters() if chapter.exercises], ids=lambda c: c.id)
def test_a_notebook_as_it_was_given_out_asks_for_no_second_look(chapter: Chapter) -> None:
    cells = cells_to_run(make_plan(parse(as_bytes(read_source(chapter))), chapter))
    assert [cell.source for cell in cells if not (cell.is_unchanged or is_plain(cell.source))] == []
