"""Pictures for the UI, drawn as SVG and carried in Markdown: a histogram of file sizes, a timeline of snapshots.

Bars and ticks need no plotting library, which every run and every code server would have to install and import; and as
text they are a few kilobytes where a bitmap is ten times as much. An event keeps its picture for ever.
"""

from base64 import b64encode
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from html import escape
from math import log2

import dagster as dg

from iceberg_assets.health import Snapshot
from iceberg_assets.spec.units import format_bytes, format_count

_WIDTH, _HEIGHT = 640, 180
_LEFT, _RIGHT, _TOP, _BOTTOM = 80, 20, 30, 30
_BEFORE, _AFTER, _GONE = "#b0b7c3", "#3b82f6", "#d97757"
_MOST_BARS = 24


def file_sizes(before: Collection[int], after: Collection[int]) -> dg.MarkdownMetadataValue:
    """A histogram of two sets of files, each bar twice as large a size as the one before it.

    Args:
        before: bytes of each file that was removed.
        after: bytes of each file that came instead.
    """
    counted = [Counter(_power(size) for size in sizes) for sizes in (before, after)]
    powers = [power for one in counted for power in one]
    first = max(min(powers, default=0), max(powers, default=0) - _MOST_BARS + 1)
    bars = range(first, max(powers, default=0) + 1)
    highest = max((count for one in counted for count in one.values()), default=1)
    slot = (_WIDTH - _LEFT - _RIGHT) / len(bars)
    drawn: list[str] = []
    for position, power in enumerate(bars):
        x = _LEFT + position * slot
        for side, (one, colour) in enumerate(zip(counted, (_BEFORE, _AFTER), strict=True)):
            # What is smaller than the first bar stands in it.
            count = sum(n for other, n in one.items() if max(other, first) == power)
            if count:
                height = (_HEIGHT - _TOP - _BOTTOM) * count / highest
                left, top = x + side * slot / 2, _HEIGHT - _BOTTOM - height
                title = f"{format_count(count, 'file')} up to {format_bytes(2**power)}"
                drawn.append(_bar(left, top, slot / 2 - 1, height, colour, title))
        if position % max(1, len(bars) // 6) == 0:
            drawn.append(_text(x, _HEIGHT - _BOTTOM + 16, f"≤ {format_bytes(2**power)}"))
    drawn.append(_text(4, _TOP + 10, str(highest)))
    words = (
        f"{format_count(len(before), 'file')} of {format_bytes(sum(before))} became "
        f"{format_count(len(after), 'file')} of {format_bytes(sum(after))}"
    )
    return _markdown(words, [_legend(0, _BEFORE, "before"), _legend(1, _AFTER, "after"), *drawn])


def snapshots_timeline(before: Sequence[Snapshot], left: Collection[int]) -> dg.MarkdownMetadataValue:
    """When the snapshots were committed, one row an operation, and which of them are left.

    Args:
        before: what the table listed.
        left: the ids of those that it still lists.
    """
    moments = [snapshot.committed_at for snapshot in before]
    first, last = min(moments), max(moments)
    lanes = sorted({snapshot.operation or "unknown" for snapshot in before})
    height = (_HEIGHT - _TOP - _BOTTOM) / len(lanes)
    drawn = []
    for number, lane in enumerate(lanes):
        top = _TOP + number * height
        drawn.append(_text(4, top + height / 2 + 4, lane))
        for colour, kept in ((_GONE, False), (_AFTER, True)):
            # One mark a pixel: thousands of snapshots are no larger a picture than hundreds.
            places = {
                _place(snapshot.committed_at, first, last)
                for snapshot in before
                if (snapshot.operation or "unknown") == lane and (snapshot.id in left) is kept
            }
            if places:
                marks = "".join(f"M{x} {top + 4:.0f}v{height - 8:.0f}" for x in sorted(places))
                drawn.append(f'<path d="{marks}" stroke="{colour}" stroke-width="2"/>')
    drawn.append(_text(_LEFT, _HEIGHT - 8, f"{first:%Y-%m-%d %H:%M}"))
    drawn.append(_text(_WIDTH - _RIGHT - 100, _HEIGHT - 8, f"{last:%Y-%m-%d %H:%M}"))
    gone = sum(snapshot.id not in left for snapshot in before)
    words = f"{gone} of {format_count(len(before), 'snapshot')} expired"
    return _markdown(words, [_legend(0, _GONE, "expired"), _legend(1, _AFTER, "left"), *drawn])


def _power(size: int) -> int:
    """The power of two that a size is at most."""
    return max(0, int(log2(size - 1)) + 1) if size > 1 else 0


def _place(moment: datetime, first: datetime, last: datetime) -> int:
    share = (moment - first) / (last - first) if last > first else 1.0
    return round(_LEFT + share * (_WIDTH - _LEFT - _RIGHT))


def _bar(x: float, y: float, width: float, height: float, colour: str, title: str) -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" width="{max(width, 1):.1f}" height="{height:.1f}"'
    return f'<rect {place} fill="{colour}"><title>{escape(title)}</title></rect>'


def _text(x: float, y: float, words: str) -> str:
    return f'<text x="{x:.0f}" y="{y:.0f}">{escape(words)}</text>'


def _legend(number: int, colour: str, words: str) -> str:
    x = _LEFT + number * 90
    return f'<rect x="{x}" y="8" width="10" height="10" fill="{colour}"/>' + _text(x + 14, 17, words)


def _markdown(words: str, drawn: Iterable[str]) -> dg.MarkdownMetadataValue:
    picture = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{_HEIGHT}" '
        f'font-family="sans-serif" font-size="11" fill="#6b7280">{"".join(drawn)}</svg>'
    )
    return dg.MetadataValue.md(
        f"{words}\n\n![{words}](data:image/svg+xml;base64,{b64encode(picture.encode()).decode()})"
    )
