"""Histories of applications that once ran, replayed under other configurations and clusters."""
