"""Scheduling policies, one file a system: each names its ordering, placement, commitment and reallocation.

Pure: no clock, socket, thread, log or random source; the time and the source of random numbers are arguments.
"""

__all__: list[str] = []
