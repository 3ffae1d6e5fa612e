"""YARN clusters as models in virtual time: ResourceManager, CapacityScheduler, NodeManagers, ApplicationMasters."""
