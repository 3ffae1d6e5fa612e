"""Applications that hold containers of several sub-clusters: attempts, sessions, unmanaged ApplicationMasters."""
