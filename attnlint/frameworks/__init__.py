"""Framework knowledge as tables: what each operation does to shape, scale and terms."""
