"""Applications that write Iceberg tables with Spark by their HOCON settings: made into profiles and tables."""

from iceberg_assets.conf.bring import Brought, bring, write

__all__ = ["Brought", "bring", "write"]
