"""Vector spaces, the tables of vectors, and the providers that compute them."""

from django.apps import AppConfig


class EmbeddingsConfig(AppConfig):
    """The embeddings app."""

    name = "embeddings"
    label = "embeddings"
