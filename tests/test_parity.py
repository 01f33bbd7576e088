"""The parity report names the stage at which an encoder parts from the reference, in whatever style it is written."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

import matplotlib.pyplot as plt
import pytest
import torch
import torch.nn.functional as F
from safetensors.torch import load_file
from torch import Tensor, nn

from autograder.sources import answer_with_imports
from utils import assets
from utils.catalogue import find_exercise
from utils.parity import CLOSE, REFERENCE, Parity, parity_report, stage_names

ANSWERS = Path(__file__).parents[1] / "autograder" / "answers"
VOCABULARY, D_MODEL, HEADS, LAYERS, D_FF, MAX_LEN = 41, 24, 3, 3, 40, 17
PROJECTIONS = ("q_proj", "k_proj", "v_proj", "out_proj")
CORRECT = sorted(path.stem for path in (ANSWERS / "correct" / "BertEncoder").glob("*.py"))
# mistake → the stage where it has to show, and words of the suggestion
FAULTS = {
    "no_positions": ("norm", "positions"),
    "positions_from_one": ("norm", "position 0"),
    "segments_only_when_given": ("norm", "segment 0"),
    "scaled_embedding": ("norm", "√d_model"),
    "no_embedding_norm": ("layers.0.attention", "norm of the embeddings"),
    "default_eps": ("norm", "1e-12"),
    "default_eps_at_embeddings": ("norm", "1e-12"),
    "default_eps_in_layers": ("layers.0.norm_1", "1e-12"),
    "pre_norm": ("layers.0.attention", "post-norm"),
    "padding_ignored": ("layers.0.attention", "handed on"),
    "padding_turned_round": ("layers.0.attention", "turned round"),
    "padding_on_queries": ("layers.0.attention", "keys (not queries)"),
    "padding_in_first_layer_only": ("layers.1.attention", "layer 1"),
    "values_from_keys": ("layers.0.attention", "projections"),
    "no_residual_at_attention": ("layers.0.norm_1", "residual"),
    "norm_without_sum": ("layers.0.norm_1", "before the norm"),
    "relu": ("layers.0.feed_forward", "GELU"),
    "tanh_gelu": ("layers.0.feed_forward", "exact"),
    "no_activation": ("layers.0.feed_forward", "GELU"),
    "no_residual_at_feed_forward": ("layers.0.norm_2", "residual"),
    "residual_from_the_layers_input": ("layers.0.norm_2", "right x"),
    "further_norm_at_the_end": ("output", "after the last"),
    "last_layer_skipped": ("output", "last"),
}


def bert_class(kind: str, name: str) -> type[nn.Module]:
    namespace: dict = {"__name__": "__main__"}
    exec((ANSWERS / kind / "BertEncoder" / f"{name}.py").read_text(encoding="utf-8"), namespace)
    return namespace["BertEncoder"]


@cache
def checkpoint() -> dict[str, Tensor]:
    """Draw weights; numbers are small before norm and norm_1, so that eps matters, as it does in the published model."""
    generator = torch.Generator().manual_seed(7)

    def normal(*shape: int, std: float = 1.0) -> Tensor:
        return std * torch.randn(shape, generator=generator)

    def norm(name: str, scale: float = 1.0) -> dict[str, Tensor]:
        return {f"{name}.weight": scale * (1 + normal(D_MODEL, std=0.2)), f"{name}.bias": scale * normal(D_MODEL)}

    def linear(name: str, out: int, into: int, gain: float) -> dict[str, Tensor]:
        return {f"{name}.weight": normal(out, into, std=gain * into**-0.5), f"{name}.bias": gain * normal(out, std=0.3)}

    state = {f"{name}.weight": normal(rows, D_MODEL, std=0.01) for name, rows in (("tokens", VOCABULARY), ("positions", MAX_LEN), ("segments", 2))}  # fmt: skip
    state |= norm("norm", 0.04)
    for n in range(LAYERS):
        for projection in PROJECTIONS:
            state |= linear(
                f"layers.{n}.attention.{projection}", D_MODEL, D_MODEL, 0.2 if projection == "out_proj" else 5
            )
        state |= linear(f"layers.{n}.feed_forward.linear_1", D_FF, D_MODEL, 2)
        state |= linear(f"layers.{n}.feed_forward.linear_2", D_MODEL, D_FF, 2)
        state |= norm(f"layers.{n}.norm_1") | norm(f"layers.{n}.norm_2")
    return state


@cache
@torch.no_grad()
def recorded() -> dict[str, Tensor]:
    """Record every stage with PyTorch's own modules."""
    state = checkpoint()
    ids = torch.randint(1, VOCABULARY, (3, 11), generator=torch.Generator().manual_seed(8))
    padding = (torch.arange(11) < torch.tensor([4, 7, 11])[:, None]).unsqueeze(1)

    def norm(name: str, x: Tensor) -> Tensor:
        return F.layer_norm(x, (D_MODEL,), state[f"{name}.weight"], state[f"{name}.bias"], 1e-12)

    def linear(name: str, x: Tensor) -> Tensor:
        return F.linear(x, state[f"{name}.weight"], state[f"{name}.bias"])

    x = norm("norm", state["tokens.weight"][ids] + state["positions.weight"][:11] + state["segments.weight"][0])
    made = {"norm": x}
    for n in range(LAYERS):
        attention = nn.MultiheadAttention(D_MODEL, HEADS, batch_first=True)
        parts = [state[f"layers.{n}.attention.{name}.{kind}"] for kind in ("weight", "bias") for name in PROJECTIONS]
        packed = {"in_proj_weight": torch.cat(parts[:3]), "in_proj_bias": torch.cat(parts[4:7])}
        attention.load_state_dict(packed | {"out_proj.weight": parts[3], "out_proj.bias": parts[7]})
        made[f"layers.{n}.attention"] = attention(x, x, x, key_padding_mask=~padding[:, 0])[0]
        made[f"layers.{n}.norm_1"] = x = norm(f"layers.{n}.norm_1", x + made[f"layers.{n}.attention"])
        inner = F.gelu(linear(f"layers.{n}.feed_forward.linear_1", x))
        made[f"layers.{n}.feed_forward"] = linear(f"layers.{n}.feed_forward.linear_2", inner)
        made[f"layers.{n}.norm_2"] = x = norm(f"layers.{n}.norm_2", x + made[f"layers.{n}.feed_forward"])
    return {"ids": ids, "padding": padding} | made


