"""Identity of callers: names, principals, cookies, delegation tokens."""

__all__: list[str] = []
