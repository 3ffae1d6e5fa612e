"""Reasons that operators give for a drain."""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("admissions", sa.Column("reason", sa.Text()))


def downgrade() -> None:
    """Drop it: the words hold without their reasons."""
    op.drop_column("admissions", "reason")
