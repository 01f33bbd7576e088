"""Small heat maps as inline SVG: quick to make, sharp on any screen, and seen without a running kernel."""

import html

import torch
from torch import Tensor

# Eight steps of matplotlib's viridis (CC0), from low to high.
VIRIDIS = ("#440154", "#46327e", "#365c8d", "#277f8e", "#1fa187", "#4ac16d", "#a0da39", "#fde725")
REDS = ("#ffffff", "#fee5d9", "#fcbba1", "#fc9272", "#fb6a4a", "#ef3b2c", "#cb181d", "#99000d")
UNUSABLE = "#d55e00"
MOST_ROWS, MOST_COLUMNS = 10, 12


def first_matrix_that_differs(expected: Tensor, found: Tensor) -> tuple[Tensor, Tensor]:
    """Take from two tensors of one shape the first matrix (last two dimensions) in which they differ."""
    if expected.dim() < 2:
        return expected.reshape(1, -1), found.reshape(1, -1)
    flat_expected, flat_found = (t.double().reshape(-1, *t.shape[-2:]) for t in (expected, found))
    differs = (~torch.isclose(flat_expected, flat_found, rtol=1e-4, atol=1e-5, equal_nan=True)).flatten(1).any(1)
    index = int(differs.nonzero()[0]) if differs.any() else 0
    return flat_expected[index], flat_found[index]


def _colour(value: float, low: float, high: float, palette: tuple[str, ...]) -> str:
    if value != value or value in (float("inf"), float("-inf")):
        return UNUSABLE
    share = 0.0 if high <= low else (value - low) / (high - low)
    return palette[min(len(palette) - 1, max(0, int(share * len(palette))))]


def svg(matrix: Tensor, title: str, low: float, high: float, palette: tuple[str, ...] = VIRIDIS) -> str:
    """Draw one matrix; what isn't a finite number is orange, and each cell tells its value on hover."""
    matrix = matrix[:MOST_ROWS, :MOST_COLUMNS].double()
    side = 18
    rows, columns = matrix.shape
    cells = []
    for i in range(rows):
        for j in range(columns):
            value = matrix[i, j].item()
            cells.append(
                f'<rect x="{j * side}" y="{i * side}" width="{side - 1}" height="{side - 1}" rx="2" '
                f'fill="{_colour(value, low, high, palette)}"><title>[{i}, {j}] = {value:.4g}</title></rect>'
            )
    width, height = columns * side, rows * side
    label = html.escape(title)
    return (
        f'<figure class="course-map"><svg role="img" aria-label="{label}" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}">{"".join(cells)}</svg><figcaption>{label}</figcaption></figure>'
    )


def comparison(expected: Tensor, found: Tensor) -> str:
    """Draw expected, found and their difference side by side."""
    right, yours = first_matrix_that_differs(expected, found)
    right, yours = right.double(), yours.double()
    finite = torch.cat([right.flatten(), yours.flatten()])
    finite = finite[finite.isfinite()]
    low, high = (finite.min().item(), finite.max().item()) if finite.numel() else (0.0, 1.0)
    gap = (right - yours).abs()
    largest = gap[gap.isfinite()].max().item() if gap.isfinite().any() else 1.0
    maps = [
        svg(right, "expected", low, high),
        svg(yours, "yours", low, high),
        svg(gap, "difference", 0.0, largest or 1.0, REDS),
    ]
    return f'<div class="course-maps">{"".join(maps)}</div>'
