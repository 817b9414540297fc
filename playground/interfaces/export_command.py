"""`python -m playground export`: a trace as a page or a table, or a static site of traces."""

import argparse
from collections.abc import Callable
from pathlib import Path

from playground.interfaces import static_site, tables
from playground.recipe import RecipeError
from playground.trace import Trace


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("trace", nargs="?", metavar="TRACE", help="A trace file, as --trace or the page writes it.")
    parser.add_argument("--to", metavar="FILE", help=f"Where to write it; ends in {', '.join(WRITERS)}.")
    parser.add_argument("--site", metavar="DIR", help="A new or empty folder, or an earlier export, for a static site.")
    parser.add_argument("--traces", metavar="FILE", nargs="+", default=[], help="Also these traces, on the site.")


def run(options) -> None:
    """Make a trace file a page that plays offline or a table, or make a static site of traces."""
    if (options.site is None) == (options.trace is None):
        given = "a trace and --site are both" if options.site is not None else "neither a trace nor --site is"
        raise RecipeError("export", f"{given} given; allowed: TRACE --to FILE, or --site DIR.")
    if options.site is not None:
        _site(options)
        return
    if options.traces:
        raise RecipeError("traces", "is for --site; allowed here: one TRACE and --to FILE.")
    if not options.to:
        raise RecipeError("to", f"is not given; allowed: a file that ends in {', '.join(WRITERS)}.")
    path = Path(options.to)
    if path.suffix not in WRITERS:
        pictures = "; pictures are made on the page" if path.suffix in (".png", ".gif") else ""
        raise RecipeError(
            "to", f"{options.to!r} has another ending; allowed: a file that ends in {', '.join(WRITERS)}{pictures}."
        )
    trace = static_site.from_file("trace", Path(options.trace), Trace.from_json)
    content = WRITERS[path.suffix](trace, options.trace)
    path.write_text(static_site.well_formed(content), encoding="utf-8", newline="")


def _site(options) -> None:
    if options.to is not None:
        raise RecipeError("to", f"{options.to!r} is for one TRACE; with --site the folder is given there.")
    folder = Path(options.site)
    runs = [run for path in options.traces for run in static_site.recorded(Path(path))] + static_site.examples()
    static_site.write(static_site.pages(runs), folder)
    print(f"{len(runs)} runs: {folder / 'index.html'}")


def _page(trace: Trace, name: str) -> str:
    return static_site.page({"trace": trace.to_dict(), "labels": {}}, name)


def _csv(trace: Trace, name: str) -> str:
    try:
        return tables.trace_csv(trace)
    except (TypeError, ValueError, IndexError, KeyError, AttributeError):
        raise RecipeError("trace", f"{name!r} has cells that cannot be read as a table.") from None


WRITERS: dict[str, Callable[[Trace, str], str]] = {
    ".html": _page, ".csv": _csv, ".json": lambda trace, name: trace.to_json()
}  # fmt: skip
