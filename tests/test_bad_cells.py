"""Cells that are missing, doubled, changed, or no Python: a clear message at their exercise, and nothing else is lost."""

import nbformat
import pytest
from handing_in import altered, costs, full_marks, hands_in, solved, solved_and

import notebooks
from notebooks import NAMES, add_cell, as_bytes, exercise, exercise_cell, lost, right, stub

# Cells that are missing, doubled or changed


@hands_in(lambda: altered(lambda made: made.cells.remove(exercise_cell(made, "softmax"))))
def test_a_deleted_exercise_cell_costs_its_exercise_only(submission: dict) -> None:
    costs(submission, "softmax", "missing", "No cell defines softmax", "deleted or renamed")


@hands_in(lambda: solved(softmax=""))
def test_an_emptied_exercise_cell_costs_its_exercise_only(submission: dict) -> None:
    costs(submission, "softmax", "missing", "doesn't define softmax")


@hands_in(lambda: solved(softmax="def my_softmax(x, dim=-1):\n    return x.exp() / x.exp().sum(dim, keepdim=True)"))
def test_an_exercise_under_another_name_is_missing(submission: dict) -> None:
    costs(submission, "softmax", "missing", "doesn't define softmax")


@hands_in(lambda: solved_and(stub("softmax"), after="softmax"))
def test_a_copy_of_the_stub_after_the_answer_undoes_nothing(submission: dict) -> None:
    full_marks(submission)


def _with_a_stub_among_other_code() -> bytes:
    made = add_cell(notebooks.notebook(notebooks.all_right()), f"x = 1\n{stub('softmax')}\n\ny = 2", after="softmax")
    add_cell(made, f"assert x + y == 3\n\n{right('padding_mask')}")
    return as_bytes(made)


@hands_in(_with_a_stub_among_other_code)
def test_a_copy_of_the_stub_among_other_code_undoes_nothing(submission: dict) -> None:
    full_marks(submission)


@hands_in(lambda: solved_and(right("softmax"), before="softmax", softmax=stub("softmax")))
def test_an_answer_in_a_cell_before_the_stub_counts(submission: dict) -> None:
    full_marks(submission)


@hands_in(lambda: solved_and(right("softmax"), after="softmax", softmax=stub("softmax")))
def test_an_answer_in_a_cell_after_the_stub_counts(submission: dict) -> None:
    full_marks(submission)


@hands_in(lambda: solved_and(right("padding_mask"), padding_mask="def padding_mask(a, b):\n    return a"))
def test_of_two_real_definitions_the_last_one_counts(submission: dict) -> None:
    full_marks(submission)
    assert "more than one cell" in exercise(submission, "padding_mask")["message"]


@hands_in(lambda: solved_and("def padding_mask(lengths, max_len):\n    return lengths"))
def test_of_two_real_definitions_a_wrong_last_one_counts_too(submission: dict) -> None:
    costs(submission, "padding_mask", "failed", "more than one cell", "the last one counts")


@hands_in(lambda: altered(lambda made: made.cells.extend(notebooks.notebook({}).cells)))
def test_a_notebook_with_the_unsolved_one_pasted_below_is_graded(submission: dict) -> None:
    full_marks(submission)


def _forget(made: nbformat.NotebookNode) -> None:
    for number, cell in enumerate(made.cells):
        cell.metadata.clear()
        cell.id = f"other-{number}"


@hands_in(lambda: altered(_forget))
def test_changed_cell_ids_and_lost_metadata_cost_nothing(submission: dict) -> None:
    full_marks(submission)


def _exchange(made: nbformat.NotebookNode) -> None:
    one, other = exercise_cell(made, "softmax"), exercise_cell(made, "padding_mask")
    one.source, other.source = other.source, one.source


@hands_in(lambda: altered(_exchange))
def test_answers_in_each_others_cells_are_found_by_what_they_define(submission: dict) -> None:
    full_marks(submission)


@hands_in(lambda: as_bytes(add_cell(notebooks.notebook({}), "\n\n".join(map(right, NAMES)), before=NAMES[0])))
def test_answers_all_in_one_cell_are_found(submission: dict) -> None:
    full_marks(submission)


@pytest.mark.parametrize("block", ["if True:", "try:", "with torch.no_grad():", "for _ in range(1):"])
@hands_in(lambda block: solved(softmax=f"{block}\n    " + right("softmax").replace("\n", "\n    ")
                               + ("\nexcept OSError:\n    pass" if block == "try:" else "")))  # fmt: skip
def test_an_answer_in_a_block_is_found(submission: dict, block: str) -> None:
    full_marks(submission)


HELPER = "import itertools\n\ndef products(a, b):\n    return torch.einsum('...id,...jd->...ij', a, b)"


