"""Evidence: what names and comments suggest. It may silence; it never proves."""
