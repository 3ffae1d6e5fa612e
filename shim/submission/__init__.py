"""Submissions, exactly once: home, intent, delivery, repair, retirement."""
