"""The form of a document."""

from typing import Any

from django import forms

from documents.api.schemas import DocumentCreate, chunk_request
from documents.models import STRATEGIES
from soat.engine.chunk import ChunkRequest
from soat.tenancy.staff.forms import JsonField, PlainTextField, ServiceForm
from soat.tenancy.staff.theme import FileInput, NumberInput, Select

CHUNKING = ("chunk_strategy", "chunk_size", "chunk_overlap")
SOURCES = ("upload", "file", "content")


class DocumentForm(ServiceForm):
    """What can be changed of a document. Other chunk values mean that it is ingested again."""

    schema = DocumentCreate

    tags = JsonField(help_text='An object of strings: {"team": "legal"}.')
    metadata = JsonField(help_text="Any JSON object.")
    chunk_strategy = forms.ChoiceField(
        required=False,
        choices=[("", "The default: a page of a file, the whole of a text"), *STRATEGIES],
        widget=Select,
        label="How the text is cut",
    )
    chunk_size = forms.IntegerField(required=False, widget=NumberInput, help_text="In characters, where it applies.")
    chunk_overlap = forms.IntegerField(required=False, widget=NumberInput, help_text="In characters, below the size.")

    def chunking(self) -> ChunkRequest:
        """Return the chunk values."""
        return chunk_request({name: self.value(name) for name in CHUNKING})


class NewDocumentForm(DocumentForm):
    """A document made of one of three things."""

    upload = forms.FileField(
        required=False, allow_empty_file=True, widget=FileInput, label="A new file", help_text="It is stored and read."
    )
    content = PlainTextField(required=False, rows=8, label="Or a text")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["file"].required = False
        self.fields["file"].label = "Or a stored file"

    def clean(self) -> dict[str, Any]:
        """Demand exactly one source, in the chosen project."""
        values = super().clean()
        given = [name for name in SOURCES if values.get(name) not in (None, "")]
        if len(given) != 1 and not self.errors:
            self.add_error(None, "Give one of the three: a new file, a stored file or a text.")
        file, project = values.get("file"), values.get("project")
        if file is not None and project is not None and file.project_id != project.pk:
            self.add_error("file", "This file belongs to another project.")
        return values
