"""What an error of Bedrock, or of the way there, means for us."""

from __future__ import annotations

from http import HTTPStatus

from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectionError,  # noqa: A004 - botocore's, which is no OSError
    ConnectTimeoutError,
    CredentialRetrievalError,
    HTTPClientError,
    IncompleteReadError,
    MetadataRetrievalError,
    NoRegionError,
    ReadTimeoutError,
)

from embeddings.port import (
    EmbedderMisconfigured,
    EmbeddingError,
    EmbeddingRejected,
    EmbeddingUnavailable,
    Reason,
)
from embeddings.providers.answers import retry_after_seconds
from embeddings.providers.remote import PASSING, quoted

INVALID = "ValidationException"

PASSING_CODES = {
    "InternalServerException",
    "ModelErrorException",
    "ModelNotReadyException",
    "ModelTimeoutException",
    "RequestTimeoutException",
    "ServiceQuotaExceededException",  # "resubmit your request later", in AWS's words
    "ServiceUnavailableException",
    "ThrottlingException",
    "TooManyRequestsException",
}

OUTDATED_CREDENTIALS = {"ExpiredToken", "ExpiredTokenException", "UnrecognizedClientException"}

TOO_LONG_SIGNS = (
    "too many input tokens",
    "expected maxlength",
    "input is too long",
    "too many tokens",
    "token limit",
    "maximum context length",
)

WRONG_SETTING_SIGNS = (
    "model identifier",
    "on-demand throughput",
    "operation not allowed",
    "extraneous key",
    "required key",
    "dimension",
)
"""In a ``ValidationException``: the model, or how it is asked, is wrong for every text."""

CHECK_RIGHTS = "Check EMBEDDING_API_KEY or the AWS credentials, and that they may invoke EMBEDDING_MODEL."
CHECK_MODEL = (
    "EMBEDDING_MODEL must be the id of a model in EMBEDDING_REGION, or of an inference profile where the model"
    " asks for one, and EMBEDDING_DIMENSIONS a number of dimensions that it has."
)
CHECK_CHAIN = "Check EMBEDDING_REGION and the AWS configuration and credentials of this process."
NO_REDIRECTS = "Redirects are not followed: EMBEDDING_BASE_URL must be the endpoint's own address."

ADVICE = {
    HTTPStatus.UNAUTHORIZED: CHECK_RIGHTS,
    HTTPStatus.FORBIDDEN: CHECK_RIGHTS,
    HTTPStatus.NOT_FOUND: CHECK_MODEL,
}

UNREACHABLE = (
    HTTPClientError,
    ConnectionError,
    IncompleteReadError,
    CredentialRetrievalError,
    MetadataRetrievalError,
)


def refused(error: ClientError, *, server: str, key: str | None) -> EmbeddingError:
    """Return the error that Bedrock's error answer means; ``key`` never stands in it."""
    told = error.response.get("Error", {})
    about = error.response.get("ResponseMetadata", {})
    code, message = str(told.get("Code", "")), str(told.get("Message", ""))
    status = int(about.get("HTTPStatusCode", HTTPStatus.BAD_GATEWAY))
    sentence = f"{server} answered {status} {quoted(f'{code}: {message}', key=key)}"
    if _is_too_long(status, code, message):
        return EmbeddingRejected(Reason.TOO_LONG, sentence)
    if code in PASSING_CODES or status in PASSING or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        retry_after = retry_after_seconds(about.get("HTTPHeaders", {}).get("retry-after"))
        return EmbeddingUnavailable(sentence, retry_after=retry_after)
    advice = _advice(status, code, message)
    if advice is not None:
        return EmbedderMisconfigured(f"{sentence.rstrip('.')}. {advice}")
    if code != INVALID:  # of a proxy on the way, say
        return EmbeddingUnavailable(sentence)
    return EmbeddingRejected(Reason.REFUSED, sentence)


def unanswered(error: BotoCoreError, *, server: str) -> EmbeddingError:
    """Return the error that botocore's own, raised without an answer, means."""
    if isinstance(error, (ConnectTimeoutError, ReadTimeoutError)):
        return EmbeddingUnavailable(f"{server} did not answer in time.")
    if isinstance(error, UNREACHABLE):
        return EmbeddingUnavailable(f"{server} is not reachable: {error}")
    if isinstance(error, NoRegionError):
        return EmbedderMisconfigured("EMBEDDING_REGION is not set, and the AWS configuration names no region either.")
    return EmbedderMisconfigured(f"{server} cannot be asked: {str(error).rstrip('.')}. {CHECK_CHAIN}")


def _is_too_long(status: int, code: str, message: str) -> bool:
    if status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
        return True
    lowered = message.lower()
    return code == INVALID and any(sign in lowered for sign in TOO_LONG_SIGNS)


def _advice(status: int, code: str, message: str) -> str | None:
    """Return what the operator must look at, None where the settings are not at fault."""
    if HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.BAD_REQUEST:
        return NO_REDIRECTS
    lowered = message.lower()
    if code == INVALID and any(sign in lowered for sign in WRONG_SETTING_SIGNS):
        return CHECK_MODEL
    return ADVICE.get(HTTPStatus(status)) if status in set(HTTPStatus) else None
