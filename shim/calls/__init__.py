"""Calls of Hadoop clients and operators' tools, brought to the sub-clusters that they concern."""
