"""A learner's first minutes in a real browser: JupyterLab as `make lab` starts it, and chapter 02."""

import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import ConsoleMessage, Page, sync_playwright

from autograder.build import released_path
from autograder.paths import ROOT
from autograder.sources import right_answers
from utils.catalogue import find_chapter

pytestmark = [pytest.mark.browser, pytest.mark.slow]
CHAPTER = find_chapter("02")
NOTEBOOK = f"{CHAPTER.id}/{CHAPTER.id}.ipynb"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
# Without these a browser asks its maker's hosts at every start.
BROWSER_OPTIONS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
                   "--disable-sync", "--no-first-run", "--disable-quic"]  # fmt: skip
# What JupyterLab itself logs in every session, whatever is open in it.
NOT_OURS = re.compile(
    r"favicon|sourcemap|Source Map|deprecat|ServiceWorker|service worker|language.?pack|404", re.IGNORECASE
)
WRONG = """
def softmax(x, dim=-1):
    e = torch.exp(x)
    return e / e.sum(dim=dim, keepdim=True)
"""


class Lab:
    """A running JupyterLab and its address."""

    def __init__(self, folder: Path) -> None:
        asked = subprocess.run(
            ["make", "-n", "lab", "-o", "install", "ARGS=--no-browser --LabApp.expose_app_in_browser=True"],
            cwd=ROOT, capture_output=True, text=True, timeout=30, check=True,
        )  # fmt: skip
        command = next(line for line in asked.stdout.splitlines() if "jupyter lab" in line)
        (folder / ".venv").symlink_to(sys.prefix)
        environment = os.environ | {
            "JUPYTER_CONFIG_DIR": str(folder / "config"),
            "JUPYTERLAB_SETTINGS_DIR": str(folder / "set"),
        }
        self.process = subprocess.Popen(
            ["bash", "-c", command], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            env=environment, start_new_session=True,
        )  # fmt: skip
        self.lines: list[str] = []
        self.url = ""
        found = threading.Event()

        def read() -> None:
            for line in self.process.stdout:
                self.lines.append(line)
                address = re.search(r"http://127\.0\.0\.1:\d+/lab\?token=\w+", line)
                if address:
                    self.url = address.group()
                    found.set()

        threading.Thread(target=read, daemon=True).start()
        assert found.wait(150), "JupyterLab didn't start:\n" + "".join(self.lines)

    def close(self) -> None:
        os.killpg(self.process.pid, signal.SIGTERM)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    folder = tmp_path_factory.mktemp("lab")
    (folder / "notebooks" / CHAPTER.id).mkdir(parents=True)
    shutil.copy(released_path(CHAPTER), folder / "notebooks" / NOTEBOOK)
    running = Lab(folder)
    yield running
    running.close()


@pytest.fixture(scope="module")
def screenshots(tmp_path_factory: pytest.TempPathFactory) -> Path:
    chosen = os.environ.get("COURSE_SCREENSHOTS")  # keeps the pictures, to look at them
    folder = Path(chosen) if chosen else tmp_path_factory.mktemp("screenshots")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


