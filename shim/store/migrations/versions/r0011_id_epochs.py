"""Epochs of application ids, and what tells that the database is a restored copy."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the table of epochs; let the federation remember when it was restored."""
    op.create_table(
        "id_epochs",
        sa.Column("timestamp_ms", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("begun_at_ms", sa.BigInteger, nullable=False),
    )
    op.add_column("federation", sa.Column("restored_at_ms", sa.BigInteger))
    op.add_column("federation", sa.Column("lineage", sa.Text))


def downgrade() -> None:
    """Drop the epochs, and the mark of a restore."""
    op.drop_column("federation", "lineage")
    op.drop_column("federation", "restored_at_ms")
    op.drop_table("id_epochs")
