"""Fixes: where a fault stands and what is written there instead."""
