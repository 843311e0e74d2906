"""``gc.enabled`` is switched on for a while, and what is left in between says what it was."""

from contextlib import suppress

import pytest

from iceberg_assets.health import read_health
from iceberg_assets.maintenance.garbage import forbidden
from iceberg_assets.maintenance.gc_enabled import BEFORE, put_back, switched_on
from iceberg_assets.spec import TableSpec
from iceberg_assets.spec.table import WHOLE_TABLE


@pytest.mark.parametrize("version", [2, 3], ids=["by PyIceberg", "by Spark"])
def test_it_is_switched_on_for_the_block_alone_and_what_a_person_sets_meanwhile_stands(
    spark, profile, namespace, version
):
    spec = TableSpec(table=(namespace, "t"), dates=WHOLE_TABLE)
    spark.sql(f"CREATE NAMESPACE local.{namespace}")
    spark.sql(
        f"CREATE TABLE local.{namespace}.t (id BIGINT) USING iceberg "
        f"TBLPROPERTIES ('format-version' = '{version}', 'gc.enabled' = 'false')"
    )

    def said() -> tuple[str | None, str | None]:
        properties = profile.pyiceberg().load_table(spec.table).properties
        return properties.get("gc.enabled"), properties.get(BEFORE)

    with suppress(ZeroDivisionError), switched_on(lambda: spark, profile, spec):
        assert said() == ("true", "false")
        health = read_health(profile, spec)
        assert health is not None
        assert "gc.enabled is false" in str(forbidden(health)), "nobody else may delete meanwhile"
        raise ZeroDivisionError
    assert said() == ("false", None)

    spark.sql(f"ALTER TABLE local.{namespace}.t SET TBLPROPERTIES ('{BEFORE}' = 'false', 'gc.enabled' = 'False')")
    put_back(lambda: spark, profile, spec)
    assert said() == ("False", None)
