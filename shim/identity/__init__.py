"""Identity of callers: names, principals, cookies, delegation tokens."""
