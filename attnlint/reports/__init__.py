"""Output formats of `attnlint check` and `attnlint sites`."""
