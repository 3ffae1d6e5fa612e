"""The Global Master: the view of all clusters, the choice of a home, and the scheduling core.

Synchronous and pure: events go in, effects come out (`machine.py`); no clock, socket, thread, log or random source, and
nothing of the Local Master is imported: both speak `shim.domain.messages`.
"""
