"""Every feature set by turbostat's short name."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from turbotui.machine.platform_data_atom import ATOM
from turbotui.machine.platform_data_client import CLIENT
from turbotui.machine.platform_data_server import SERVER
from turbotui.machine.platform_features import FeatureSet

FEATURE_SETS: Mapping[str, FeatureSet] = MappingProxyType(
    {features.name: features for features in (*CLIENT, *SERVER, *ATOM)}
)
"""Feature sets by name (turbostat-spec 3.2)."""
