"""Benchmarks with their limits; each has a make target."""
