"""Questions, logical forms and evidence lines from annotations (Pampari et al. 2018, emrQA)."""

from ehrqa_papers.emrqa_sets.build import EmrOrder, build_emrqa

__all__ = ["EmrOrder", "build_emrqa"]
