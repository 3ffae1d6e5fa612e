"""The Local Master: the truth about one sub-cluster, its reports, and the verification of launches.

Synchronous and pure like the Global Master, of which it imports nothing: both speak `shim.domain.messages`.
"""
