"""The scheduling core: Global and Local Masters as state machines, orderings, policies. Pure code."""
