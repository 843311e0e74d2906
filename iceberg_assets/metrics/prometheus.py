"""Figures in Prometheus's text format."""

from collections.abc import Iterable

from iceberg_assets.errors import ConfigurationError
from iceberg_assets.metrics.figures import Figure


def exposition(figures: Iterable[Figure]) -> str:
    """The text that a scrape gets.

    Raises:
        ConfigurationError: prometheus_client is not installed.
    """
    try:
        from prometheus_client import CollectorRegistry, Gauge, generate_latest
    except ImportError:
        raise ConfigurationError(
            "metrics: prometheus_client is not installed: pip install 'iceberg-assets[metrics]'"
        ) from None
    registry, gauges = CollectorRegistry(), dict[str, Gauge]()
    for one in figures:
        if one.name not in gauges:
            gauges[one.name] = Gauge(one.name, one.help, list(one.labels), registry=registry)
        gauges[one.name].labels(**one.labels).set(one.value)
    return generate_latest(registry).decode()
