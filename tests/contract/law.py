"""How our answers differ from the recorded ones, and the rule of the contract from which each difference follows."""

FIELD = "a field of a wrong type, length, range or set is a 400 that names it, as is an unknown one"
EMPTY = "a fact is not empty, and no empty text replaces one"
UNKNOWN = "a row that the caller may not read is as an unknown id"
RECORD = "a project has an id, a name and two times; the rest belongs to modules that are not here"
MEDIA = "a body that is neither JSON nor a form is 415"
NEWEST = "lists begin with the newest row, and another row has other optional fields"
DEFAULT = "a negative limit means the default"
ENVELOPE = "every error has the one envelope"
OVERLAP = "an overlap is at least 0 and less than the size, which is at least 1"
TAKEN = "a path that is taken is a conflict"
TITLE = "a title of this length can be stored here"
FOREIGN = "a file of another project is as an unknown one"
EFFECTIVE = "the effective values are returned at once"
LIMIT = "a limit below 1, or one that is no integer, is refused"
BLANK = "a blank query counts as not given"
LITERAL = "percent and underscore in a path are literal"
LEAK = "no filter reaches what the caller may not read"
DOWN = "a provider that does not answer is 503"

DIFFERENCES: dict[str, tuple[str, str]] = {
    "bootstrap_missing_fields": ("status 400 VALIDATION_FAILED for 500", FIELD),
    "memory_create_name_number": ("status 400 VALIDATION_FAILED for 201", FIELD),
    "memory_create_tags_string": ("status 400 VALIDATION_FAILED for 500", FIELD),
    "memory_create_tags_numbers": ("status 400 VALIDATION_FAILED for 201", FIELD),
    "memory_create_long_name": ("status 400 VALIDATION_FAILED for 500", FIELD),
    "entry_create_dup_threshold_2": ("status 400 VALIDATION_FAILED for 201", FIELD),
    "entry_create_dup_threshold_neg": ("status 400 VALIDATION_FAILED for 200", FIELD),
    "entry_create_source_bogus": ("status 400 VALIDATION_FAILED for 201", FIELD),
    "entry_create_content_array": ("status 400 VALIDATION_FAILED for 500", FIELD),
    "entry_create_content_object": ("status 400 VALIDATION_FAILED for 500", FIELD),
    "entry_create_nul": ("status 400 VALIDATION_FAILED for 201", FIELD),
    "entry_create_long_tag": ("status 400 VALIDATION_FAILED for 500", FIELD),
    "entry_put_content_null": ("status 400 VALIDATION_FAILED for 500", FIELD),
    "doc_create_chunk_size_abc": ("status 400 VALIDATION_FAILED for 500", FIELD),
    "doc_create_strategy_bogus": ("status 400 VALIDATION_FAILED for 201", FIELD),
    "doc_create_content_number": ("status 400 VALIDATION_FAILED for 500", FIELD),
    "doc_create_metadata_string": ("status 400 VALIDATION_FAILED for 201", FIELD),
    "doc_create_tags_array": ("status 400 VALIDATION_FAILED for 201", FIELD),
    "reingest_bogus_strategy": ("status 400 VALIDATION_FAILED for 201", FIELD),
    "search_min_score_2": ("status 400 VALIDATION_FAILED for 200", FIELD),
    "search_min_score_string": ("status 400 VALIDATION_FAILED for 200", FIELD),
    "search_limit_string": ("status 400 VALIDATION_FAILED for 500", FIELD),
    "embeddings_unknown_field": ("status 400 VALIDATION_FAILED for 200", FIELD),
    "entry_create_whitespace_content": ("status 400 VALIDATION_FAILED for 201", EMPTY),
    "entry_put_content_empty": ("status 400 VALIDATION_FAILED for 200", EMPTY),
    "memory_get_wrong_project_key": ("status 404 RESOURCE_NOT_FOUND for 403", UNKNOWN),
    "memory_get_no_policy": ("status 404 RESOURCE_NOT_FOUND for 403", UNKNOWN),
    "entry_create_wrong_project_key": ("status 404 RESOURCE_NOT_FOUND for 403", UNKNOWN),
    "entry_get_wrong_project_key": ("status 404 RESOURCE_NOT_FOUND for 403", UNKNOWN),
    "doc_get_wrong_project_key": ("status 404 RESOURCE_NOT_FOUND for 403", UNKNOWN),
    "memory_delete_no_policy": ("status 404 RESOURCE_NOT_FOUND for 403", UNKNOWN),
    "project_create_b": ("body.audit_reads_enabled is missing; body.trace_content_mode is missing", RECORD),
    "project_list": ("body.data[].audit_reads_enabled is missing; body.data[].trace_content_mode is missing", RECORD),
    "project_get": ("body.audit_reads_enabled is missing; body.trace_content_mode is missing", RECORD),
    "memory_create_text_plain": ("status 415 UNSUPPORTED_MEDIA_TYPE for 400", MEDIA),
    "memory_list_limit_0": ("body.data[].description is missing; body.data[].tags is missing", NEWEST),
    "doc_list_limit_0": ("body.data[].path is missing", NEWEST),
    "doc_list_key": ("body.data[].path is missing", NEWEST),
    "memory_list_limit_neg": ("body.limit is 50 for 1", DEFAULT),
    "memory_patch_method": ("body is object for string", ENVELOPE),
    "memories_delete_collection": ("body is object for string", ENVELOPE),
    "unknown_route": ("body is object for string", ENVELOPE),
    "doc_put_method": ("body is object for string", ENVELOPE),
    "doc_create_overlap_eq_size": ("status 400 VALIDATION_FAILED for 201", OVERLAP),
    "doc_create_overlap_gt_size": ("status 400 VALIDATION_FAILED for 201", OVERLAP),
    "doc_create_chunk_size_0": ("status 400 VALIDATION_FAILED for 201", OVERLAP),
    "ingest_b64_overlap_eq_size": ("status 400 VALIDATION_FAILED for 201", OVERLAP),
    "doc_create_dup_path": ("status 409 NAME_CONFLICT for 500", TAKEN),
    "doc_create_long_title": ("status 201 for 500", TITLE),
    "ingest_cross_project_file": ("status 400 FILE_NOT_FOUND for 201", FOREIGN),
    "reingest_async": ("body.chunk_strategy is 'size' for 'page'", EFFECTIVE),
    "search_limit_0": ("status 400 VALIDATION_FAILED for 200", LIMIT),
    "search_limit_neg": ("status 400 VALIDATION_FAILED for 500", LIMIT),
    "search_limit_float": ("status 400 VALIDATION_FAILED for 200", LIMIT),
    "search_empty_query_with_ids": (
        "body.results[].document_id is missing; body.results[].chunk_id is missing; 4 more",
        BLANK,
    ),
    "search_query_whitespace": ("status 400 VALIDATION_FAILED for 200", BLANK),
    "search_paths_like_wildcard": ("body.results is empty", LITERAL),
    "search_nopolicy_memory_ids_leak": ("body.results is empty", LEAK),
    "search_nopolicy_tags_leak": ("body.results is empty", LEAK),
    "embeddings_provider_down": ("status 503 EMBEDDING_UNAVAILABLE for 500", DOWN),
    "search_embedding_down": ("status 503 EMBEDDING_UNAVAILABLE for 500", DOWN),
}
