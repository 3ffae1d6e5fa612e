"""Heddle: one YARN ResourceManager in front of many YARN clusters.

`domain`, `global_master`, `local_master`, `policies` and `protocol` are pure; `services` are the use cases; `server`,
`store`, `lab`, `simulation` and `cli` are the shells around them. See docs/developers/design.md.
"""

__version__ = "0.1.0"
