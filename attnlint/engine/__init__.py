"""The engine: the abstract interpreter that derives attention sites from source."""
