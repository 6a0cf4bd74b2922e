"""The one error that the demo raises on purpose."""


class DemoError(Exception):
    """The demo cannot go on, or something was not as it should be; the message is what to show."""
