"""Name what is wrong with an answer: a known mistake where its recording fits, else what the difference itself tells."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from utils.differences import Difference, as_text, first_difference, same_observation, shape_text
from utils.execution import LearnerError
from utils.fixtures import ExerciseFixture, Mistake
from utils.probes import Observation, Probe

VAGUE = {"wrong_values", "wrong_shape"}  # what says that something is wrong, but not what


@dataclass(frozen=True)
class Diagnosis:
    """A mistake by name, in one sentence, with a hint at what to do about it."""

    name: str
    title: str
    hint: str
    line: int | None = None

    @property
    def sentence(self) -> str:
        """The title as a sentence, and the hint."""
        return f"{self.title[0].upper()}{self.title[1:]}. {self.hint}"


def recognise(probes: list[Probe], found: dict[str, Observation], fixture: ExerciseFixture) -> list[Mistake]:
    """Find the recorded mistakes that explain what was seen: those that fit everywhere, else those that fit best.

    A mistake fits a failing probe where its recording equals the learner's; it is out of the question where the learner
    is right and the mistake would not be. A recording holds only the probes that the mistake fails.
    """
    failing = [p for p in probes if not same_observation(fixture.right[p.name], found[p.name], p)]
    passing = {p.name for p in probes} - {p.name for p in failing}
    best: list[Mistake] = []
    best_score = (False, 0)
    for mistake in fixture.mistakes:
        for recording in mistake.recordings:
            if not passing.isdisjoint(recording):
                continue
            fitting = [
                p for p in failing if p.name in recording and same_observation(recording[p.name], found[p.name], p)
            ]
            everywhere = len(fitting) == len(failing)
            telling = sum("raises" not in recording[p.name] for p in fitting)
            score = (everywhere, telling)
            if not everywhere and not telling:
                continue
            if score > best_score:
                best, best_score = [mistake], score
            elif score == best_score and mistake not in best:
                best.append(mistake)
    return best


def explained(mistake: Mistake, probe: Probe, found: Observation, fixture: ExerciseFixture) -> bool:
    """Say whether a recognised mistake accounts for what a failing probe has seen."""
    return any(
        probe.name in recording and same_observation(recording[probe.name], found, probe)
        for recording in mistake.recordings
    )


def describe(difference: Difference, error: LearnerError | None = None) -> Diagnosis:
    """Say what a difference tells by itself."""
    expected, found, label = difference.expected, difference.found, difference.label
    match difference.kind:
        case "raises":
            return _describe_error(error)
        case "should raise":
            return Diagnosis(
                f"no_{_snake(str(expected))}",
                f"{expected} should be raised here, and isn't",
                f"The docstring names a case that has to be refused: `raise {expected}(...)` with a sentence that helps.",
            )
        case "form":
            return _describe_form(expected, found)
        case "changed inputs":
            return Diagnosis(
                "changes_its_input",
                "the function writes into a tensor that it was given",
                "In-place operations (`x -= …`, `masked_fill_`, `x[…] = …`) change the caller's data. Make a new tensor.",
            )
        case "nothing returned":
            return Diagnosis(
                "returns_nothing", "nothing is returned", "End the function with `return`, not with `print`."
            )
        case "not a tensor":
            return Diagnosis(
                "not_a_tensor", f"{label} should be a tensor and is {as_text(found)}", "Return a torch.Tensor."
            )
        case "shape":
            return _describe_shape(expected, found, label)
        case "dtype":
            wanted, got = (str(t.dtype).removeprefix("torch.") for t in (expected, found))
            return Diagnosis(
                "wrong_dtype",
                f"{label} has dtype {got}, not {wanted}",
                "A mask is boolean; compare instead of multiplying."
                if wanted == "bool"
                else "Keep the dtype of the inputs: no `.float()`, and new tensors made with `x.new_zeros`, `torch.zeros_like` "
                "or `dtype=x.dtype`.",
            )
        case "no gradient":
            return Diagnosis(
                "not_differentiable",
                "no gradient flows back through the result",
                "Something cuts the graph: `.detach()`, `.item()`, `.data`, numpy, `torch.no_grad()` or `torch.tensor(...)`.",
            )
        case "gradient" | "values":
            return _describe_values(expected, found, label, difference.kind == "gradient")
        case "value" if isinstance(expected, str) and expected.endswith("Error"):
            return Diagnosis(
                f"no_{_snake(expected)}",
                f"{label}: {expected} should be raised, not {found}",
                f"The docstring names a case that has to be refused: `raise {expected}(...)` with a sentence that helps.",
            )
        case _:
            return Diagnosis(
                "wrong_values",
                f"{label} should be {as_text(expected)} and is {as_text(found)}",
                "Compare with the formula.",
            )


def _snake(name: str) -> str:
    return "".join(f"_{c.lower()}" if c.isupper() and i else c.lower() for i, c in enumerate(name))


def _describe_error(error: LearnerError | None) -> Diagnosis:
    kind = error.type_name if error else "an error"
    message = (error.message if error else "").strip()
    first = message.splitlines()[0][:300] if message else ""
    line = error.line if error else None
    hint = "Read the last line of the message first; it says what was expected and what was found."
    if "in-place operation" in message:
        return Diagnosis(
            "changes_its_input",
            "the function writes into a tensor that it was given",
            "In-place operations (`x -= …`, `masked_fill_`, `x[…] = …`) change the caller's data. Make a new tensor.",
            line,
        )
    if kind == "NameError":
        hint = "Is the name spelt as where it was defined, and has that cell been run?"
    elif "size of tensor" in message or "shapes cannot be multiplied" in message or "broadcast" in message:
        hint = "Two shapes don't fit together. Print both, and check which dimensions are compared: from the right."
    elif "expected scalar type" in message or "same dtype" in message:
        hint = "Two dtypes meet. Keep the dtype of the inputs: `x.new_zeros`, `torch.zeros_like`, `dtype=x.dtype`."
    elif kind == "RecursionError":
        hint = "The function calls itself without end."
    elif kind == "TypeError" and "argument" in message:
        hint = "Compare the signature with the stub's: names, order and defaults of the arguments."
    return Diagnosis(f"raises_{_snake(kind)}", f"your code raises {kind}{': ' + first if first else ''}", hint, line)


def _describe_form(expected: Any, found: Any) -> Diagnosis:
    if found == "one value":
        return Diagnosis(
            "one_result_only", "one value is returned where two belong", "Return both: `return output, weights`."
        )
    return Diagnosis(
        "wrong_number_of_results",
        f"what is returned is {found or 'not of the promised form'}",
        "The docstring says what is returned, and in which order.",
    )


def _describe_shape(expected: Tensor, found: Tensor, label: str) -> Diagnosis:
    title = f"{label} has shape {shape_text(found)}, not {shape_text(expected)}"
    squeezed = [size for size in found.shape if size != 1] == [size for size in expected.shape if size != 1]
    if sorted(expected.shape) == sorted(found.shape):
        return Diagnosis(
            "dimensions_swapped", title, "The sizes are right, their order isn't: which dimension is which?"
        )
    if squeezed and found.dim() < expected.dim():
        return Diagnosis(
            "dimension_dropped",
            title,
            "A dimension of size 1 got lost: `keepdim=True`, `unsqueeze`, and no bare `squeeze()`.",
        )
    if squeezed:
        return Diagnosis("dimension_too_many", title, "There is a dimension of size 1 too many.")
    return Diagnosis("wrong_shape", title, "Write the shape behind each line, as in the worked example, and compare.")


def _describe_values(expected: Tensor, found: Tensor, label: str, gradient: bool) -> Diagnosis:
    if expected.dtype == torch.bool:
        if torch.equal(expected, ~found):
            return Diagnosis("inverted", "True and False are exchanged", "In this course True means: may be attended.")
        share = (expected != found).double().mean().item()
        return Diagnosis(
            "wrong_values", f"{share:.0%} of the entries are wrong", "Write down one row by hand and compare."
        )
    expected, found = expected.double(), found.double()
    if found.isnan().any() and not expected.isnan().any():
        where = "the gradient holds" if gradient else f"{label} holds"
        return Diagnosis(
            "gives_nan",
            f"{where} NaN in {int(found.isnan().sum())} of {found.numel()} places",
            "NaN comes from ∞ − ∞, 0/0 or 0·∞. Which row has nothing but −∞, or a sum of 0?",
        )
    if found.isinf().any() and not expected.isinf().any():
        return Diagnosis(
            "gives_infinity", f"{label} holds infinite values", "Something overflows: what is the largest exponent?"
        )
    factor = _constant_factor(expected, found)
    if factor is not None:
        what = "the gradient" if gradient else label
        return Diagnosis(
            "off_by_a_factor", f"{what} is {factor:.4g} times what it should be", "One factor is missing or too many."
        )
    if (
        expected.dim() >= 2
        and expected.shape[-1] == expected.shape[-2]
        and torch.allclose(expected.mT, found, atol=1e-5)
    ):
        return Diagnosis("transposed", f"{label} is transposed", "Rows and columns are exchanged.")
    if gradient:
        return Diagnosis(
            "wrong_gradient",
            "the result is right, but the gradient that flows back isn't",
            "Is a part of the formula detached, or treated as a constant?",
        )
    largest = (expected - found).abs().max().item()
    scale = expected.abs().max().item()
    if scale and largest < 1e-4 * scale:
        return Diagnosis(
            "imprecise", f"{label} is off by {largest:.1e}: precision gets lost", "Keep the dtype of the inputs."
        )
    if (
        expected.ndim >= 1
        and expected.numel() > 1
        and torch.allclose(expected.sum(), found.sum(), atol=1e-6 * expected.numel())
    ):
        hint = "The total is right, so numbers sit in the wrong places: which dimension does each operation run along?"
    else:
        hint = "Compare with the formula, one step at a time, on the small example above."
    share = (~torch.isclose(expected, found, rtol=1e-4, atol=1e-5)).double().mean().item()
    return Diagnosis("wrong_values", f"{share:.0%} of the numbers in {label} are wrong, by up to {largest:.3g}", hint)


def _constant_factor(expected: Tensor, found: Tensor) -> float | None:
    usable = expected.abs() > 1e-6
    if usable.sum() < 2:
        return None
    ratios = found[usable] / expected[usable]
    middle = ratios.median()
    if middle.abs() < 1e-9 or not torch.allclose(found, expected * middle, rtol=1e-4, atol=1e-7):
        return None
    return None if abs(middle.item() - 1) < 1e-3 else middle.item()


def diagnose(
    probes: list[Probe],
    found: dict[str, Observation],
    errors: dict[str, LearnerError | None],
    fixture: ExerciseFixture,
) -> list[Diagnosis]:
    """Name the mistakes behind all failing probes, known ones first; each once."""
    known = recognise(probes, found, fixture)
    diagnoses = [Diagnosis(mistake.name, mistake.title, mistake.hint) for mistake in known]
    for probe in probes:
        difference = first_difference(fixture.right[probe.name], found[probe.name], probe)
        if difference is None or any(explained(m, probe, found[probe.name], fixture) for m in known):
            continue
        described = describe(difference, errors.get(probe.name))
        if known and described.name in VAGUE | {"wrong_gradient"}:
            continue  # a named mistake says more
        if described.name not in [diagnosis.name for diagnosis in diagnoses]:
            diagnoses.append(described)
    if any(d.name != "wrong_gradient" for d in diagnoses):  # where values are off, the gradient says nothing new
        diagnoses = [d for d in diagnoses if d.name != "wrong_gradient"]
    named = [d for d in diagnoses if d.name not in VAGUE]
    return (named or diagnoses)[:3]
