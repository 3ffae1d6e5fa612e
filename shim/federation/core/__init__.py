"""The federation view: pure code, without clock, socket or database."""
