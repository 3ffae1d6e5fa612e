"""Alembic's entry: run the migrations on the connection that the store passes."""

from alembic import context

from shim.store.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    render_as_batch=True,  # SQLite alters a table by copying it
    transaction_per_migration=False,
)
context.run_migrations()
