"""The revisions, oldest first; `shim.store.schema.HEAD` names the newest."""
