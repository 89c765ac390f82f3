"""Attention sites: what the interpreter records, and the verdict on it."""
