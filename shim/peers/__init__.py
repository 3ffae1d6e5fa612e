"""Masters in processes of their own: following Local Masters, owning queues, passing submissions on.

Each module is one part of one kind of master. Sockets are behind `shim.ports.master_links`; who puts the parts together
is `shim.app.peers`.
"""
