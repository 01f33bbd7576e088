"""Which cells of a submission run, and where its exercises are found."""

import pytest

import notebooks
from autograder.cells import Plan, cells_to_run, make_plan
from autograder.submissions import Handed, HandedCell, parse
from notebooks import CHAPTER, NAMES, add_cell, as_bytes, exercise_cell, right, stub
from utils.definitions import defined_names, definitions_only, is_stub, parsed, place_of, plain_python


def planned(*sources: str) -> Plan:
    """Plan a notebook of these code cells, which tell nothing but their text."""
    return make_plan(Handed(CHAPTER, tuple(HandedCell("", None, source) for source in sources)), CHAPTER)


def planned_notebook(made: object) -> Plan:
    return make_plan(parse(as_bytes(made)), CHAPTER)


def running(plan: Plan) -> str:
    return "\n".join(cell.source for cell in cells_to_run(plan))


def statuses(plan: Plan) -> dict[str, str]:
    return {name: found.status for name, found in plan.exercises.items()}


# What runs


def test_learners_cells_run_whole_and_of_ours_only_what_is_quick() -> None:
    made = add_cell(notebooks.notebook(notebooks.all_right()), "mine = [i**2 for i in range(3)]\nprint(mine)")
    code = running(planned_notebook(made))
    assert "mine = [i**2 for i in range(3)]\nprint(mine)" in code
    assert "import torch" in code
    assert "from utils import" in code
    for ours in ("plots.show(", "progress(", "check(", "with once_solved("):
        assert ours not in code


def test_our_cells_are_known_by_their_text_where_ids_are_lost() -> None:
    made = notebooks.notebook(notebooks.all_right())
    for number, cell in enumerate(made.cells):
        cell.metadata.clear()
        cell.id = f"new-{number}"
    plan = planned_notebook(made)
    assert statuses(plan) == dict.fromkeys(NAMES, "ready")
    assert "plots.show(" not in running(plan)


def test_our_cells_may_be_edited_but_run_no_more_than_before() -> None:
    made = notebooks.notebook(notebooks.all_right())
    imports = next(cell for cell in made.cells if "import torch" in cell.source)
    imports.source += "\nimport itertools\nLIMIT = 3\ntorch.randn(10**9)"
    code = running(planned_notebook(made))
    assert "import itertools\nLIMIT = 3" in code
    assert "10**9" not in code


def test_an_answer_in_one_of_our_cells_runs() -> None:
    made = notebooks.notebook({})
    imports = next(cell for cell in made.cells if "import torch" in cell.source)
    imports.source += f"\n\n{right('softmax')}"
    plan = planned_notebook(made)
    assert plan.exercises["softmax"].status == "ready"
    assert running(plan).count("def softmax(") == 1


def test_cells_keep_their_numbers_from_one_and_say_them_in_tracebacks() -> None:
    plan = planned("x = 1", "y = 2")
    assert [(cell.number, cell.name) for cell in plan.cells] == [(1, "<cell 1>"), (2, "<cell 2>")]


# Where exercises are


def test_answers_are_found_by_what_cells_define() -> None:
    plan = planned("x = 1", *(right(name) for name in NAMES))
    assert statuses(plan) == dict.fromkeys(NAMES, "ready")
    assert [plan.exercises[name].cell for name in NAMES] == [2, 3, 4, 5, 6]
    assert plan.exercises["softmax"].source == right("softmax")


def test_stubs_are_not_started() -> None:
    assert statuses(planned_notebook(notebooks.notebook({}))) == dict.fromkeys(NAMES, "not_started")


def test_what_nobody_defines_is_missing() -> None:
    assert statuses(planned("x = softmax(1)")) == dict.fromkeys(NAMES, "missing")


@pytest.mark.parametrize(
    "source",
    [
        "softmax = lambda x, dim=-1: x",
        "softmax: object = print",
        "a, (softmax, b) = 1, (2, 3)",
        "other = softmax = print",
        "from elsewhere import softmax",
        "from elsewhere import thing as softmax",
        "class softmax:\n    pass",
        "async def softmax(): return 1",
        "@cache\ndef softmax(x): return x",
        "if True:\n    pass\nelse:\n    def softmax(x): return x",
        "try:\n    import x\nexcept ImportError:\n    def softmax(x): return x",
        "try:\n    pass\nfinally:\n    softmax = print",
        "with a as b:\n    for c in d:\n        softmax = print",
    ],
)
def test_any_way_to_define_a_name_is_seen(source: str) -> None:
    assert planned(source).exercises["softmax"].status == "ready"


