"""Published schedulers as baselines: one short file each, all functions `(Run) -> Outcome`.

They exist for comparison only. Decision code that production uses lies in `shim.policies`; nothing here is imported
by it.
"""

__all__: list[str] = []
