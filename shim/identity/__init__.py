"""Who is calling: names, principals, cookies, delegation tokens."""

__all__: list[str] = []
