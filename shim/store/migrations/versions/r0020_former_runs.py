"""Former runs of recurring jobs, for the predictions of the next."""

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the table and its index."""
    op.create_table(
        "former_runs",
        sa.Column("name", sa.String(64), primary_key=True),
        sa.Column("at_ms", sa.BigInteger, nullable=False),
        sa.Column("run", sa.Text, nullable=False),
    )
    op.create_index("ix_former_runs_at_ms", "former_runs", ["at_ms"])


def downgrade() -> None:
    """Drop it: what former runs told is learnt anew."""
    op.drop_table("former_runs")
