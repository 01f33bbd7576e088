"""Code that hangs, dies, eats memory or makes noise: it costs its exercise at most, and the rest of the batch is graded."""

import pytest
from handing_in import costs, full_marks, hands_in, solved, solved_and

from notebooks import NAMES, exercise, right

# Code that doesn't behave


@hands_in(lambda: solved(softmax=f"n = int(input('n?'))\n{right('softmax')}"))
def test_input_in_an_exercise_cell_costs_its_exercise_only(submission: dict) -> None:
    costs(submission, "softmax", "error", "EOFError in line 1", "input() has nobody to ask")


@hands_in(lambda: solved(softmax="def softmax(x, dim=-1):\n    return input()"))
def test_input_in_a_function_costs_its_exercise_only(submission: dict) -> None:
    costs(submission, "softmax", "error", "EOFError", "input() has nobody to ask")


@hands_in(lambda: solved_and("name = input('Your name?')", before="softmax"))
def test_input_in_an_added_cell_costs_nothing(submission: dict) -> None:
    full_marks(submission)


@pytest.mark.slow
@hands_in(lambda: solved(softmax=f"{right('softmax')}\nwhile True:\n    pass"))
def test_an_endless_loop_in_an_exercise_cell_costs_its_exercise_only(submission: dict) -> None:
    costs(submission, "softmax", "timeout", "While the cell was run", "did not finish in time")


@pytest.mark.slow
@hands_in(lambda: solved_and("import time\nwhile True:\n    time.sleep(60)", before="softmax"))
def test_an_endless_loop_in_an_added_cell_costs_nothing(submission: dict) -> None:
    full_marks(submission)


STUBBORN = """def softmax(x, dim=-1):
    while True:
        try:
            time.sleep(60)
        except BaseException:
            pass"""


@pytest.mark.slow
@hands_in(lambda: solved(softmax=f"import time\n{STUBBORN}"))
def test_an_endless_loop_in_a_function_costs_its_exercise_only(submission: dict) -> None:
    costs(submission, "softmax", "timeout", "While hidden tests ran", "did not finish in time")


@pytest.mark.parametrize(
    "leave", ["import sys\nsys.exit()", "exit()", "quit(1)", "raise SystemExit", "raise KeyboardInterrupt"]
)
@hands_in(lambda leave: solved_and(leave, before="softmax"))
def test_leaving_in_an_added_cell_costs_nothing(submission: dict, leave: str) -> None:
    full_marks(submission)


@hands_in(lambda: solved(softmax=f"import sys\nsys.exit()\n{right('softmax')}"))
def test_sys_exit_before_an_answer_costs_its_exercise_only(submission: dict) -> None:
    costs(submission, "softmax", "error", "SystemExit in line 2")


ENDS = {
    "sys.exit": "import sys; sys.exit(0)",
    "os._exit": "import os; os._exit(0)",
    "abort": "import os; os.abort()",
    "null pointer": "import ctypes; ctypes.string_at(0)",
    "an exception outside Exception": "raise type('Odd', (BaseException,), {})",
    "a closed connection": "import os; os.closerange(0, 100)",
}


@pytest.mark.parametrize("end", ENDS)
@hands_in(lambda end: solved(softmax=f"def softmax(x, dim=-1):\n    {ENDS[end]}"))
def test_ending_the_process_in_a_function_costs_its_exercise_only(submission: dict, end: str) -> None:
    costs(submission, "softmax", "error")
    assert exercise(submission, "softmax")["message"]


@pytest.mark.parametrize("end", [end for end in ENDS if end != "sys.exit"])
@hands_in(lambda end: solved(softmax=f"{ENDS[end]}\n{right('softmax')}"))
def test_ending_the_process_in_an_exercise_cell_costs_its_exercise_only(submission: dict, end: str) -> None:
    costs(submission, "softmax", "error")
    assert exercise(submission, "softmax")["message"]


@hands_in(lambda: solved_and("import os, threading\nthreading.Timer(0.2, os._exit, [1]).start()", before=NAMES[0]))
def test_a_thread_that_ends_the_process_later_is_told_at_each_exercise(submission: dict) -> None:
    assert submission["error"] is None
    for found in submission["exercises"]:
        assert found["status"] == "passed" or "ended the process" in found["message"]


