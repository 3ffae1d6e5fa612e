"""Test doubles and builders of Heddle's own tests; installed are those alone that the simulator runs on."""
