"""Composition: the only rooms' meeting place, where implementations are picked and servers assembled."""
