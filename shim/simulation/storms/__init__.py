"""Storms: random faults from one seed, played in virtual time against the use cases of production."""