def small(make: type[nn.Module]) -> nn.Module:
    encoder = make(VOCABULARY, D_MODEL, HEADS, LAYERS, D_FF, MAX_LEN)
    encoder.load_state_dict(checkpoint(), strict=False)
    return encoder


@cache
def published_weights() -> dict[str, Tensor]:
    if not assets.is_here("minilm_weights"):
        pytest.skip("the published weights aren't in the cache")
    namespace: dict = {"__name__": "__main__"}
    exec(answer_with_imports(find_exercise("rename_checkpoint")), namespace)
    return namespace["rename_checkpoint"](load_file(assets.asset("minilm_weights")))


def real(make: type[nn.Module]) -> nn.Module:
    encoder = make(30522, 384, 12, 6, 1536)
    encoder.load_state_dict(published_weights(), strict=False)
    return encoder


def shown(encoder: nn.Module) -> Parity:
    return parity_report(encoder, recorded())


# The recording


def test_the_recording_is_small_and_holds_every_stage() -> None:
    reference = load_file(REFERENCE)
    assert REFERENCE.stat().st_size < 2_000_000
    assert set(reference) == {"ids", "padding", *stage_names(6)}
    assert reference["padding"].sum(-1).flatten().tolist() == [4, 7, 11]
    assert reference["padding"].shape == (3, 1, 11) and reference["padding"].dtype == torch.bool
    assert all(reference[name].shape == (3, 11, 384) and reference[name].isfinite().all() for name in stage_names(6))


# Right encoders, in every style


@pytest.mark.parametrize("name", CORRECT)
def test_right_encoders_agree_at_every_stage_that_can_be_seen(name: str) -> None:
    report = shown(small(bert_class("correct", name)))
    assert report.equal, report
    assert report.stages[-1].agrees and report.stages[-1].largest < CLOSE
    if name != "functional_style" and name != "padding_cut_away":
        assert not report.left_out
    assert "published one" in repr(report)


def test_what_is_computed_without_its_module_is_left_out_and_said_so() -> None:
    report = shown(small(bert_class("correct", "functional_style")))
    assert report.equal and "layers.0.attention" in report.left_out and "norm" in report.left_out
    assert "Left out" in repr(report) and "layers.0.attention" in repr(report)


