"""What the analysis of a query found, as data: how its result follows the changes of its inputs.

The *anchors* are columns of the result. A *route* gives the values of the anchors in all rows of the result that a
changed row of an input can change. So only rows whose anchors are among these *touched values* have to be computed
again, and only rows of the inputs whose own route leads there have to be read for it.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from airflow_refresh_provider.core.query.facts import Obstacle
from airflow_refresh_provider.core.text.stored import Stored

_CHANGED_COLUMN = re.compile(r"`h0`\.`((?:[^`]|``)*)`")


class Hop(Stored):
    """Another input that a changed row is joined with. `alias` names it in `on` and in the values of the route."""

    input: str
    alias: str
    on: str


class Route(Stored):
    """From a changed row of an input, which is `h0` in all expressions, to the anchors: one value for each of them."""

    input: str
    hops: tuple[Hop, ...] = ()
    values: tuple[str, ...]

    def own_columns(self, used: Collection[str]) -> tuple[str, ...] | None:
        """Those of the columns used of a changed row that are the values of the anchors.

        None where the row is joined, or one of the values is computed.
        """
        found = [_CHANGED_COLUMN.fullmatch(value) for value in self.values]
        if self.hops or None in found:
            return None
        columns = tuple(match[1].replace("``", "`") for match in found if match)
        return columns if {c.lower() for c in columns} <= {name.lower() for name in used} else None


class Use(Stored):
    """One place of the query that reads an input: the characters of its name, and what of it is needed.

    `aliased`: the query gives it another name there. `restrictions` are alternatives: a row is needed if the values of
    one of them, for the anchors that it has (None = not known), are touched. None: every row is needed.
    """

    input: str
    start: int
    end: int
    aliased: bool
    restrictions: tuple[tuple[str | None, ...], ...] | None = None


class Sums(Stored):
    """A result of counts, sums, least and greatest values of groups: changed rows are added to it, or subtracted.

    `inputs`: those that may change, one at a time. `rows` is the column with the number of rows of a group, `counts`
    are other numbers of rows. `sums` have the column that is 0 where they are NULL; where none is, a sum is in doubt
    once rows of its group went. `averages` have the sum that they are made of, which has such a column. `least` and
    `greatest` are in doubt once the row went that they are of.
    `whole`: the result is one row, of all rows, and is there also when these are none.
    """

    inputs: tuple[str, ...]
    rows: str
    counts: tuple[str, ...] = ()
    sums: dict[str, str | None] = {}
    averages: dict[str, str] = {}
    least: tuple[str, ...] = ()
    greatest: tuple[str, ...] = ()
    whole: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        """All that are no keys."""
        return (self.rows, *self.counts, *self.sums, *self.averages, *self.least, *self.greatest)

    def counted(self, average: str) -> str:
        """The column with the number of values of an average."""
        by = self.sums[self.averages[average]]
        assert by is not None
        return by


class TemporalFilter(Stored):
    """A condition of WHERE that reads the clock, over columns of one input: rows come and go as time passes.

    `sql` has a marker for each clock function. `null_by_row`: it is never true where a column of it is NULL.
    """

    input: str
    sql: str
    null_by_row: bool


class Maintenance(Stored):
    """How to follow the inputs: `unfollowed` are those whose changes need everything to be computed, and why.

    `columns` are the names of the result as they were read here, in lower case: Spark has to give the same. `used` are
    the columns of inputs that the query reads; of an input that is not listed all may be. `sums`: how the result is
    added up, if it is; `only_added_up` are inputs that are followed by that alone, and why not otherwise.
    `temporal`: all that the query reads the clock for, where it can be followed.
    """

    columns: tuple[str, ...] = ()
    anchors: tuple[str, ...]
    routes: tuple[Route, ...]
    uses: tuple[Use, ...]
    unfollowed: dict[str, Obstacle] = {}
    used: dict[str, tuple[str, ...]] = {}
    sums: Sums | None = None
    only_added_up: dict[str, Obstacle] = {}
    temporal: tuple[TemporalFilter, ...] = ()

    def without_sums(self) -> Maintenance:
        """How to follow the inputs where the result must not be added up."""
        unfollowed = {**self.unfollowed, **self.only_added_up}
        return self.model_copy(update={"sums": None, "only_added_up": {}, "unfollowed": unfollowed})

    def narrowed(self, columns: Collection[str]) -> Maintenance | None:
        """The same by some of the anchors; None where an input would then be read whole that is not otherwise."""
        wanted = {name.lower() for name in columns}
        kept = [n for n, anchor in enumerate(self.anchors) if anchor.lower() in wanted]
        uses = []
        for use in self.uses:
            ways = use.restrictions and tuple(tuple(way[n] for n in kept) for way in use.restrictions)
            if ways and not all(any(value is not None for value in way) for way in ways):
                return None
            uses.append(use.model_copy(update={"restrictions": ways}))
        routes = (r.model_copy(update={"values": tuple(r.values[n] for n in kept)}) for r in self.routes)
        anchors = tuple(self.anchors[n] for n in kept)
        return self.model_copy(update={"anchors": anchors, "routes": tuple(routes), "uses": tuple(uses)})

    def changed_columns(self, input: str) -> frozenset[str] | None:
        """The columns of changed rows of an input that lead to anchors; None where its rows are joined with, too."""
        if any(hop.input == input for route in self.routes for hop in route.hops):
            return None
        routes = [route for route in self.routes if route.input == input]
        texts = [text for route in routes for text in (*route.values, *(hop.on for hop in route.hops))]
        return frozenset(name.replace("``", "`") for text in texts for name in _CHANGED_COLUMN.findall(text))
