"""Where: profiles and their YAML files."""

from iceberg_assets.profiles.profile import STATE_NAMESPACE, Profile, load_profile, project_root

__all__ = ["STATE_NAMESPACE", "Profile", "load_profile", "project_root"]
