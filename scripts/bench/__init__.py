"""Benchmarks side by side: a ResourceManager asked directly, Hadoop's Java Router, and Heddle. `make bench`."""
