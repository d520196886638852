"""From which probability on something counts as present: per relation, with a default."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ehrqa_cli.contracts.errors import UsageError
from ehrqa_cli.contracts.images import Relation


@dataclass(frozen=True)
class VqaThresholds:
    """``relations`` by (object, attribute), else ``attributes``, else ``default``; ``view`` is
    that of PA, ``sex`` that of female. A width within ``margin`` of a limit is not told."""

    default: float = 0.5
    relations: Mapping[Relation, float] = field(default_factory=dict)
    attributes: Mapping[str, float] = field(default_factory=dict)
    view: float = 0.5
    sex: float = 0.5
    margin: float = 0.0

    def of(self, relation: Relation) -> float:
        """The threshold of one relation."""
        found = self.relations.get(relation)
        return found if found is not None else self.attributes.get(relation[1], self.default)

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for provenance; ``load`` reads them back."""
        return {
            "default": self.default,
            "view": self.view,
            "sex": self.sex,
            "margin": self.margin,
            "attributes": dict(self.attributes),
            "relations": [[o, a, t] for (o, a), t in sorted(self.relations.items())],
        }

    @classmethod
    def from_dict(cls, raw: Any) -> VqaThresholds:
        """From the plain values of ``as_dict``; what lacks is 0.5 (the margin 0). Raises
        ValueError, TypeError or AttributeError for something else."""
        return cls(
            default=float(raw.get("default", 0.5)),
            relations={(str(o), str(a)): float(t) for o, a, t in raw.get("relations", ())},
            attributes={str(a): float(t) for a, t in raw.get("attributes", {}).items()},
            view=float(raw.get("view", 0.5)),
            sex=float(raw.get("sex", 0.5)),
            margin=float(raw.get("margin", 0.0)),
        )

    @classmethod
    def load(cls, path: Path) -> VqaThresholds:
        """Read a JSON file {default, view, sex, margin, attributes: {name: t}, relations: [[object,
        attribute, t]]}. Raises UsageError."""
        try:
            return cls.from_dict(json.loads(path.read_text(encoding="utf-8")))
        except OSError as error:
            raise UsageError(
                f"cannot read thresholds {path}: {error.strerror}", "check the path"
            ) from None
        except (ValueError, TypeError, AttributeError):
            raise UsageError(f"{path} is not a VQA thresholds file", "delete it") from None
