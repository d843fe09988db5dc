"""Tables that are written to a file and read again."""

import pytest

from metricfit.data import TableSchema, layout_of, read_chunks, read_table


@pytest.fixture
def write(tmp_path):
    """The path of a new file with this text or these bytes."""

    def call(content, name="table.csv", encoding="utf-8"):
        path = tmp_path / name
        path.write_bytes(content.encode(encoding) if isinstance(content, str) else content)
        return path

    return call


@pytest.fixture
def read(write):
    """Table, schema and notes of a text or a file; by default the last column is the target."""

    def call(content, layout=None, target=None, **options):
        path = write(content) if isinstance(content, str | bytes) else content
        layout, said = layout_of(path, **(layout or {})), []
        table, schema = read_table(path, layout, target or layout.names[-1], say=said.append, **options)
        return table, TableSchema.from_json(schema.as_json()), [*layout.notes, *said]

    return call


@pytest.fixture
def reread(write):
    """The features of another file, read in chunks as a schema says, and the notes."""

    def call(content, schema, **options):
        path = write(content, "new.csv") if isinstance(content, str | bytes) else content
        said = []
        chunks = list(read_chunks(path, layout_of(path), schema, say=said.append, **options))
        return {
            name: [cell for chunk in chunks for cell in chunk.features[name].to_pylist()]
            for name in chunks[0].features.column_names
        }, said

    return call
