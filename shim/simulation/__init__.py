"""Scheduling in simulated time: the pure masters of production and the published schedulers, on the same workloads.

Everything here is a function of its inputs and its seed. It sits above the masters and the policies and drives them;
nothing of production imports it.
"""

__all__: list[str] = []