@pytest.mark.parametrize(
    "source",
    [
        "softmax(x)",
        "x[softmax] = 1",
        "x.softmax = 1",
        "softmax: object",
        "def f():\n    softmax = 1",
        "# def softmax(x):",
    ],
)
def test_what_only_mentions_a_name_defines_nothing(source: str) -> None:
    assert planned(source).exercises["softmax"].status == "missing"


def test_an_exercise_cell_without_its_definition_says_so() -> None:
    made = notebooks.notebook(notebooks.all_right(softmax="def soft_max(x, dim=-1):\n    return x"))
    found = planned_notebook(made).exercises["softmax"]
    assert (found.status, found.message) == ("missing", "The cell of this exercise doesn't define softmax.")


def test_the_last_real_definition_counts() -> None:
    found = planned("def softmax(x): return 1", "def softmax(x): return 2").exercises["softmax"]
    assert (found.cell, found.status) == (2, "ready")
    assert "more than one cell (cells 1 and 2); the last one counts" in found.message


def test_a_stub_never_takes_the_place_of_an_answer() -> None:
    for cells in ((stub("softmax"), right("softmax")), (right("softmax"), stub("softmax"))):
        plan = planned(*cells)
        assert plan.exercises["softmax"].status == "ready"
        assert plan.exercises["softmax"].message == ""
        assert "NotImplementedError" not in running(plan)


def test_only_the_stub_is_taken_out_of_a_cell_and_lines_stay_where_they_were() -> None:
    plan = planned(right("softmax"), "x = 1\n@cache\ndef softmax(x):\n    raise NotImplementedError\ny = 2")
    assert cells_to_run(plan)[-1].source == "x = 1\n\n\n\ny = 2"


def test_the_stub_of_an_unsolved_exercise_stays() -> None:
    assert running(planned(stub("softmax"))) == stub("softmax")


@pytest.mark.parametrize(
    "source", ["def softmax(x)\n    return x", "def softmax(x):\n  return (", "def softmax(x): pass\0"]
)
def test_a_cell_that_is_not_python_costs_what_it_seems_to_define(source: str) -> None:
    plan = planned(right("padding_mask"), source)
    assert plan.exercises["softmax"].status == "error"
    assert "The cell " in plan.exercises["softmax"].message
    assert plan.exercises["padding_mask"].status == "ready"


def test_a_cell_that_is_not_python_costs_the_exercise_whose_cell_it_is() -> None:
    made = notebooks.notebook(notebooks.all_right(softmax="no python"))
    found = planned_notebook(made).exercises["softmax"]
    assert found.status == "error"
    assert "isn't valid Python" in found.message
    assert "(line 1)" in found.message


def test_a_broken_copy_of_an_answer_costs_nothing() -> None:
    for cells in ((right("softmax"), "def softmax(:"), ("def softmax(:", right("softmax"))):
        assert planned(*cells).exercises["softmax"].status == "ready"


def test_an_exercise_cell_is_known_by_its_id_alone() -> None:
    made = notebooks.notebook(notebooks.all_right(softmax="no python"))
    exercise_cell(made, "softmax").metadata.clear()
    assert planned_notebook(made).exercises["softmax"].status == "error"


# Stubs


@pytest.mark.parametrize(
    "source",
    [
        "def f(x): raise NotImplementedError",
        "def f(x):\n    '''What it does.'''\n    raise NotImplementedError()",
        "def f(x):\n    raise NotImplementedError('your turn')\n    return x",
        "def f(x): ...",
        "def f(x): pass",
        "def f(x):\n    '''What it does.'''",
        "class F(nn.Module):\n    def __init__(self): raise NotImplementedError\n    def forward(self, x): raise NotImplementedError",
    ],
)
def test_what_notebooks_come_with_is_a_stub(source: str) -> None:
    assert is_stub(parsed(source).body[0])


