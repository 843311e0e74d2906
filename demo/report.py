"""What the demo says at its end: tables for people."""

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table

from demo.verify import GIB, Figures


def report(figures: Figures, steps: Sequence[tuple[str, float]], in_all: float) -> RenderableType:
    """Before and after, the sensors' runs, the checks, and where the time went.

    Args:
        figures: what was measured.
        steps: each step of the demo, and how many seconds it took.
        in_all: seconds of the whole, with what lies between the steps.
    """
    return Group(_before_and_after(figures), _runs(figures), _checks(figures), _seconds(figures, steps, in_all))


def _before_and_after(figures: Figures) -> Table:
    before, after = figures.before, figures.after
    table = Table("demo.flights", "before", "after", title="Before and after", title_justify="left")
    for column in table.columns[1:]:
        column.justify = "right"
    table.add_row("rows (raw files: " + f"{figures.raw_rows:,})", f"{before.rows:,}", f"{after.rows:,}")
    table.add_row("data files", str(before.files), str(after.files))
    table.add_row("of which small", str(before.small_files), str(after.small_files))
    table.add_row("bytes", f"{before.bytes:,}", f"{after.bytes:,}")
    table.add_row("snapshots", str(before.snapshots), str(after.snapshots))
    table.add_row("manifests", str(before.manifests), str(after.manifests))
    table.add_row("orphan files", str(len(before.orphans)), str(len(after.orphans)))
    return table


def _runs(figures: Figures) -> Table:
    table = Table("run", "launched by sensor", "operation", "seconds", title="Runs", title_justify="left")
    for run in figures.sensor_runs:
        for position, (operation, seconds) in enumerate(run.operations.items()):
            who = ("", "") if position else (run.run_id, run.sensor)
            table.add_row(*who, operation, f"{seconds:.1f}")
    return table


def _checks(figures: Figures) -> Table:
    table = Table("check", "passed", "failed", "at last", title="Checks", title_justify="left")
    for name, results in sorted(figures.checks.items()):
        last = "[green]passed[/]" if results[-1] else "[red]failed[/]"
        table.add_row(name, str(sum(results)), str(len(results) - sum(results)), last)
    return table


def _seconds(figures: Figures, steps: Sequence[tuple[str, float]], in_all: float) -> Table:
    table = Table("step", "seconds", title="Time and memory", title_justify="left")
    table.columns[1].justify = "right"
    for step, seconds in steps:
        table.add_row(step, f"{seconds:.1f}")
    table.add_section()
    table.add_row("in all", f"{in_all:.1f}")
    table.add_row("longest gap of two waves", f"{figures.longest_gap:.1f}")
    table.add_row("peak memory (summed PSS)", f"{figures.peak_memory / GIB:.2f} GiB")
    return table
