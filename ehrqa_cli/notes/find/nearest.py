"""Passages of all notes near a question: a FAISS index over the vectors of passages.

Small stores are searched exactly (8 bits a number); from TREE_FROM passages on by inverted lists
with product quantisation (Jégou et al. 2011; Johnson et al. 2017), 48 bytes each, which reads a
hundredth of them. Ids are rows of the file of vectors, and no row is used twice.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ehrqa_cli.contracts.errors import DatabaseError, ModelError
from ehrqa_cli.notes.find.embed import WIDTH

if TYPE_CHECKING:
    from collections.abc import Callable

    from ehrqa_cli.notes.find.embed import Vectors
    from ehrqa_cli.notes.find.index_file import IndexFile

TREE_FROM = 50_000  # passages
_MOST_LISTS = 4096
_PER_LIST = 40  # vectors to learn a list from
_READ_LISTS = 24  # lists read for a question
_OUTGROWN = 4  # times as many passages as it learnt from: made anew
_NOTES_AT_ONCE = 2000
_CODE = "PQ48np"  # 48 bytes a vector; "np" spares what only searching by Hamming distance needs


def update(index: IndexFile, advance: Callable[[int, int | None, str], None]) -> None:
    """Bring the FAISS index in step with the vectors. Raises DatabaseError or ModelError."""
    rows = index.vectors.rows()
    (total,) = index.query(
        "SELECT coalesce(sum(passages), 0) FROM indexed WHERE first_row IS NOT NULL"
    )[0]
    tree, learnt, until = _kept(index, total)
    if tree is not None and until == rows:
        return
    if tree is None:
        tree, learnt, until = _empty(index, total), total, 0
    notes = index.query(
        "SELECT first_row, passages FROM indexed WHERE first_row >= ? AND passages > 0"
        " ORDER BY first_row",
        (until,),
    )
    for first in range(0, len(notes), _NOTES_AT_ONCE):
        advance(first, len(notes), "search tree")
        _add(index, tree, notes[first : first + _NOTES_AT_ONCE])
    _write(index, tree, learnt, rows)


def open_tree(path: Path, *, mapped: bool = True) -> Any | None:
    """The FAISS index at ``path``, read from the disk as needed; None when there is none."""
    if not path.is_file():
        return None
    faiss = _faiss()
    try:
        tree = faiss.read_index(str(path), faiss.IO_FLAG_MMAP if mapped else 0)
    except RuntimeError as error:
        raise DatabaseError(
            f"the search tree {path} is damaged", f"delete {path} and run `ehrqa notes index` again"
        ) from error
    if hasattr(tree, "nprobe"):
        tree.nprobe = _READ_LISTS
    return tree


def search(tree: Any, vector: Vectors, count: int) -> list[int]:
    """Rows of the ``count`` passages nearest to ``vector``, best first."""
    _, rows = tree.search(vector.reshape(1, -1), count)
    return [int(row) for row in rows[0] if row >= 0]


def _faiss() -> Any:
    try:
        import faiss
    except ImportError as error:
        raise ModelError(
            "faiss is not installed, so notes cannot be searched by meaning",
            "`pip install faiss-cpu`, or install ehrqa_cli again",
        ) from error
    # Its threads wait in a loop, which costs a busy machine more than they bring.
    faiss.omp_set_num_threads(1)
    return faiss


def _kept(index: IndexFile, total: int) -> tuple[Any | None, int, int]:
    """The index on disk if it still serves, how many passages it learnt from, up to which row."""
    learnt, until = int(index.meta("faiss_learnt") or 0), int(index.meta("faiss_until") or 0)
    outgrown = total > _OUTGROWN * learnt or learnt < TREE_FROM <= total
    if outgrown or until > index.vectors.rows():
        return None, 0, 0
    try:
        return open_tree(index.faiss, mapped=False), learnt, until
    except DatabaseError:  # it is made from the vectors, so it is made again
        return None, 0, 0


def _empty(index: IndexFile, total: int) -> Any:
    """An index that fits ``total`` passages, trained on a sample of them."""
    import numpy as np

    faiss = _faiss()
    if total < TREE_FROM:
        inner = faiss.index_factory(WIDTH, "SQ8", faiss.METRIC_INNER_PRODUCT)
        # Eight bits over the range that the vectors are kept in: nothing to learn.
        inner.train(np.array([[-0.16] * WIDTH, [0.16] * WIDTH], dtype=np.float32))
        return faiss.IndexIDMap2(inner)
    lists = min(_MOST_LISTS, int(4 * total**0.5))
    tree = faiss.index_factory(WIDTH, f"IVF{lists},{_CODE}", faiss.METRIC_INNER_PRODUCT)
    tree.train(_sample(index, lists * _PER_LIST))
    return tree


def _sample(index: IndexFile, size: int) -> Vectors:
    """Vectors of about ``size`` passages, of notes drawn with a fixed seed."""
    import numpy as np

    notes = index.query("SELECT first_row, passages FROM indexed WHERE passages > 0")
    found: list[Vectors] = []
    count = 0
    for k in np.random.default_rng(0).permutation(len(notes)):
        first, passages = notes[k]
        found.append(index.vectors.read(first, passages))
        count += passages
        if count >= size:
            break
    return np.concatenate(found)


def _add(index: IndexFile, tree: Any, notes: list[tuple[int, int]]) -> None:
    import numpy as np

    vectors = np.concatenate([index.vectors.read(first, count) for first, count in notes])
    rows = np.concatenate(
        [np.arange(first, first + count, dtype=np.int64) for first, count in notes]
    )
    tree.add_with_ids(vectors, rows)


def _write(index: IndexFile, tree: Any, learnt: int, until: int) -> None:
    partial = index.faiss.with_name(index.faiss.name + ".part")
    try:
        partial.touch(mode=0o600)
        _faiss().write_index(tree, str(partial))
        partial.replace(index.faiss)
    except (OSError, RuntimeError) as error:
        partial.unlink(missing_ok=True)
        raise DatabaseError(f"cannot write {index.faiss}: {error}", "is the disk full?") from error
    index.write_meta({"faiss_learnt": str(learnt), "faiss_until": str(until)})
