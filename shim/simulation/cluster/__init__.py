"""YARN clusters as models in virtual time: ResourceManager, CapacityScheduler, NodeManagers, ApplicationMasters."""

__all__: list[str] = []
