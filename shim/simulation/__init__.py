"""Scheduling in simulated time: Heddle's masters and published schedulers, on the same workloads.

Everything here is a function of its inputs and its seed. It sits above the masters and the policies and drives them;
nothing that serves clusters imports it.
"""
