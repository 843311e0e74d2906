"""Apache Iceberg tables as Dagster assets."""
