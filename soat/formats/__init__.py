"""How dates and times are written in pages for people."""
