"""The ways to apply a chunk, and what else follows from each. `choice` has the rule that picks one."""

from __future__ import annotations

from enum import StrEnum


class Way(StrEnum):
    """How the rows of one chunk get into the target, in one commit."""

    APPEND = "append"  # into a table that was empty when compared
    KEYED_REPLACE = "keyed_replace"  # overwrite exactly the changed keys, named as literals
    REPLACE_ON = "replace_on"  # overwrite the rows whose keys match; no deletes
    MERGE = "merge"
    SMALL_TABLE = "small_table"  # overwrite a small table with its rows and the changes, without Spark
    REPLACE_VNODES = "replace_vnodes"  # overwrite whole vnodes
    REPLACE_PARTITIONS = "replace_partitions"  # overwrite whole partitions with the query's rows
    REPLACE_TABLE = "replace_table"  # overwrite the whole table with its unchanged and its changed rows
    REWRITE = "rewrite"  # overwrite the whole table with the query's result

    @property
    def joins_on_keys(self) -> bool:
        """It joins the target's rows with the change set: the range of the keys prunes the files of the target."""
        return self in {Way.REPLACE_ON, Way.MERGE}

    @property
    def keeps_rows(self) -> bool:
        """It reads unchanged rows of the target, at the version compared with, and writes them again."""
        return self in {Way.REPLACE_VNODES, Way.REPLACE_TABLE}

    @property
    def reads_inputs(self) -> bool:
        """It runs the query, even where changes are staged."""
        return self is Way.REWRITE

    @property
    def names_vnodes(self) -> bool:
        """With layout vnode it conflicts only with commits to the same vnodes."""
        return self in {Way.KEYED_REPLACE, Way.MERGE, Way.REPLACE_VNODES}
