"""Adapters: what Heddle speaks to. One folder for each kind of system; errors of that system are translated there."""
