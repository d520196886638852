"""Spider (Yu et al., 2018): the four measures of any SQL predictions.

Hardness, partial matching, exact matching without values, and execution accuracy, as the page of
the evaluation describes them and as today's official script counts them; docs/evaluation-spider.md
lists where the two differ.
"""

from ehrqa_papers.spider.spider_run import SpiderRun

__all__ = ["SpiderRun"]
