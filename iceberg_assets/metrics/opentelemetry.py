"""Figures as OpenTelemetry has them: the same names, labels as attributes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from iceberg_assets.metrics.figures import Figure

if TYPE_CHECKING:
    from opentelemetry.metrics import Meter


def record(meter: Meter, figures: Iterable[Figure]) -> None:
    """Set a gauge of the meter for each figure; where they go is the business of the meter's provider."""
    gauges = {}
    for one in figures:
        if one.name not in gauges:
            gauges[one.name] = meter.create_gauge(one.name, description=one.help)
        gauges[one.name].set(one.value, dict(one.labels))
