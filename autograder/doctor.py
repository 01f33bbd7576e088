"""Look at this machine: what the course needs, what is here, and what to do about what isn't."""

import importlib.metadata
import platform
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from autograder.paths import ROOT
from autograder.secrets import secret_file
from utils.assets import all_assets, is_here

PACKAGES = ("torch", "numpy", "matplotlib", "jupyterlab", "nbgrader", "jupytext", "safetensors")
ADVICE = {
    "namespaces": "Allow unprivileged user namespaces (sysctl kernel.unprivileged_userns_clone=1, or "
    "kernel.apparmor_restrict_unprivileged_userns=0 on Ubuntu), or run as root.",
    "landlock": "Needs Linux 5.13 or newer with landlock in the kernel's list of security modules (lsm=landlock,…).",
    "seccomp": "Needs a Linux kernel with seccomp filters, on x86-64 or arm64.",
}


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at: "good", "missing" (something works less well) or "bad" (something doesn't work)."""

    what: str
    state: str
    found: str
    remedy: str = ""


def examine_machine() -> Iterator[Finding]:
    """Look at everything that matters, one finding at a time."""
    version = platform.python_version()
    state = "good" if sys.version_info >= (3, 11) else "bad"
    yield Finding("Python", state, version, "" if state == "good" else "The course needs Python 3.11 or newer.")
    for package in PACKAGES:
        try:
            yield Finding(package, "good", importlib.metadata.version(package))
        except importlib.metadata.PackageNotFoundError:
            yield Finding(package, "bad", "not installed", "make lab installs everything")
    yield from _examine_isolation()
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    remedy = "" if browser else "Only the browser tests need it: apt-get install chromium"
    yield Finding("browser", "good" if browser else "missing", "found" if browser else "none found", remedy)
    yield Finding("sources", "good" if (ROOT / "solutions").is_dir() else "missing", "solutions/ is here"
                  if (ROOT / "solutions").is_dir() else "no solutions/: grading needs a checkout")  # fmt: skip
    yield from examine_assets()
    known = secret_file().exists()
    yield Finding("secret", "good", "kept in your configuration" if known else "will be made at the first grading")


def examine_assets() -> Iterator[Finding]:
    """Look which weights and data are in the cache, intact."""
    for asset in all_assets().values():
        state, found = ("good", "in the cache") if is_here(asset.name) else ("missing", "not fetched")
        remedy = f"Only {asset.used_in} needs it: course fetch, or without wifi course fetch --install FILE"
        yield Finding(f"asset {asset.name}", state, found, "" if state == "good" else remedy)


def _examine_isolation() -> Iterator[Finding]:
    if platform.system() != "Linux":
        remedy = (
            "Grade untrusted notebooks on Linux. Here: course grade --isolation none, for notebooks that you trust."
        )
        yield Finding("isolation", "missing", f"not on {platform.system()}", remedy)
        return
    from autograder.sandbox.client import IsolationMissing, WarmClient

    try:
        with WarmClient("auto") as warm:
            strength = warm.isolation()
            yield Finding("isolation", "good" if strength == "strict" else "missing", strength)
            for layer in warm.layers.missing():
                yield Finding(f"  {layer}", "missing", warm.reasons.get(layer, "missing"), ADVICE.get(layer, ""))
    except IsolationMissing as error:
        yield Finding("isolation", "missing", str(error), " ".join(ADVICE.values()))
    except RuntimeError as error:
        yield Finding("isolation", "bad", str(error))
