"""Where: profiles and their YAML files, and what is there."""

from iceberg_assets.profiles.documents import documents
from iceberg_assets.profiles.listing import Listed, Listing, list_catalog
from iceberg_assets.profiles.loading import load_profile, profile_name, project_root
from iceberg_assets.profiles.place import inside, local_path, overlap
from iceberg_assets.profiles.profile import Profile
from iceberg_assets.profiles.services import brief_of, naming_the_service, of_service, shown_cause
from iceberg_assets.profiles.store import Store, on_s3

__all__ = [
    "Listed",
    "Listing",
    "Profile",
    "Store",
    "brief_of",
    "documents",
    "inside",
    "list_catalog",
    "load_profile",
    "local_path",
    "naming_the_service",
    "of_service",
    "on_s3",
    "overlap",
    "profile_name",
    "project_root",
    "shown_cause",
]
