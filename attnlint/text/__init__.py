"""Source text: bytes to programs and back. Codec, notebook cells, Markdown fences, atomic writes."""
