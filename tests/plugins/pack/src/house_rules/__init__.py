"""The rules of a team, one file each; attnlint finds them through the entry point in pyproject.toml."""
