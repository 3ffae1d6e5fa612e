"""The section `[security.delegation_tokens]` of the configuration."""

from dataclasses import dataclass

from shim.config.tree import Key, key

__all__ = ["DelegationTokensConfig"]

_DAY_S = 86_400.0


@dataclass(frozen=True, slots=True)
class DelegationTokensConfig:
    """Lives of the delegation tokens that Heddle issues; the defaults are a ResourceManager's."""

    renewal_s: float = key(
        _DAY_S,
        about=Key(
            "How long a token is good from its issue, and from each renewal, as "
            "`yarn.resourcemanager.delegation.token.renew-interval` has it.",
            least=1,
        ),
    )
    lifetime_s: float = key(
        7 * _DAY_S,
        about=Key(
            "How long at most from its issue, as `yarn.resourcemanager.delegation.token.max-lifetime` has it.", least=1
        ),
    )
