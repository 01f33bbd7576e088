"""The page about security and the attacks say the same."""

import importlib
import re
from pathlib import Path

from autograder.paths import ROOT

MODULES = sorted(path.stem for path in Path(__file__).parent.glob("test_*.py"))
ROW = re.compile(r"^\| `([\w-]+)` \| (.+) \| (.+) \|$", re.MULTILINE)


def cases() -> list[str]:
    """Name every attack of the suite."""
    tables = [getattr(importlib.import_module(name), "CASES", {}) for name in MODULES if name != Path(__file__).stem]
    return [name for table in tables for name in table]


def test_every_attack_has_its_row_and_every_row_its_attack() -> None:
    rows = ROW.findall((ROOT / "docs" / "security.md").read_text())
    assert sorted(name for name, _tries, _stops in rows) == sorted(cases())
    assert all(tries.strip() and stops.strip() for _name, tries, stops in rows)


def test_there_are_enough_attacks_and_each_has_a_name_of_its_own() -> None:
    assert len(cases()) >= 60
    assert len(set(cases())) == len(cases())


def test_the_page_says_what_is_not_promised() -> None:
    page = (ROOT / "docs" / "security.md").read_text()
    limits = page[page.index("## What the promise does not cover") :]
    for word in ("Collusion", "copied by hand", "kernel", "few bits", "machine code", "Linux"):
        assert word.lower() in limits.lower()
