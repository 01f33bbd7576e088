"""Result cards: HTML in JupyterLab (light and dark), plain text elsewhere."""

import html
import textwrap

from torch import Tensor

from utils.heatmap import comparison
from utils.report import Report

STYLE = """<style>
.course-card{font-family:var(--jp-ui-font-family,system-ui,sans-serif);font-size:14px;line-height:1.5;max-width:760px;
 color:var(--jp-ui-font-color1,#222);background:var(--jp-layout-color1,#fff);border:1px solid var(--jp-border-color2,#ccc);
 border-left:5px solid var(--course-accent);border-radius:6px;padding:10px 16px 12px;margin:6px 0}
.course-passed{--course-accent:#009e73}.course-failed{--course-accent:#d55e00}.course-waiting{--course-accent:#8a8f98}
.course-card header{display:flex;justify-content:space-between;gap:16px;font-weight:600;font-size:15px;margin-bottom:4px}
.course-card header small{font-weight:400;color:var(--jp-ui-font-color2,#666);white-space:nowrap}
.course-card ul{list-style:none!important;margin:4px 0!important;padding:0!important}.course-card li{padding:1px 0 1px 24px;position:relative}
.course-card li::before{position:absolute;left:2px;font-weight:700}
.course-card li.yes::before{content:"✓";color:#009e73}.course-card li.no::before{content:"✗";color:#d55e00}
.course-card .mistake{margin-top:10px;padding:8px 12px;border-radius:4px;background:var(--jp-layout-color2,#f3f3f3)}
.course-card .mistake b{display:block}.course-card code{font-size:13px}
.course-card pre{margin:6px 0 0;padding:6px 10px;background:var(--jp-layout-color2,#f3f3f3);border-radius:4px;
 white-space:pre-wrap;font-size:13px;color:inherit}
.course-maps{display:flex;flex-wrap:wrap;gap:22px;margin-top:10px}.course-map{margin:0}
.course-map figcaption{font-size:12px;color:var(--jp-ui-font-color2,#666);text-align:center}
</style>"""


def sentence(text: str) -> str:
    """Make a phrase a sentence: capital first, full stop last."""
    text = text.strip()
    if not text:
        return text
    start = text[0].upper() + text[1:] if not text[:2].isupper() and "_" not in text.split()[0] else text
    return start if start[-1] in ".?!:`)" else start + "."


def with_code(text: str) -> str:
    """Escape a text for HTML and set what stands between backticks as code."""
    parts = html.escape(text).split("`")
    if len(parts) % 2 == 0:  # a stray backtick
        return html.escape(text)
    return "".join(f"<code>{part}</code>" if i % 2 else part for i, part in enumerate(parts))


class Card:
    """A message that shows itself: HTML where the front end can, text where not."""

    def __init__(self, kind: str, title: str, aside: str = "", body: str = "", text: str = "") -> None:
        self.kind, self.title, self.aside, self.body, self.text = kind, title, aside, body, text

    def _repr_html_(self) -> str:
        aside = f"<small>{html.escape(self.aside)}</small>" if self.aside else ""
        return (
            f'{STYLE}<section class="course-card course-{self.kind}">'
            f"<header><span>{html.escape(self.title)}</span>{aside}</header>{self.body}</section>"
        )

    def __repr__(self) -> str:
        head = f"{self.title}  ({self.aside})" if self.aside else self.title
        return head if not self.text else f"{head}\n{self.text}"


class ReportCard(Card):
    """The card of a visible check."""

    def __init__(self, report: Report) -> None:
        self.report = report
        if report.status == "not_started":
            hint = "Replace `raise NotImplementedError` with your code, run the cell, and check again."
            super().__init__(
                "waiting",
                f"{report.exercise.name}: not started",
                "",
                f"<p>{with_code(hint)}</p>",
                hint.replace("`", ""),
            )
            return
        right = sum(line.passed for line in report.properties)
        aside = f"{right} of {len(report.properties)} properties hold"
        mark = "✓" if report.passed else "✗"
        kind = "passed" if report.passed else "failed"
        super().__init__(kind, f"{mark} {report.exercise.name}", aside, self._html(report), self._text(report))

    @property
    def passed(self) -> bool:
        """Whether the check is green."""
        return self.report.passed

    @staticmethod
    def _html(report: Report) -> str:
        lines = "".join(
            f'<li class="{"yes" if p.passed else "no"}">{with_code(p.title)}</li>' for p in report.properties
        )
        parts = [f"<ul>{lines}</ul>"]
        for diagnosis in report.diagnoses:
            parts.append(
                f'<div class="mistake"><b>{with_code(sentence(diagnosis.title))}</b>{with_code(sentence(diagnosis.hint))}</div>'
            )
        if report.error is not None and report.error.line:
            parts.append(f"<pre>{html.escape(_where(report))}</pre>")
        picture = next((p for p in report.properties if _can_be_drawn(p)), None)
        if picture is not None:
            parts.append(comparison(picture.difference.expected, picture.difference.found))
        return "".join(parts)

    @staticmethod
    def _text(report: Report) -> str:
        lines = [f"  {'✓' if p.passed else '✗'} {p.title.replace('`', '')}" for p in report.properties]
        for diagnosis in report.diagnoses:
            lines.append("")
            lines += textwrap.wrap(sentence(diagnosis.title).replace("`", ""), 100)
            lines += textwrap.wrap(sentence(diagnosis.hint).replace("`", ""), 100)
        if report.error is not None and report.error.line:
            lines += ["", _where(report)]
        return "\n".join(lines)


def _can_be_drawn(line: object) -> bool:
    difference = getattr(line, "difference", None)
    if difference is None or difference.kind not in ("values", "gradient"):
        return False
    return (
        isinstance(difference.expected, Tensor)
        and isinstance(difference.found, Tensor)
        and difference.found.numel() > 1
    )


def _where(report: Report) -> str:
    error = report.error
    source = _source_line(error)
    return f"line {error.line} of your cell:  {source}" if source else f"line {error.line} of your cell"


def _source_line(error: object) -> str:
    import linecache

    return linecache.getline(error.cell or "", error.line or 0).strip()
