"""What doubles of `shim.multicluster.core.matching.Launches` share."""

__all__ = ["Unordered"]


class Unordered:
    """The part of `Launches` that tells of others: there are none."""

    is_ordered = False

    def before(self, subcluster, key):  # noqa: ARG002 - the protocol's signature
        return ()

    def wait(self, key, waiting):
        pass

    def granted(self):
        pass

    def begun(self, container, since_s):
        pass

    def ended(self, container, *, is_whole):
        pass

    def estimate(self):
        return None

    def took(self, subcluster, key):
        pass

    def lost(self, subcluster, number):  # noqa: ARG002 - the protocol's signature
        return 0

    def leave(self):
        pass
