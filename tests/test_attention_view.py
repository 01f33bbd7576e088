"""The interactive view of attention: what it shows, that no kernel is needed, and how it behaves in a real browser."""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import nbformat
import pytest
import torch
from playwright.sync_api import Page, sync_playwright

from utils import attention_view
from utils.attention_view import AttentionView

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
# Without these a browser asks its maker's hosts at every start.
BROWSER_OPTIONS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
                   "--disable-sync", "--no-first-run", "--disable-quic"]  # fmt: skip
WORDS = ["the", "bank", "of", "the", "river"]


def some_weights(heads: int = 2, queries: int = 5, keys: int = 5) -> torch.Tensor:
    """Make weights whose largest entry differs from query to query and from head to head."""
    scores = torch.zeros(heads, queries, keys)
    for head in range(heads):
        for query in range(queries):
            scores[head, query, (query + head + 1) % keys] = 3.0
    return torch.softmax(scores, -1)


class _Balance(HTMLParser):
    """Count opened and closed elements, and collect ids."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.ids += [value for name, value in attrs if name == "id"]
        if tag != "input":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def parsed(view: AttentionView) -> _Balance:
    parser = _Balance()
    parser.feed(view._repr_html_())
    parser.close()
    assert parser.open == []
    return parser


def test_every_query_can_be_chosen_and_the_last_one_is_at_first() -> None:
    page = attention_view(some_weights(), WORDS)._repr_html_()
    buttons = re.findall(r"<input [^>]*>", page)
    assert len(buttons) == 5
    assert [" checked" in button for button in buttons] == [False, False, False, False, True]
    assert re.findall(r"<label [^>]*>([^<]*)</label>", page) == WORDS


def test_another_query_can_be_chosen_at_first() -> None:
    buttons = re.findall(r"<input [^>]*>", attention_view(some_weights(), WORDS, start=1)._repr_html_())
    assert [" checked" in button for button in buttons] == [False, True, False, False, False]


def test_weights_stand_there_in_per_cent_for_every_head() -> None:
    weights = some_weights()
    page = attention_view(weights, WORDS, names=["left", "right"])._repr_html_()
    shares = re.findall(r'class="share">(\d+)%<', page)
    wanted = [
        f"{float(weights[head, query, key]):.0%}"[:-1] for query in range(5) for head in (0, 1) for key in range(5)
    ]
    assert shares == wanted
    assert page.count(">left<") == page.count(">right<") == 5


def test_words_are_escaped_and_elements_are_closed() -> None:
    tokens = ["<script>alert(1)</script>", "&", '"quoted"', "it's", " "]
    view = attention_view(some_weights(), tokens, title="<b>bold</b>", names=["<1>", "&2"])
    seen = parsed(view)
    assert "<script" not in view._repr_html_() and "<b>" not in view._repr_html_()
    assert tokens[0] in seen.texts and "<b>bold</b>" in seen.texts


def test_no_two_views_share_an_id() -> None:
    view = attention_view(some_weights(), WORDS)
    ids = parsed(view).ids + parsed(view).ids + parsed(attention_view(some_weights(1), WORDS)).ids
    assert len(ids) == len(set(ids))


def test_no_script_and_nothing_from_elsewhere() -> None:
    page = attention_view(some_weights(), WORDS)._repr_html_()
    assert "<script" not in page and "http" not in page and " on" not in re.sub(r">[^<]*<", "><", page)


def test_keys_may_be_other_words_than_queries() -> None:
    view = attention_view(some_weights(1, 2, 3), ["le", "chat"], ["the", "cat", "sat"])
    assert re.findall(r'class="token key"[^>]*>([^<]*)<', view._repr_html_()) == ["the", "cat", "sat"] * 2


def test_one_head_needs_no_head_dimension_and_text_says_the_strongest() -> None:
    view = attention_view(some_weights(1)[0], WORDS)
    assert repr(view).splitlines()[2] == "bank (weights) looks most at of (83%)"


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_weights_of_any_dtype_and_with_gradients(dtype: torch.dtype) -> None:
    weights = some_weights().to(dtype).requires_grad_()
    assert "83%" in attention_view(weights, WORDS)._repr_html_()


def test_nan_is_shown_as_such() -> None:
    assert ">NaN<" in attention_view(torch.full((2, 2), float("nan")), ["a", "b"])._repr_html_()


@pytest.mark.parametrize("shape", [(4, 5), (2, 5, 4), (1, 2, 5, 5)])
def test_weights_that_do_not_fit_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="don't fit"):
        attention_view(torch.zeros(shape), WORDS)


def test_names_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="1 names don't fit 2 heads"):
        attention_view(some_weights(), WORDS, names=["one"])


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A saved notebook with two views, exported by nbconvert without a kernel."""
    folder = tmp_path_factory.mktemp("export")
    outputs = [
        nbformat.v4.new_output("display_data", {"text/html": attention_view(some_weights(heads), WORDS)._repr_html_()})
        for heads in (2, 1)
    ]
    cell = nbformat.v4.new_code_cell("attention_view(weights, words)", outputs=outputs)
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), folder / "view.ipynb")
    for theme in ("light", "dark"):
        command = [sys.executable, "-m", "nbconvert", "--to", "html", "--theme", theme, "--output", theme, "view.ipynb"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def browser_page() -> Iterator[Page]:
    binary = next((path for path in map(shutil.which, BROWSERS) if path), None)
    if binary is None:
        pytest.skip("no browser here")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=binary, args=BROWSER_OPTIONS)
        page = browser.new_page(viewport={"width": 1000, "height": 800})
        page.route("http*://**", lambda route: route.abort())  # an export asks for MathJax; nothing here needs it
        yield page
        browser.close()


