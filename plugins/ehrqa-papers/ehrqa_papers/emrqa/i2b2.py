"""Class labels of whole records: i2b2's smoking (2006) and obesity (2008) challenge files.

Smoking (Uzuner et al. 2008): ``<RECORD ID><SMOKING STATUS/><TEXT>``. Obesity (Uzuner 2009):
``<doc id><text>`` in one file and ``<diseases source><disease name><doc id judgment/>`` in another.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree as Xml

from ehrqa_cli.contracts.errors import EvaluationError
from ehrqa_cli.evaluate.files import hash_file

_JUDGMENTS = {"Y": "present", "N": "absent", "Q": "questionable", "U": "unmentioned"}


@dataclass(frozen=True)
class LabelledRecord:
    """A record's text with what is asked of it (``smoking status``, ``obesity``, another disease)
    and its class."""

    record_id: str
    asked: str
    text: str
    label: str


def read_i2b2(folder: Path, source: str = "intuitive") -> tuple[list[LabelledRecord], str]:
    """All labelled records in the folder's XML files, and a hash of the files.

    ``source`` is whose judgment of obesity is taken, intuitive or textual. A folder without any
    gives none. Raises EvaluationError for a file that is broken.
    """
    found: list[LabelledRecord] = []
    texts: dict[str, str] = {}
    judged: list[tuple[str, str, str]] = []
    hashes = []
    for path in sorted(folder.rglob("*.xml")):
        root = _root(path)
        hashes.append(hash_file(path)[:16])
        found += _smoking(root)
        for doc in root.iter("doc"):
            text = doc.findtext("text")
            if text is not None:
                texts[doc.get("id", "")] = text
        judged += _obesity(root, source)
    found += [
        LabelledRecord(key, asked, texts[key], label)
        for key, asked, label in judged
        if key in texts
    ]
    lacking = sum(key not in texts for key, _, _ in judged)
    if lacking:
        raise EvaluationError(
            f"{lacking} judgments in {folder} have no record",
            "put obesity_patient_records_*.xml beside the annotations",
        )
    return found, " ".join(hashes)


def _root(path: Path) -> Xml.Element:
    try:
        return Xml.parse(path).getroot()
    except Xml.ParseError as error:
        raise EvaluationError(
            f"{path} is not XML: {error}", "it may be half a download; fetch it again"
        ) from None
    except OSError as error:
        raise EvaluationError(f"cannot read {path}: {error.strerror}", "check the path") from None


def _smoking(root: Xml.Element) -> Iterator[LabelledRecord]:
    for record in root.iter("RECORD"):
        status = record.find("SMOKING")
        text = record.findtext("TEXT")
        if status is not None and text:
            label = status.get("STATUS", "").strip().lower()
            yield LabelledRecord(record.get("ID", ""), "smoking status", text, label)


def _obesity(root: Xml.Element, source: str) -> Iterator[tuple[str, str, str]]:
    for part in root.iter("diseases"):
        if part.get("source") != source:
            continue
        for disease in part.iter("disease"):
            for doc in disease.iter("doc"):
                judgment = doc.get("judgment", "")
                name = disease.get("name", "").lower()
                yield doc.get("id", ""), name, _JUDGMENTS.get(judgment, judgment.lower())