class Notebook:
    """An open notebook, driven as a person would: cells are clicked, typed into and run by keys."""

    def __init__(self, page: Page) -> None:
        self.page = page

    def index_of(self, start: str) -> int:
        script = """start => jupyterapp.shell.currentWidget.content.widgets.findIndex(
            cell => cell.model.sharedModel.source.startsWith(start))"""
        index = self.page.evaluate(script, start)
        assert index >= 0, f"no cell starts with {start!r}"
        return index

    def show(self, index: int) -> None:
        self.page.evaluate(
            """async index => { const content = jupyterapp.shell.currentWidget.content;
            content.activeCellIndex = index; await content.scrollToItem(index, 'start'); }""",
            index,
        )
        self.page.wait_for_timeout(300)

    def type_into(self, index: int, text: str) -> None:
        self.show(index)
        editor = self.page.locator(f'.jp-Cell[data-windowed-list-index="{index}"] .cm-content')
        editor.click()
        self.page.keyboard.press("Control+A")
        self.page.keyboard.press("Delete")
        self.page.keyboard.insert_text(text.strip("\n"))
        self.page.keyboard.press("Control+Enter")

    def run(self, index: int) -> None:
        self.show(index)
        self.page.evaluate("jupyterapp.commands.execute('notebook:run-cell')")

    def wait_until_run(self) -> None:
        """Wait until every code cell has a number and no output is still to come."""
        self.page.wait_for_function(
            """() => { const panel = jupyterapp.shell.currentWidget;
            const code = panel.content.widgets.filter(cell => cell.model.type === 'code' && cell.model.sharedModel.source);
            return panel.sessionContext?.session?.kernel?.status === 'idle'
                && code.every(cell => cell.model.executionCount && cell.model.executionState !== 'running'); }""",
            timeout=120_000,
        )

    def outputs(self) -> list[str]:
        """All outputs as HTML or text, also of cells out of sight."""
        script = """() => jupyterapp.shell.currentWidget.content.widgets.flatMap(cell =>
            cell.model.type === 'code' ? cell.model.outputs.toJSON().map(output =>
                JSON.stringify(output.data?.['text/html'] ?? (output.ename && 'raised ' + output.ename) ?? output.text ?? output.data ?? '')) : [])"""
        return self.page.evaluate(script)

    def card(self, index: int) -> str:
        self.show(index)
        self.page.wait_for_timeout(300)
        return self.page.locator(f'.jp-Cell[data-windowed-list-index="{index}"] .course-card').inner_text(
            timeout=15_000
        )


def test_a_learner_opens_runs_fails_and_succeeds(lab: Lab, screenshots: Path) -> None:
    browser_path = next(filter(None, map(shutil.which, BROWSERS)), None)
    assert browser_path, "no Chromium found: make test installs it, or apt-get install chromium"
    problems: list[str] = []

    def note(message: ConsoleMessage) -> None:
        where = f"{message.text} {message.location}"
        if message.type == "error" and not NOT_OURS.search(where):
            problems.append(where)

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path, args=BROWSER_OPTIONS)
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.on("console", note)
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.goto(lab.url.replace("/lab?", f"/lab/tree/{NOTEBOOK}?"))
        page.wait_for_selector(".jp-NotebookPanel .jp-Cell", timeout=60_000)
        page.wait_for_function("() => jupyterapp.shell.currentWidget?.sessionContext?.session?.kernel?.status === 'idle'",
                               timeout=60_000)  # fmt: skip
        notebook = Notebook(page)

        # Run all: every stub says "not started", and nothing stops the run.
        page.evaluate("jupyterapp.commands.execute('notebook:run-all-cells')")
        notebook.wait_until_run()
        outputs = notebook.outputs()
        for exercise in CHAPTER.exercises:
            assert any(f"{exercise.name}: not started" in output for output in outputs), exercise.name
        assert not any(output.startswith('"raised') for output in outputs)
        assert page.locator(".Toastify__toast").all_inner_texts() == []  # no question about news lies over the notebook
        notebook.show(0)
        page.screenshot(path=screenshots / "1-opened.png")

        # A wrong answer: its mistake is named.
        notebook.type_into(notebook.index_of("def softmax("), WRONG)
        check = notebook.index_of("check(softmax)")
        notebook.run(check)
        notebook.wait_until_run()
        text = notebook.card(check)
        assert "overflow" in text and "NaN" in text, text
        page.screenshot(path=screenshots / "2-wrong-light.png")
        page.evaluate("jupyterapp.commands.execute('apputils:change-theme', {theme: 'JupyterLab Dark'})")
        page.wait_for_timeout(1500)
        page.screenshot(path=screenshots / "2-wrong-dark.png")

        # A right one: the card turns green.
        notebook.type_into(notebook.index_of("def softmax("), right_answers(CHAPTER.id)["softmax"])
        notebook.run(check)
        notebook.wait_until_run()
        text = notebook.card(check)
        assert "✓ softmax" in text and "9 of 9 properties hold" in text, text
        page.screenshot(path=screenshots / "3-right-dark.png")
        page.evaluate("jupyterapp.commands.execute('apputils:change-theme', {theme: 'JupyterLab Light'})")
        page.wait_for_timeout(1500)
        page.screenshot(path=screenshots / "3-right-light.png")
        browser.close()
    assert problems == []
