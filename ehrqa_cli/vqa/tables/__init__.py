"""Scene graphs as tables of the EHR: questions about images become joins that the database does."""

from ehrqa_cli.vqa.tables.source import TableGraphs, TableVqa, reader_of

__all__ = ["TableGraphs", "TableVqa", "reader_of"]