@hands_in(lambda: solved_and("import builtins\nbuiltins.__import__ = builtins.len = None", before="softmax"))
def test_a_cell_that_breaks_python_is_told_at_each_exercise(submission: dict) -> None:
    assert submission["error"] is None
    assert len(submission["exercises"]) == len(NAMES)
    assert all(found["message"] for found in submission["exercises"])


AMOUNTS = ["torch.ones(1 << 40)", "bytearray(1 << 40)", "[0] * (1 << 40)", "'x' * (1 << 40)"]


@pytest.mark.parametrize("amount", AMOUNTS)
@hands_in(lambda amount: solved(softmax=f"def softmax(x, dim=-1):\n    return {amount}"))
def test_hunger_for_memory_in_a_function_costs_its_exercise_only(submission: dict, amount: str) -> None:
    costs(submission, "softmax", "error")
    assert "memory" in exercise(submission, "softmax")["message"].lower()


# Zeros by `bytes` are never touched, so memory is full at once, however busy the machine is; `bytearray` writes them.
KEEPS = "kept = []\nwhile True:\n    kept.append(bytes(1 << 26))"


@hands_in(lambda: solved(softmax=f"{KEEPS}\n{right('softmax')}"))
def test_memory_that_an_exercise_cell_keeps_costs_its_exercise_only(submission: dict) -> None:
    costs(submission, "softmax", "error", "memory")


@hands_in(lambda: solved_and("kept = []\nwhile True:\n    kept.append(torch.zeros(1 << 20))", before=NAMES[0]))
def test_memory_that_an_added_cell_keeps_costs_nothing(submission: dict) -> None:
    full_marks(submission)


HOARDS = "kept = []\n\ndef softmax(x, dim=-1):\n    while True:\n        kept.append(bytes(1 << 26))"


@hands_in(lambda: solved(softmax=HOARDS))
def test_memory_that_a_function_keeps_costs_its_exercise_only(submission: dict) -> None:
    costs(submission, "softmax", "error", "memory")


@hands_in(lambda: solved(padding_mask=(
    "def padding_mask(lengths, max_len):\n    return torch.zeros((1 << 26) + 1, dtype=torch.bool)")))  # fmt: skip
def test_a_result_too_large_to_send_costs_its_exercise_only(submission: dict) -> None:
    costs(
        submission, "padding_mask", "error", "has shape (67108865,), not (3, 1, 5)"
    )  # told where the result needn't travel


@hands_in(lambda: solved(softmax="def softmax(x, dim=-1):\n    return softmax(x, dim)"))
def test_an_endless_recursion_costs_its_exercise_only(submission: dict) -> None:
    costs(submission, "softmax", "error", "RecursionError")


# What right answers may do


def _starting_with(line: str, name: str) -> str:
    """Put a line at the start of a right answer's body."""
    head, docstring, body = right(name).split('"""')
    return f'{head}"""{docstring}"""\n    {line}{body}'


NOISE = {
    "prints": "print('softmax of', x)",
    "prints 1 MB": "print('x' * 1_000_000)",
    "warns": "import warnings; warnings.warn('careful!')",
    "writes to stderr": "import sys; sys.stderr.write('careful!\\n'); sys.stderr.flush()",
    "writes to file descriptor 2": "import os; os.write(2, b'careful!')",
    "logs": "import logging; logging.getLogger().error('careful!')",
    "takes stdout away": "import sys; sys.stdout = sys.stderr = None; print('gone')",
    "shows a progress bar": "from tqdm.auto import tqdm; list(tqdm(range(3)))",
    "draws": "import matplotlib.pyplot as plt; plt.plot([1, 2]); plt.show(); plt.close()",
    "writes a file": "open('notes.txt', 'w').write('x')",
    "starts a thread": "import threading; t = threading.Thread(target=print); t.start(); t.join()",
}


@pytest.mark.parametrize("noise", NOISE)
@hands_in(lambda noise: solved(softmax=_starting_with(NOISE[noise], "softmax")))
def test_a_right_answer_that_makes_noise_keeps_its_points(submission: dict, noise: str) -> None:
    full_marks(submission)


PRINTS_MUCH = "print('x' * (100 << 20))\nimport sys\nfor _ in range(100):\n    sys.stderr.write('y' * (1 << 20))"


@hands_in(lambda: solved(softmax=f"{PRINTS_MUCH}\n{right('softmax')}"))
def test_100_mb_of_output_cost_nothing(submission: dict) -> None:
    full_marks(submission)
