"""The choice of a home: pure code, without clock, socket or database."""
