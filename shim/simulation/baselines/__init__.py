"""Published schedulers as baselines: one short file each, all functions `(Run) -> Outcome`.

They exist for comparison only; nothing outside the simulator imports them.
"""
