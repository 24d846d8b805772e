"""The formats that are read and written, and what reads each."""

from collections.abc import Callable, Sequence

from memory.exchange.drafts import Draft
from memory.exchange.jsonl import read_jsonl
from memory.exchange.others import read_graph, read_mem0
from memory.exchange.tree import read_tree
from tenants.refusals import Invalid

JSONL, MARKDOWN, MEM0, GRAPH = "jsonl", "markdown", "mem0", "memory-graph"
EXPORTED = (JSONL, MARKDOWN)
IMPORTED = (JSONL, MARKDOWN, MEM0, GRAPH)
MOST_MEMORIES = 20_000
_READERS: dict[str, Callable[[str], list[Draft]]] = {
    JSONL: read_jsonl,
    MEM0: read_mem0,
    GRAPH: read_graph,
}


def read_file(format_: str, content: str | None, files: Sequence[dict[str, str]]) -> list[Draft]:
    """
    Return what a file, or a folder of files, holds.

    :raises Invalid: if it cannot be read, naming the places; if it holds nothing, or too much
    """
    if format_ == MARKDOWN:
        if content is not None or not files:
            raise Invalid.field("files", "Markdown comes as a list of files: path and content")
        drafts = read_tree(files)
    else:
        if files or content is None:
            raise Invalid.field("content", f"a {format_} file comes as one text in content")
        drafts = _READERS[format_](content)
    if not drafts:
        raise Invalid.field("files" if format_ == MARKDOWN else "content", "holds no memory")
    if len(drafts) > MOST_MEMORIES:
        raise Invalid.field(
            "content", f"{len(drafts):,} memories; at most {MOST_MEMORIES:,} in one import"
        )
    return drafts
