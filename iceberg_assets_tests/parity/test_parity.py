"""A share of the layouts on the engine; ``make test-parity`` runs all of them."""

from typing import TYPE_CHECKING

from iceberg_assets.profiles import Profile
from iceberg_assets_tests.parity.rounds import play
from iceberg_assets_tests.parity.themes import layout

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Each theme twice.
SHARE = range(40)


def test_what_health_names_is_what_the_engine_rewrites(spark: "SparkSession", profile: Profile) -> None:
    played = list(play(spark, profile, [layout(seed) for seed in SHARE]))
    assert len(played) == len(SHARE)
    assert [str(one) for one in played if one.fault] == []
