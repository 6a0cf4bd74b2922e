"""Body and answer of the raw embedding endpoint."""

from rest_framework import serializers

from soat.core.body import Body
from soat.core.fields import Text, TextList

MAX_INPUTS = 256
MAX_INPUT_CHARACTERS = 100_000


class EmbeddingsRequest(Body):
    """The body of ``createEmbeddings``: one ``input`` or several ``inputs``."""

    input = Text(max_length=MAX_INPUT_CHARACTERS, nfc=True, required=False)
    inputs = TextList(max_items=MAX_INPUTS, item_length=MAX_INPUT_CHARACTERS, required=False)


class EmbeddingsResponse(serializers.Serializer[None]):
    """``embedding`` for an ``input``, ``embeddings`` for ``inputs``."""

    embedding = serializers.ListField(child=serializers.FloatField(), required=False)
    embeddings = serializers.ListField(child=serializers.ListField(child=serializers.FloatField()), required=False)
