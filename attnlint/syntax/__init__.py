"""Syntax: what a text defines, binds and imports, before anything is evaluated."""
