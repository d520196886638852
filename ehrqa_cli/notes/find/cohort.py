"""Which patients' notes mention something: FTS5 and FAISS propose lines, one score orders them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ehrqa_cli.contracts.notes import FoundLine, Line
from ehrqa_cli.notes.find import lexical, nearest, rank
from ehrqa_cli.notes.find.index_file import Indexed, IndexFile
from ehrqa_cli.notes.find.mention import line_stance
from ehrqa_cli.notes.find.passages import passages
from ehrqa_cli.notes.store import NoteStore

if TYPE_CHECKING:
    from ehrqa_cli.notes.find.embed import Vectors

_BY_WORDS = 400  # lines that the words propose, and as many again for each patient wanted
_BY_MEANING = 40  # passages that the meaning proposes
_MOST_ROWS = 20_000  # lines read of a word; a commoner one tells little
_ALIKE = 0.5  # cosine from which a line that has none of the words is proposed at all


def search(
    store: NoteStore, index: IndexFile, query: str, asked: Vectors | None, k: int
) -> list[tuple[int, FoundLine]]:
    """Up to ``k`` patients, best first, each with the line that answers best to ``query``."""
    groups = lexical.groups(query)
    found = store.lines_by_id(_by_words(index, groups, _BY_WORDS + 4 * k))
    places: dict[tuple[str, int], Line] = {
        (line.note_id, line.number): line for line in found.values()
    }
    worded = set(places)
    if asked is not None:
        for line in _by_meaning(store, index, asked):
            places.setdefault((line.note_id, line.number), line)
    lines = [line for line in places.values() if line.kind != "header"]
    if not lines:
        return []
    about = _about(store, {line.note_id for line in lines})
    record = rank.Record(lines, [about[line.note_id][2] for line in lines])
    near = _cosines(store, index, lines, about, asked)
    named = lexical.matches(groups, [line.text for line in lines])
    share = named.mean(axis=0) if len(groups) else near * 0
    scores = rank.fuse(query, record, share, near, near)
    best: dict[int, FoundLine] = {}
    for n in sorted(range(len(lines)), key=lambda n: (-float(scores[n]), lines[n].note_id, n)):
        if (lines[n].note_id, lines[n].number) not in worded and near[n] < _ALIKE:
            continue
        patient = about[lines[n].note_id][1]
        if patient not in best:
            best[patient] = FoundLine(lines[n], float(scores[n]), line_stance(lines[n], groups))
        if len(best) == k:
            break
    return list(best.items())


def current(store: NoteStore, index: IndexFile, note: int) -> Indexed | None:
    """What the index holds of a note, if the note is still the one that was indexed."""
    indexed = index.of_note(note)
    if indexed is None:
        return None
    rows = store.query(
        "SELECT sha256, (SELECT min(id) FROM line WHERE note = note.id) FROM note WHERE id = ?",
        (note,),
    )
    same = bool(rows) and rows[0][0] == indexed.sha256 and (rows[0][1] or 0) == indexed.first_line
    return indexed if same else None


def _by_words(index: IndexFile, groups: list[lexical.Group], count: int) -> list[int]:
    """Ids of lines with a name of every group; of lines with any, where those are none."""
    if not groups:
        return []
    each = [f"({lexical.match_query(list(group.names))})" for group in groups]
    for expression in dict.fromkeys((" AND ".join(each), " OR ".join(each))):
        # Ranking reads every line that matches; a word on millions of lines is cut short.
        rows = index.query(
            "SELECT rowid FROM line_text WHERE line_text MATCH ? LIMIT ?", (expression, _MOST_ROWS)
        )
        if rows and len(rows) < _MOST_ROWS:
            rows = index.query(
                "SELECT rowid FROM line_text WHERE line_text MATCH ? ORDER BY rank LIMIT ?",
                (expression, count),
            )
        if rows:
            return [int(row[0]) for row in rows[:count]]
    return []


def _by_meaning(store: NoteStore, index: IndexFile, asked: Vectors) -> Iterable[Line]:
    """Lines of the passages nearest to the question."""
    tree = nearest.open_tree(index.faiss)
    for row in nearest.search(tree, asked, _BY_MEANING) if tree is not None else ():
        indexed = index.of_row(row)
        if indexed is None or indexed.first_row is None or not current(store, index, indexed.note):
            continue
        lines = [line for _, line in store.note_lines(indexed.note)]
        runs = passages(lines)
        if len(runs) == indexed.passages:
            yield from (lines[n] for n in runs[row - indexed.first_row])


def _about(store: NoteStore, note_ids: set[str]) -> dict[str, tuple[int, int, str]]:
    """Of each note its row, its patient and its time."""
    found: dict[str, tuple[int, int, str]] = {}
    for note_id in note_ids:
        ((row, patient, time),) = store.query(
            "SELECT id, patient_id, coalesce(charttime, '') FROM note WHERE note_id = ?", (note_id,)
        )
        found[note_id] = (row, patient, time)
    return found


def _cosines(
    store: NoteStore,
    index: IndexFile,
    lines: list[Line],
    about: dict[str, tuple[int, int, str]],
    asked: Vectors | None,
) -> rank.Scores:
    """Cosines of the lines with the question; 0 where the index has no vector."""
    import numpy as np

    found = np.zeros(len(lines), dtype=np.float32)
    if asked is None:
        return found
    kept: dict[int, Indexed | None] = {}
    for n, line in enumerate(lines):
        note = about[line.note_id][0]
        if note not in kept:
            kept[note] = current(store, index, note)
        indexed = kept[note]
        if indexed is not None and indexed.first_row is not None:
            row = indexed.first_row + (indexed.passages or 0) + line.number
            found[n] = float(index.vectors.read(row, 1)[0] @ asked)
    return found
