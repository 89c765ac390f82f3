"""The runtime probe."""