def shown(page: Page, view: int = 0) -> list[int]:
    """Say which blocks of a view can be seen."""
    blocks = page.locator(".attention-view").nth(view).locator(".from")
    return [i for i in range(blocks.count()) if blocks.nth(i).is_visible()]


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_an_export_is_explored_by_pointer_and_keys(exported: Path, browser_page: Page, theme: str) -> None:
    page = browser_page
    page.goto((exported / f"{theme}.html").as_uri(), wait_until="domcontentloaded")
    labels = page.locator(".attention-view").first.locator("label")
    assert shown(page) == [4]
    labels.nth(1).hover()
    assert shown(page) == [1]
    assert shown(page, 1) == [4]  # the other view is a view of its own
    page.mouse.move(0, 0)
    assert shown(page) == [4]
    labels.nth(2).click()
    page.mouse.move(0, 0)
    assert shown(page) == [2]
    page.keyboard.press("ArrowRight")
    assert shown(page) == [3]
    assert shown(page, 1) == [4]


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_is_readable_on_every_colour(exported: Path, browser_page: Page, theme: str) -> None:
    page = browser_page
    page.goto((exported / f"{theme}.html").as_uri(), wait_until="domcontentloaded")
    ratios = page.evaluate(
        """() => {
        const numbers = text => text.match(/[\\d.]+/g).map(Number);
        const light = ([r, g, b]) => [r, g, b].map(v => v / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
            .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
        return [...document.querySelectorAll('.attention-view .key')].map(cell => {
            const view = numbers(getComputedStyle(cell.closest('.attention-view')).backgroundColor);
            const [r, g, b, alpha = 1] = numbers(getComputedStyle(cell).backgroundColor);
            const ground = light([r, g, b].map((v, i) => alpha * v + (1 - alpha) * view[i]));
            const text = light(numbers(getComputedStyle(cell.querySelector('.share')).color));
            return (Math.max(ground, text) + 0.05) / (Math.min(ground, text) + 0.05); }); }"""
    )
    assert len(ratios) == 75
    assert min(ratios) >= 4.5