@pytest.mark.parametrize(
    "source",
    [
        "def f(x): return x",
        "def f(x):\n    y = x\n    raise NotImplementedError",
        "def f(x):\n    if x < 0:\n        raise NotImplementedError\n    return x",
        "def f(x): raise ValueError",
        "def f(x): raise",
        "class F: pass",
        "class F:\n    def __init__(self): self.x = 1\n    def forward(self, x): raise NotImplementedError",
        "f = 1",
    ],
)
def test_what_was_begun_is_no_stub(source: str) -> None:
    assert not is_stub(parsed(source).body[0])


@pytest.mark.parametrize("name", NAMES)
def test_the_stubs_of_the_course_are_stubs_and_its_answers_are_not(name: str) -> None:
    assert is_stub(parsed(stub(name)).body[-1])
    assert not is_stub(parsed(right(name)).body[-1])


# Reading cells


def test_of_our_cells_imports_definitions_and_simple_assignments_are_kept() -> None:
    source = """import torch
from torch import nn
SIZE, NAMES = 3, ["a", "b"]
table = {"a": -1, (1, 2): x.y[0]}
kind: type = nn.Linear
@cache
def helper(x):
    return torch.randn(10**9)

class Small(nn.Module): pass
model = train(10_000)
note: int
for i in range(10**9):
    print(i)
print("done")
squares = [i**2 for i in range(10**9)]"""
    kept = definitions_only(source)
    assert list(defined_names(parsed(kept))) == ["torch", "nn", "SIZE", "NAMES", "table", "kind", "helper", "Small"]
    assert "@cache\ndef helper" in kept


def test_lines_are_counted_as_python_does() -> None:
    source = "a = 'x\x0cy\x1c\u2028z'\r\nb = 2\rc = 3\nd = print(4)"
    assert definitions_only(source) == "a = 'x\x0cy\x1c\u2028z'\nb = 2\nc = 3"


def test_a_statement_with_decorators_starts_at_the_first() -> None:
    assert place_of(parsed("x = 1\n@a\n@b\ndef f():\n    pass\n").body[1]) == slice(1, 5)


def test_python_stays_as_it_is() -> None:
    source = "x = 5 % 3\nprint('%matplotlib', '!ls', x != 1)  # what?"
    assert plain_python(source) is source


@pytest.mark.parametrize(
    "magic",
    ["%matplotlib inline", "!pip install x", "!!ls", "files = !ls", "x = %pwd", "softmax?", "?softmax", "softmax??"],
)
def test_magics_become_calls_and_lines_keep_their_numbers(magic: str) -> None:
    tree = parsed(plain_python(f"\n\n{magic}\n\ny = 1"))
    assert tree.body[-1].lineno == 5


@pytest.mark.parametrize("magic", ["%%time", "%%timeit -n 2 -r 3", "%%capture", "  %%prun", "\n\n%%time"])
def test_what_stands_under_a_measuring_magic_is_python(magic: str) -> None:
    source = f"{magic}\n\nx = 1\n%matplotlib inline\ny = 2"
    names = defined_names(parsed(plain_python(source)))
    assert {name: node.lineno for name, node in names.items()} == {
        "x": source[: source.index("x =")].count("\n") + 1,
        "y": source[: source.index("y =")].count("\n") + 1,
    }


@pytest.mark.parametrize("magic", ["%%bash", "%%html", "%%writefile x.py", "%%javascript", "%%timeless"])
def test_what_stands_under_another_magic_is_not_run(magic: str) -> None:
    assert defined_names(parsed(plain_python(f"{magic}\nx = 1"))) == {}


@pytest.mark.parametrize("source", ["def f(:", "x = = 1", "(\n!ls", "'''\n%time", "\0", "%%time\ndef f(:"])
def test_what_is_no_python_at_all_comes_out_unread(source: str) -> None:
    assert parsed(plain_python(source)) is None


def test_thousands_of_branches_are_no_harm() -> None:
    source = "if x == 0: pass\n" + "".join(f"elif x == {i}: y{i} = 1\n" for i in range(900))
    tree = parsed(source)
    assert tree is None or len(defined_names(tree)) == 900
