"""Files below a table's location that nothing refers to: found, removed or set aside, and put back."""

from iceberg_assets.maintenance.orphans.aside import files_aside, put_back
from iceberg_assets.maintenance.orphans.remove import foretell_orphans, remove_orphans

__all__ = ["files_aside", "foretell_orphans", "put_back", "remove_orphans"]