def test_a_module_around_the_encoder_is_no_hindrance() -> None:
    class Wrapped(nn.Module):
        def __init__(self, encoder: nn.Module) -> None:
            super().__init__()
            self.inner = nn.ModuleDict({"encoder": encoder})

        def forward(self, ids: Tensor, padding: Tensor) -> tuple[Tensor, None]:
            return self.inner["encoder"](ids, padding), None

    assert shown(Wrapped(small(bert_class("correct", "plain_modules")))).equal
    broken = shown(Wrapped(small(bert_class("wrong", "relu"))))
    assert broken.first is not None and broken.first.name == "layers.0.feed_forward"


def test_mode_and_weights_are_left_as_they_were() -> None:
    encoder = small(bert_class("correct", "plain_modules")).train()
    before = {name: value.clone() for name, value in encoder.state_dict().items()}
    assert shown(encoder).equal
    assert encoder.training and all(value.grad is None for value in encoder.parameters())
    assert all(torch.equal(value, before[name]) for name, value in encoder.state_dict().items())
    assert not any(module._forward_hooks for module in encoder.modules())


def test_an_encoder_that_fails_leaves_no_hook_behind() -> None:
    encoder = small(bert_class("wrong", "padding_rows_nan")).train()
    with pytest.raises(AttributeError):
        parity_report(encoder, recorded() | {"padding": None})  # type: ignore[dict-item]
    assert not any(module._forward_hooks for module in encoder.modules()) and encoder.training


def test_other_numbers_in_padding_are_no_difference() -> None:
    class Scrambled(bert_class("correct", "plain_modules")):  # type: ignore[misc]
        def forward(self, ids: Tensor, padding: Tensor | None = None, segments: Tensor | None = None) -> Tensor:
            return super().forward(ids, padding, segments).masked_fill(~padding.transpose(1, 2), 99.0)

    assert shown(small(Scrambled)).equal


# Wrong encoders


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_shows_at_its_stage(name: str) -> None:
    stage, words = FAULTS[name]
    report = shown(small(bert_class("wrong", name)))
    assert report.first is not None and report.first.name == stage, report
    assert words in repr(report), report


@pytest.mark.slow
@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_shows_at_its_stage_with_the_published_weights(name: str) -> None:
    stage, words = FAULTS[name]
    report = parity_report(real(bert_class("wrong", name)))
    assert report.first is not None and report.first.name == stage, report
    assert words in repr(report), report


@pytest.mark.slow
@pytest.mark.parametrize("name", CORRECT)
def test_right_encoders_equal_the_published_model(name: str) -> None:
    report = parity_report(real(bert_class("correct", name)))
    assert report.equal, report


def test_nan_is_a_difference() -> None:
    encoder = small(bert_class("correct", "plain_modules"))
    with torch.no_grad():
        encoder.get_parameter("layers.1.norm_1.bias")[3] = float("nan")
    report = shown(encoder)
    assert report.first is not None and report.first.name == "layers.1.norm_1"
    assert "NaN" in repr(report)


def test_a_result_of_another_shape_is_a_difference() -> None:
    report = shown(small(bert_class("wrong", "first_position_only")))
    assert not report.equal and report.first is not None and report.first.name == "output"


# What is shown


def heights(draw: Callable[[], plt.Axes]) -> int:
    bars = len(draw().patches)
    plt.close("all")
    return bars


def test_the_figure_has_a_bar_for_every_stage_that_was_seen() -> None:
    assert heights(shown(small(bert_class("correct", "plain_modules"))).draw) == 4 * LAYERS + 2
    functional = shown(small(bert_class("correct", "functional_style")))
    assert heights(functional.draw) == 4 * LAYERS + 2 - len(functional.left_out)


def test_the_card_tells_the_verdict_and_escapes_what_it_quotes() -> None:
    good, bad = shown(small(bert_class("correct", "plain_modules"))), shown(small(bert_class("wrong", "relu")))
    assert "course-passed" in good._repr_html_() and "course-failed" in bad._repr_html_()
    assert "<code>feed_forward</code>" in bad._repr_html_() and "`" not in bad._repr_html_()
    assert "First difference: feed_forward in layer 0" in bad._repr_html_()
