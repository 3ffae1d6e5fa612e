"""Keys of the configuration whose value is an address."""

from shim.config.tree import Key

_PORT = r"(6553[0-5]|655[0-2]\d|65[0-4]\d\d|6[0-4]\d{3}|[1-5]\d{4}|\d{1,4})"
ADDRESS = rf"(\[[0-9a-fA-F:.]+\]|[^\s:/\[\]]+):{_PORT}"
WEB_ADDRESS = r"https?://[^\s/?#@]+/?"
ADDRESS_FORM = 'an address; write "host:port", the port at most 65535'


def address_key(meaning: str) -> Key:
    """Describe a key that holds `host:port`."""
    return Key(meaning, pattern=ADDRESS, form=ADDRESS_FORM)
