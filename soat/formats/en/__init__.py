"""The one language that the pages have."""
