"""Late penalties in nbgrader by the same rule as with `course grade --late`.

c.AssignLatePenalties.plugin_class = "autograder.nbgrader_late.LatePenaltyByRule"
c.LatePenaltyByRule.rule = "10% per day, at most 50%"
"""

from nbgrader.plugins import LateSubmissionPlugin
from traitlets import TraitError, Unicode, validate

from autograder.late import LateRule, NotARule


class LatePenaltyByRule(LateSubmissionPlugin):
    """Take off a share of the points for every hour, day or week that has begun."""

    rule = Unicode("10% per day, at most 50%", help="What lateness costs, of the points earned.").tag(config=True)

    @validate("rule")
    def _readable(self, proposal: dict) -> str:
        try:
            LateRule.parse(proposal["value"])
        except NotARule as error:
            raise TraitError(str(error)) from None
        return proposal["value"]

    def late_submission_penalty(self, student_id: str, score: float, total_seconds_late: float) -> float | None:
        """Give the points that are taken off; None where none are."""
        percent = LateRule.parse(self.rule).percent_off(total_seconds_late)
        return round(score * percent / 100, 2) if percent else None
