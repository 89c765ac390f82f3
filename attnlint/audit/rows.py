"""The rows of an audit's results: a site, a finding, a text that was not analysed."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq

from attnlint.interface import Finding, Site

TEXT = pa.string()
WHERE = [
    ("repository", TEXT),
    ("path", TEXT),
    ("cell", pa.int32()),
    ("row", pa.int32()),
    ("column", pa.int32()),
    ("end_row", pa.int32()),
    ("end_column", pa.int32()),
]
RUN = [("framework", TEXT), ("digest", TEXT), ("version", TEXT), ("settings", TEXT)]
SCALES = ("query", "key", "contraction", "scale", "expected", "ratio")
SCHEMAS = {
    "sites": pa.schema(
        [
            *WHERE,
            *((name, TEXT) for name in ("qualname", *SCALES, "verdict", "reason", "branch", "way")),
            ("evidence", pa.list_(TEXT)),
            *RUN,
        ]
    ),
    "findings": pa.schema(
        [
            *WHERE,
            *((name, TEXT) for name in ("code", "name", "message", "severity")),
            ("preview", pa.bool_()),
            *((name, TEXT) for name in ("qualname", *SCALES, "fix", "fix_message")),
            *RUN,
        ]
    ),
    "not_analysed": pa.schema([("repository", TEXT), ("path", TEXT), ("reason", TEXT), *RUN[1:]]),
}

FRAMEWORKS = {
    "torch": "PyTorch",
    "flax": "Flax",
    "haiku": "Haiku",
    "equinox": "Equinox",
    "jax": "JAX",
    "keras": "Keras",
    "tensorflow": "TensorFlow",
    "mlx": "MLX",
    "paddle": "Paddle",
    "mindspore": "MindSpore",
    "numpy": "NumPy",
}
_IMPORT = re.compile(rb"^[ \t]*(?:import|from)[ \t]+(\w+)", re.MULTILINE)
_FACTOR = re.compile(r"^([÷×]) .* on the (\w+)", re.DOTALL)


@dataclass(frozen=True)
class About:
    """What the rows of one text share."""

    repository: str
    framework: str | None
    digest: str
    version: str
    settings: str

    def values(self) -> dict[str, object]:
        return {name: getattr(self, name) for name in ("framework", "digest", "version", "settings")}


def framework_of(data: bytes) -> str | None:
    """The framework that a text imports: the most specific one, where there are several."""
    imported = set(_IMPORT.findall(data))
    return next((shown for name, shown in FRAMEWORKS.items() if name.encode() in imported), None)


def way_of(site: Site) -> str | None:
    """How a site comes by its scale, as a class: what is multiplied or divided; None where nothing was followed to the product."""
    if not any(step.label == "product" for step in site.derivation):
        return None
    ways = []
    for step in site.derivation:
        if step.label != "factor":
            continue
        match = _FACTOR.match(step.text)
        if match is not None:
            ways.append(f"{match[1]} on the {match[2]}")
        elif "default" in step.text:
            ways.append("the kernel's default")
        else:
            ways.append("an argument of the kernel")
    return ", ".join(sorted(ways)) or "no factor"


def site_row(site: Site, about: About) -> dict[str, object]:
    scales = {name: getattr(site, name) for name in SCALES}
    return {
        **_where(site, about),
        **scales,
        "qualname": site.qualname,
        "verdict": site.verdict,
        "reason": site.reason,
        "branch": site.path,
        "way": way_of(site),
        "evidence": list(site.evidence),
        **about.values(),
    }


def finding_row(one: Finding, about: About) -> dict[str, object]:
    scales = {name: getattr(one.site, name, None) for name in ("qualname", *SCALES)}
    return {
        **_where(one, about),
        **{name: getattr(one, name) for name in ("code", "name", "message", "severity", "preview")},
        **scales,
        "fix": one.fix and one.fix.applicability,
        "fix_message": one.fix and one.fix.message,
        **about.values(),
    }


def _where(one: Site | Finding, about: About) -> dict[str, object]:
    return {
        "repository": about.repository,
        "path": one.filename,
        "cell": one.cell,
        "row": one.start.row,
        "column": one.start.column,
        "end_row": one.end.row,
        "end_column": one.end.column,
    }


def table_bytes(kind: str, rows: Sequence[Mapping[str, object]]) -> bytes:
    """The Parquet file of these rows."""
    schema = SCHEMAS[kind]
    columns = {name: [_plain(row.get(name)) for row in rows] for name in schema.names}
    buffer = io.BytesIO()
    pq.write_table(pa.table(columns, schema=schema), buffer, compression="zstd")
    return buffer.getvalue()


def _plain(value: object) -> object:
    """A value that can be written: no text holds half of a surrogate pair."""
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value
