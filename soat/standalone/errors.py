"""The one error that this package raises on purpose."""


class StandaloneError(Exception):
    """Something that only the person at the terminal can put right; the message is what to show."""
