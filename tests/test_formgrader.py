"""nbgrader's formgrader in a real browser: autograde, scores, partial credit, a grade by hand, feedback."""

import os
import re
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from nbgrader.api import Gradebook
from nbgrader_tree import CHAPTER, SECRET, filled_in, make_course
from playwright.sync_api import Page, sync_playwright

from autograder import build
from autograder.sources import right_answers

pytestmark = [pytest.mark.browser, pytest.mark.slow]
RIGHT = right_answers(CHAPTER.id)
POINTS = {exercise.name: exercise.points for exercise in CHAPTER.exercises}
WRONG = "def softmax(x, dim=-1):\n    e = torch.exp(x)\n    return e / e.sum(dim=dim, keepdim=True)"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
BROWSER_OPTIONS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
                   "--disable-sync", "--no-first-run", "--disable-quic"]  # fmt: skip
MINUTES = 4 * 60_000  # an autograde on a busy machine


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    submissions = {"ada": filled_in(RIGHT), "bob": filled_in(RIGHT | {"softmax": WRONG})}
    return make_course(tmp_path_factory.mktemp("formgrader"), submissions)


@pytest.fixture(scope="module")
def lab(course: Path) -> Iterator[str]:
    """JupyterLab with nbgrader's extensions, as an instructor starts it in the course's folder; gives its address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    build.put_tools_on_path()
    environment = os.environ | {"COURSE_SECRET": SECRET, "JUPYTER_CONFIG_DIR": str(course / "config")}
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--ip=127.0.0.1", f"--port={port}", "--allow-root",
               "--IdentityProvider.token=token", "--LabApp.news_url=None", "--LabApp.expose_app_in_browser=True",
               "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate"]  # fmt: skip
    process = subprocess.Popen(
        command, cwd=course, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    lines: list[str] = []
    started = threading.Event()

    def read() -> None:
        for line in process.stdout:
            lines.append(line)
            if re.search(r"http://127\.0\.0\.1:\d+/lab", line):
                started.set()

    threading.Thread(target=read, daemon=True).start()
    try:
        assert started.wait(120), "JupyterLab didn't start:\n" + "".join(lines)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            process.kill()


@pytest.fixture(scope="module")
def page(lab: str) -> Iterator[Page]:
    browser_path = next(filter(None, map(shutil.which, BROWSERS)), None)
    assert browser_path, "no Chromium found: make test installs it, or apt-get install chromium"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path, args=BROWSER_OPTIONS)
        opened = browser.new_page(viewport={"width": 1280, "height": 900})
        opened.set_default_timeout(60_000)
        opened.goto(f"{lab}/lab?token=token")
        yield opened
        browser.close()


@pytest.fixture(scope="module")
def screenshots(tmp_path_factory: pytest.TempPathFactory) -> Path:
    chosen = os.environ.get("COURSE_SCREENSHOTS")  # keeps the pictures, to look at them
    folder = Path(chosen) if chosen else tmp_path_factory.mktemp("screenshots")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def submissions_page(page: Page, lab: str) -> None:
    page.goto(f"{lab}/formgrader/manage_submissions/{CHAPTER.id}")
    page.wait_for_selector("#main-table .student-id")


def row_of(page: Page, student: str) -> object:
    return page.locator("#main-table tr").filter(has=page.locator(".student-id", has_text=student))


def close_modal(page: Page) -> None:
    page.locator(".modal.in button[data-dismiss=modal]").first.click()
    page.wait_for_selector(".modal", state="detached")


# The tests build on each other, in this order: it is one round.


def test_formgrader_opens_in_jupyterlab_and_shows_the_assignment(page: Page, screenshots: Path) -> None:
    page.wait_for_function("() => window.jupyterapp?.commands?.hasCommand('nbgrader:open-formgrader')", timeout=120_000)
    page.evaluate("jupyterapp.commands.execute('nbgrader:open-formgrader')")
    frame = page.frame_locator("iframe")
    row = frame.locator("#main-table tr").filter(has_text=CHAPTER.id)
    row.wait_for(timeout=120_000)
    assert row.locator(".num-submissions").inner_text().strip() == "2"
    page.screenshot(path=screenshots / "formgrader-assignments.png")


@pytest.mark.parametrize("student", ["ada", "bob"])
def test_the_autograde_button_grades_with_our_preprocessor(
    page: Page, lab: str, student: str, screenshots: Path
) -> None:
    submissions_page(page, lab)
    assert "needs autograding" in row_of(page, student).locator(".status").inner_text()
    row_of(page, student).locator(".autograde a").click()
    page.wait_for_selector("#success-modal.in, #error-modal.in", timeout=MINUTES)
    log = page.locator(".modal.in").inner_text()
    page.screenshot(path=screenshots / f"formgrader-autograded-{student}.png")
    assert "Successfully autograded" in log, log
    close_modal(page)
    page.wait_for_function(
        """student => [...document.querySelectorAll('#main-table tr')].some(row =>
            row.querySelector('.student-id')?.innerText === student && /^graded$/.test(row.querySelector('.status').innerText))""",
        arg=student,
    )


def test_scores_and_partial_credit_are_shown(page: Page, lab: str, course: Path) -> None:
    submissions_page(page, lab)
    assert row_of(page, "ada").locator(".score").inner_text() == f"{CHAPTER.points} / {CHAPTER.points}"
    shown = float(row_of(page, "bob").locator(".score").inner_text().split("/")[0])
    assert CHAPTER.points - POINTS["softmax"] < shown < CHAPTER.points
    with Gradebook(f"sqlite:///{course}/gradebook.db", "transformers") as gradebook:
        assert gradebook.find_submission(CHAPTER.id, "bob").score == pytest.approx(shown, abs=0.01)


def test_a_grade_by_hand_takes_the_place_of_ours(page: Page, lab: str, course: Path, screenshots: Path) -> None:
    with Gradebook(f"sqlite:///{course}/gradebook.db", "transformers") as gradebook:
        notebook = gradebook.find_submission_notebook(CHAPTER.id, CHAPTER.id, "bob").id
    page.goto(f"{lab}/formgrader/submissions/{notebook}/")
    score = page.locator("#check-softmax")
    score.wait_for()
    page.wait_for_function("() => document.querySelector('#check-softmax').placeholder !== ''")
    assert 0 < float(score.get_attribute("placeholder")) < POINTS["softmax"]
    assert "partial:" in page.locator("body").inner_text()
    score.fill("2.75")
    with page.expect_response(
        lambda response: "/formgrader/api/grade/" in response.url and response.request.method == "PUT"
    ):
        score.press("Tab")
    page.screenshot(path=screenshots / "formgrader-by-hand.png")
    submissions_page(page, lab)
    expected = CHAPTER.points - POINTS["softmax"] + 2.75
    assert float(row_of(page, "bob").locator(".score").inner_text().split("/")[0]) == pytest.approx(expected)


def test_feedback_names_the_mistake_and_the_grade_by_hand(page: Page, lab: str, course: Path) -> None:
    submissions_page(page, lab)
    row_of(page, "bob").locator(".generate-feedback a").click()
    page.wait_for_selector("#success-modal.in, #error-modal.in", timeout=MINUTES)
    assert "Successfully generated feedback" in page.locator(".modal.in").inner_text()
    close_modal(page)
    feedback = course / "feedback" / "bob" / CHAPTER.id / f"{CHAPTER.id}.html"
    page.goto(feedback.as_uri())
    text = page.locator("body").inner_text()
    assert f"{CHAPTER.points - POINTS['softmax'] + 2.75:g} / {CHAPTER.points}" in re.sub(r"\.0\b", "", text)
    assert "overflow" in text and "partial:" in text
