"""The configuration: loader, sections, queues, Kerberos."""
