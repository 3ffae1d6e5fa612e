"""The protocols of YARN, sans-IO: bytes and documents to values and back. No socket, clock, thread or log."""
