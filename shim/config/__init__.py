"""The configuration: loader, sections, queues, Kerberos."""

__all__: list[str] = []