@hands_in(lambda: solved_and(HELPER, before=NAMES[0], attention_scores=(
    "def attention_scores(q, k):\n    return products(q, k)")))  # fmt: skip
def test_helpers_in_an_added_cell_are_there(submission: dict) -> None:
    full_marks(submission)


# Magics and shell commands


def _with_commands() -> bytes:
    made = notebooks.notebook(
        notebooks.all_right(softmax=f"%matplotlib inline\n!pip install einops\n{right('softmax')}")
    )
    commands = "!pip install torch\n%pip install numpy\nfiles = !ls\n%load_ext autoreload\n%autoreload 2\nsoftmax?"
    add_cell(made, commands, before="attention_scores")
    add_cell(made, "%%bash\necho hello", after="attention_scores")
    add_cell(made, "%%html\n<b>hello</b>")
    return as_bytes(made)


@hands_in(_with_commands)
def test_shell_commands_and_magics_do_nothing_and_cost_nothing(submission: dict) -> None:
    full_marks(submission)


@pytest.mark.parametrize("magic", ["%%time", "%%timeit -n 1", "%%capture out", "\n\n%%time\n"])
@hands_in(lambda magic: solved(softmax=f"{magic}\n{right('softmax')}"))
def test_a_measured_exercise_cell_counts(submission: dict, magic: str) -> None:
    full_marks(submission)


@hands_in(lambda: solved(softmax=f"%%nonsense\n{right('softmax')}"))
def test_a_magic_without_meaning_costs_its_exercise_only(submission: dict) -> None:
    costs(submission, "softmax", "missing", "doesn't define softmax")


# Code that isn't Python


@hands_in(lambda: solved(softmax="def softmax(x, dim=-1)\n    return x"))
def test_a_syntax_error_costs_its_exercise_only(submission: dict) -> None:
    costs(submission, "softmax", "error", "isn't valid Python", "line 1")


@hands_in(lambda: solved(softmax="import math\n%matplotlib inline\n\ndef softmax(x, dim=-1):\n    return ="))
def test_a_syntax_error_beside_a_magic_is_told_with_its_line(submission: dict) -> None:
    costs(submission, "softmax", "error", "isn't valid Python", "line 5")


@hands_in(lambda: solved_and("wow, it works!"))
def test_a_syntax_error_in_an_added_cell_costs_nothing(submission: dict) -> None:
    full_marks(submission)


NESTED = {
    "brackets": "(" * 5_000 + "1" + ")" * 5_000,
    "minus signs": "-" * 50_000 + "1",
    "attributes": "x" + ".x" * 50_000,
    "sums": "+".join("1" * 50_000),
    "calls": "f(" * 90 + ")" * 90,
    "lambdas": "lambda: " * 20_000 + "1",
}


@pytest.mark.parametrize("kind", NESTED)
@hands_in(lambda kind: solved(softmax=f"{right('softmax')}\n\ndeep = {NESTED[kind]}"))
def test_a_deeply_nested_expression_costs_its_exercise_at_most(submission: dict, kind: str) -> None:
    assert lost(submission).keys() <= {"softmax"}
    assert exercise(submission, "softmax")["message"]


DEEP_BLOCKS = "".join(" " * depth + "if True:\n" for depth in range(200)) + " " * 200 + "pass"


@hands_in(lambda: solved(softmax=f"{DEEP_BLOCKS}\n{right('softmax')}"))
def test_deep_blocks_cost_their_exercise_only(submission: dict) -> None:
    costs(submission, "softmax", "error", "isn't valid Python")


@hands_in(lambda: solved(softmax=f"# {'x' * 1_000_000}\n{right('softmax')}"))
def test_a_cell_of_a_million_characters_costs_its_exercise_only(submission: dict) -> None:
    costs(submission, "softmax", "missing", "doesn't define softmax")


@hands_in(lambda: solved_and("# half an emoji", softmax=f'emoji = "half an emoji"\n{right("softmax")}')
          .replace(b"half an emoji", b"\\ud83d"))  # fmt: skip
def test_lone_surrogates_in_a_string_cost_nothing(submission: dict) -> None:
    full_marks(submission)


@hands_in(lambda: solved(softmax="def softmax(x, dim=-1):\n    raise ValueError(chr(0xD83D) + '\\x1b[2J\\0')"))
def test_lone_surrogates_in_an_error_message_are_no_harm(submission: dict) -> None:
    costs(submission, "softmax", "error", "ValueError")


@pytest.mark.parametrize("character", ["\0", "\x1b", "\u2028", "\ufeff", "\r", "\x0c"])
@hands_in(lambda character: solved(softmax=f"# {character}\n{right('softmax')}"))
def test_odd_characters_cost_their_exercise_at_most(submission: dict, character: str) -> None:
    assert lost(submission).keys() <= {"softmax"}
