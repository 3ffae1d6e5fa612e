"""Ways of answering: one vocabulary for the tables of the web services, of clients and of operators.

A table says of each endpoint or method which way it goes, and by which key the sub-cluster is found.
"""

from enum import Enum


class Way(Enum):
    """Origin of an answer."""

    OWN = "own"
    """Heddle's own: ids, submissions, its state."""
    ROUTE = "route"
    """The one sub-cluster that has what the key names; all of them where an attempt has containers."""
    MERGE = "merge"
    """All sub-clusters, their answers made into one."""
    CARRY = "carry"
    """The first sub-cluster that can be used: what is the same everywhere."""
    ANY_CLUSTER = "willing"
    """One sub-cluster after the other until one does not refuse: what some may be set up for, and others not."""
    SPREAD = "spread"
    """A change that every sub-cluster is told, or the one that the request names."""
    SPLIT = "split"
    """A change of which each sub-cluster is told what concerns its own nodes."""
    REFUSE = "refuse"
    """Has no meaning here, with the reason."""


class RouteKey(Enum):
    """Key by which the sub-cluster of a request is found."""

    NONE = "none"
    APPLICATION = "application"
    ATTEMPT = "attempt"
    CONTAINER = "container"
    DIAGNOSED = "diagnosed"
    """An application, or what is none and is told so with status 200."""
    NODE = "node"
    HOST = "host"
    """A node, or all nodes of a host."""
    NODE_PARAMETER = "nodeId"
    QUEUE = "queue"
    RESERVATION = "reservation"
    NAMED = "cluster"
    """The caller must say which, if there is more than one: `?cluster=ID`."""
