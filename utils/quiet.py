"""Whether a grader is running the notebook: then checks show nothing, and earlier chapters are not looked at."""

_on = False


def turn_on() -> None:
    """Be quiet from now on."""
    global _on
    _on = True


def is_on() -> bool:
    """Say whether a grader is running the notebook."""
    return _on
