"""The cosine that a search must report, computed without the database."""

import numpy as np
import numpy.typing as npt

from embeddings.port import TextKind
from embeddings.services import configured_embedder


def exact_cosines(query: str, texts: list[str]) -> list[float]:
    """Return the cosine of the query and the best window of each text, from the model by numpy alone."""
    embedder = configured_embedder()

    def vectors(text: str, kind: TextKind) -> npt.NDArray[np.float64]:
        parts = [text[start:end] for start, end in embedder.windows(text)]
        return np.asarray([embedder.embed([part], kind=kind)[0] for part in parts], dtype=np.float64)

    asked = vectors(query, TextKind.QUERY).mean(axis=0)
    asked /= np.linalg.norm(asked)
    found = []
    for text in texts:
        rows = vectors(text, TextKind.DOCUMENT)
        found.append(float((rows @ asked / np.linalg.norm(rows, axis=1)).max()))
    return found
