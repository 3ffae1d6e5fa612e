"""The state store over SQLAlchemy: SQLite with group commit on one machine, PostgreSQL for several Heddles."""

from shim.store.sql_state_store import SqlStateStore, body_secrets, open_state_store

__all__ = ["SqlStateStore", "body_secrets", "open_state_store"]
