"""Submissions, exactly once: home, intent, delivery, repair, retirement."""

__all__: list[str] = []
