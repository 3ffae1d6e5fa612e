"""The machine's clock."""

import asyncio
import time

__all__ = ["SystemClock"]


class SystemClock:
    """`shim.ports.Clock` by the machine's clocks."""

    def now_s(self) -> float:
        """See `Clock`."""
        return time.time()

    def monotonic_s(self) -> float:
        """See `Clock`."""
        return time.monotonic()

    async def sleep(self, duration_s: float) -> None:
        """See `Clock`."""
        await asyncio.sleep(max(0.0, duration_s))
