"""What the visible checks of chapter 06 observe of dropout in the encoder and decoder layer."""

import torch
from torch import Tensor

from utils.probes import Numbers
from utils.student import Student


def near(found: float, expected: float, by: float) -> bool:
    """Say whether two numbers differ by less than `by`."""
    return abs(found - expected) < by


def dropout_facts(student: Student, kind: str, attentions: tuple[str, ...], x: Tensor, *others: Tensor) -> dict:
    """Let one sublayer after the other give 1 everywhere and the rest 0, and look what dropout does to the ones.

    Features of x are 0 and 2 in turn, which has variance 1: norms keep their distance, so sizes are measured by it.
    """
    d_model, p = x.shape[-1], 0.4
    module = getattr(student, kind)(d_model, 3, 11, p)
    blank = {name: torch.zeros_like(value) for name, value in module.parameters().items()}
    blank |= {name: torch.ones_like(v) for name, v in blank.items() if "norm" in name and name.endswith("weight")}
    facts: dict[str, bool] = {}
    for sublayer in (*attentions, "feed_forward"):
        last = f"{sublayer}.linear_2.bias" if sublayer == "feed_forward" else f"{sublayer}.out_proj.bias"
        module.load({**blank, last: torch.ones(d_model)})
        still = module.eval()(x, *others)
        student.seed(6)
        output = module.train()(x, *others).detach()
        low, high = output[..., ::2], output[..., 1::2]
        bottom = low.amin(-1, keepdim=True)
        kept = (low - bottom) / (high.amin(-1, keepdim=True) - bottom) * 2
        stays = kept > 0.3
        if (low - bottom).amax() < 1e-4:  # all alike: nothing is dropped
            kept, stays = torch.ones_like(kept), torch.ones_like(stays)
        share = 1 - stays.float().mean().item()
        size = kept[stays].median().item() if stays.any() else 0.0
        facts[f"eval mode drops nothing ({sublayer})"] = near(still[0, 0, ::2].std().item(), 0, 1e-4)
        facts[f"train mode drops something ({sublayer})"] = share > 0.02
        facts[f"train mode drops the share p ({sublayer})"] = near(share, p, 0.06)
        facts[f"what stays of the output of {sublayer} is divided by 1 − p"] = near(size, 1 / (1 - p), 0.02)
    return facts


def zeros_and_twos(n: Numbers) -> Tensor:
    """Give x (2, 30, 120) whose features are 0 and 2 in turn."""
    return (2.0 * (torch.arange(120) % 2)).expand(2, 30, 120).clone()
