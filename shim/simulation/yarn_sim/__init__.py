"""The yarn-sim world: Heddle's own use cases in virtual time, over modelled clusters."""
