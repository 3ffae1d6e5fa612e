"""The servers: what clients connect to. They translate, and decide nothing."""
