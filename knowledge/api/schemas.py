"""Body and results of the search."""

from drf_spectacular.utils import PolymorphicProxySerializer
from rest_framework import serializers

from knowledge.nearest import Way
from knowledge.rerank.port import Failure
from soat.core.body import Body
from soat.core.fields import Choice, Flag, Number, Text, TextList, WholeNumber
from soat.engine.fusion import Ranking
from soat.engine.rank import DEFAULT_LIMIT, MAX_LIMIT

MAX_QUERY_CHARACTERS = 100_000


class KnowledgeSearch(Body):
    """The body of ``searchKnowledge``."""

    project_id = Text(max_length=64, required=False, allow_null=True)
    query = Text(max_length=MAX_QUERY_CHARACTERS, required=False, blank=True, allow_null=True)
    min_score = Number(min_value=0, max_value=1, required=False, allow_null=True)
    limit = WholeNumber(
        min_value=1, default=DEFAULT_LIMIT, allow_null=True, help_text=f"More than {MAX_LIMIT} count as {MAX_LIMIT}."
    )
    memory_ids = TextList(required=False, scalar=True, allow_null=True)
    memory_tags = TextList(required=False, scalar=True, allow_null=True)
    document_paths = TextList(item_length=1_024, required=False, scalar=True, allow_null=True)
    document_ids = TextList(required=False, scalar=True, allow_null=True)
    ranking = Choice([ranking.value for ranking in Ranking], required=False, allow_null=True)
    rerank = Flag(
        default=False,
        help_text="Have the best results read by the server's reranker and ordered by what it says. Means nothing"
        " without a query; refused by a server that has no reranker.",
    )
    explain = Flag(required=False, help_text="Say how the results were found. For admins only.")


class Ranks(serializers.Serializer[None]):
    """At which place each leg of a hybrid ranking found the result, and where a reranker put it.

    A leg that did not find it is left out, and so is the reranker where it has not read it.
    """

    cosine = serializers.IntegerField(required=False, min_value=1)
    words = serializers.IntegerField(required=False, min_value=1)
    rerank = serializers.IntegerField(required=False, min_value=1)


class DocumentKnowledgeResult(serializers.Serializer[None]):
    """A chunk of a document."""

    source_type = serializers.ChoiceField(["document"])
    document_id = serializers.CharField()
    chunk_id = serializers.CharField()
    page = serializers.IntegerField(required=False, allow_null=True)
    file_id = serializers.CharField()
    project_id = serializers.CharField()
    path = serializers.CharField(required=False)
    filename = serializers.CharField()
    size = serializers.IntegerField()
    title = serializers.CharField(required=False)
    metadata = serializers.DictField(required=False)
    tags = serializers.DictField(child=serializers.CharField(), required=False)
    content = serializers.CharField(allow_null=True)
    score = serializers.FloatField(required=False)
    similarity_score = serializers.FloatField(required=False, min_value=0, max_value=1)
    ranks = Ranks(required=False, help_text="Only of a hybrid ranking or a rerank.")
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()


class MemoryKnowledgeResult(serializers.Serializer[None]):
    """An entry of a memory."""

    source_type = serializers.ChoiceField(["memory"])
    entry_id = serializers.CharField()
    memory_id = serializers.CharField()
    memory_name = serializers.CharField()
    content = serializers.CharField()
    tags = serializers.ListField(child=serializers.CharField(), allow_null=True)
    score = serializers.FloatField(required=False)
    similarity_score = serializers.FloatField(required=False, min_value=0, max_value=1)
    ranks = Ranks(required=False, help_text="Only of a hybrid ranking or a rerank.")
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()


class SourceExplanation(serializers.Serializer[None]):
    """How one source was searched."""

    source_type = serializers.ChoiceField(["document", "memory"])
    way = serializers.ChoiceField(
        [way.value for way in Way],
        help_text="`exact`: every row that passes the filters was compared; `index`: the vector index was asked;"
        " `listed`: there was no query.",
    )
    counted = serializers.IntegerField(
        allow_null=True,
        help_text="About how many vectors pass the filters; above `exact_up_to` they are not counted to the end.",
    )
    exact_up_to = serializers.IntegerField(allow_null=True, help_text="Up to so many are compared one by one.")
    index_fell_short = serializers.BooleanField(
        help_text="The index was asked and gave too few, so that all were compared after all."
    )
    ms = serializers.FloatField(help_text="Milliseconds in the database and of reading its answer.")


class RerankExplanation(serializers.Serializer[None]):
    """How the rerank went."""

    texts = serializers.IntegerField(help_text="How many results the reranker was to read.")
    ms = serializers.FloatField(help_text="Milliseconds that it was waited for.")
    failed = serializers.BooleanField(help_text="The results are as they were without a rerank.")
    failure = serializers.ChoiceField(
        [failure.value for failure in Failure], allow_null=True, help_text="Why it failed."
    )


class KnowledgeExplanation(serializers.Serializer[None]):
    """How a search went."""

    embedding_ms = serializers.FloatField(allow_null=True, help_text="Milliseconds until the query had its vector.")
    sources = SourceExplanation(many=True)
    rerank = RerankExplanation(allow_null=True, help_text="Null where nothing was reranked.")


class KnowledgeResults(serializers.Serializer[None]):
    """The results, best first."""

    results = PolymorphicProxySerializer(
        component_name="KnowledgeResult",
        serializers=[DocumentKnowledgeResult, MemoryKnowledgeResult],
        resource_type_field_name=None,
        many=True,
    )
    explain = KnowledgeExplanation(required=False, help_text="Only where the request asked for it.")
