"""By which answer a container was given: what an answer that never arrived gave is not the ApplicationMaster's."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Rows from before tell of no answer, and are taken as heard of."""
    op.add_column("span_attempts", sa.Column("registrations", sa.Integer, nullable=False, server_default="0"))
    op.add_column("span_containers", sa.Column("answer", sa.String(63), nullable=False, server_default=""))
