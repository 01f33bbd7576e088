"""`course fetch`: what is in the cache, what is fetched, and the file for a room without wifi."""

from pathlib import Path

import typer
from rich.table import Table

from autograder import wheelhouse
from autograder.terminal import console, errors, wrong_call
from utils import assets


def fetch(names: list[str]) -> None:
    """Fetch assets and show what is there; leaves with 1 where one can't be had."""
    known = assets.all_assets()
    if strange := sorted(set(names) - set(known)):
        raise wrong_call(f"no asset named {', '.join(strange)}; there are {', '.join(known)}")
    try:
        assets.fetch(names, say=_remark)
    except assets.AssetMissing as error:
        _show_assets()
        errors.print(str(error), markup=False, highlight=False, soft_wrap=True)
        raise typer.Exit(1) from None
    _show_assets()


def _remark(text: str) -> None:
    errors.print(text, markup=False, highlight=False, soft_wrap=True)


def _show_assets() -> None:
    table = Table("asset", "what it is", "size", "licence", "used in", box=None, padding=(0, 2, 0, 0))
    for asset in assets.all_assets().values():
        mark = "[green]✓[/]" if assets.is_here(asset.name) else "[yellow]not here[/]"
        table.add_row(f"{mark} {asset.name}", asset.title, assets.megabytes(asset.size), asset.licence, asset.used_in)
    console.print(table)
    console.print(f"Cache: {assets.cache_folder()}", markup=False, highlight=False, soft_wrap=True)


def pack(out: Path, pip_args: str) -> None:
    """Pack the file for a room without wifi, and say what to do with it."""
    try:
        with console.status("Downloading wheels") as status:
            count = wheelhouse.pack(
                out, lambda size: status.update(f"Downloading wheels: {size / 1e6:,.0f} MB"), pip_args
            )
    except assets.AssetMissing as error:
        raise wrong_call(str(error)) from None
    except OSError as error:
        raise wrong_call(f"{out} can't be written: {error}") from None
    fits = assets.in_words(assets.this_platform())
    console.print(f"[green]✓[/] {out}: {assets.megabytes(out.stat().st_size)}, {count} wheels", highlight=False)
    console.print(f"  The wheels fit {fits}; weights and data fit everywhere.", highlight=False, soft_wrap=True)
    console.print(f"  SHA-256 {assets.sha256_of(out)}", highlight=False, soft_wrap=True)
    console.print("  Learners unzip it and say `make lab` there, or `make lab OFFLINE=FILE` in the course they have.")


def install(source: Path, wheels: Path | None) -> None:
    """Install from the file for a room without wifi."""
    try:
        installed = assets.install(source, wheels)
    except assets.AssetMissing as error:
        raise wrong_call(str(error)) from None
    _show_assets()
    console.print(assets.describe(installed, source), markup=False, highlight=False, soft_wrap=True)
