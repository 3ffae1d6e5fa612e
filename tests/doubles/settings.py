"""Settings of rooms where the configuration says nothing: a test names only what it is about."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeVar

from shim.app.settings import (
    cache_limits,
    claim_rules,
    connection_limits,
    cycle_settings,
    identity_rules,
    poll_schedule,
    reading_settings,
    reconciliation_settings,
    rest_settings,
    rpc_settings,
    session_settings,
    share_settings,
    split_settings,
    token_limits,
    view_settings,
)
from shim.calls.client import CallSettings
from shim.config.loader import Config
from shim.config.subclusters import SubClusterConfig
from shim.federation.routing import RoutingSettings
from shim.peers.following import FollowingSettings
from shim.submission.service import SubmissionSettings

T = TypeVar("T")

_CONFIG = Config()
_WITHIN_S = _CONFIG.server.answer_within_s
_MADE = (
    CallSettings(_WITHIN_S),
    FollowingSettings(verify_within_s=_CONFIG.masters.verify_within_s),
    RoutingSettings(_WITHIN_S),
    SubmissionSettings(_WITHIN_S),
    cache_limits(_CONFIG.history),
    claim_rules(_CONFIG.security.oidc, _CONFIG.security.roles),
    connection_limits(_CONFIG.server),
    cycle_settings(_CONFIG),
    replace(identity_rules(_CONFIG, user=""), admins=()),
    poll_schedule(_CONFIG.poll),
    reading_settings(_CONFIG.server),
    reconciliation_settings(_CONFIG.history),
    rest_settings(SubClusterConfig("east"), _CONFIG.poll),
    rpc_settings(_CONFIG.poll),
    session_settings(_CONFIG),
    share_settings(_CONFIG.shares),
    split_settings(_CONFIG),
    token_limits(_CONFIG),
    view_settings(_CONFIG),
)
_USUAL: Mapping[type[Any], Any] = {type(each): each for each in _MADE}


def usual(kind: type[T], **changed: Any) -> T:
    """The settings of this kind by the defaults of the sections, some of them changed.

    Raises:
        KeyError: There are none of this kind.
    """
    made: T = replace(_USUAL[kind], **changed)
    return made
