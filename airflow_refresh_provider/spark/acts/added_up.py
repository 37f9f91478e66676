"""Windows of results that are added up: what the groups of changed rows have in the target now, and will have.

The query gives one row for each group of the rows that went, and one for each group of those that came. A group is in
doubt where these and the target's row do not say what the whole query would give.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from airflow_refresh_provider.core.definition.columns import DOUBTFUL, OP, ROW_HASH, VNODE, Column, visible
from airflow_refresh_provider.core.maintain.exact_sums import MOST_DOUBLE, most_averaged
from airflow_refresh_provider.core.maintain.plan import Sums
from airflow_refresh_provider.ports.tasks import WindowTask
from airflow_refresh_provider.spark.acts import content, placing, sql

_WENT, _CAME, _NOW = "airflow_refresh_went", "airflow_refresh_came", "airflow_refresh_now"
_OLD_HASH, _FOUND, _DOUBT = "airflow_refresh_old_hash", "airflow_refresh_found", OP
"""Names that no column of a query has, for columns that are dropped again."""
MANY_ROWS = 100_000
"""From so many rows of the target on, only those of changed groups are joined."""
_BROADCAST_MAX_BYTES = 64 << 20  # of the files with the changes


def changes(spark: SparkSession, signed: DataFrame, sums: Sums, task: WindowTask) -> DataFrame:
    """A row for each group that has changed: visible columns, hash, op, vnode.

    `signed` are the groups of the rows that went (-1) and of those that came (1).
    """
    keys, columns = sql.key_columns(task.target.columns, task.source.keys), visible(task.target.columns)
    joined = _joined(spark, signed, task)
    new = joined.selectExpr(
        *_values(columns, sums, {k.name.lower() for k in keys}),
        f"{sql.row_hash(columns, _NOW)} AS {_OLD_HASH}",
        f"{_NOW}.{sql.name(sums.rows)} IS NOT NULL AS {_FOUND}",
        f"{_doubtful(sums, columns)} AS {_DOUBT}",
    )
    hashed = new.withColumn(ROW_HASH, F.expr(sql.row_hash(columns)))
    no_key = " OR ".join(f"{sql.name(k.name)} IS NULL" for k in keys)
    left = " OR ".join(f"{sql.name(name)} < 0" for name in (sums.rows, *sums.counts))
    is_there = _is_there(sums, sql.name(sums.rows))
    op = (
        f"CASE WHEN {no_key} OR {_DOUBT} OR {left} THEN '{DOUBTFUL}' WHEN NOT {is_there} AND {_FOUND} THEN 'D' "
        f"WHEN {is_there} AND NOT {_FOUND} THEN 'I' WHEN {is_there} AND {_OLD_HASH} <> {ROW_HASH} THEN 'U' END"
    )
    shown, vnode = (sql.name(c.name) for c in columns), placing.vnode(task.target, task.source.keys)
    found = hashed.selectExpr(*shown, ROW_HASH, f"{op} AS {OP}", f"{vnode} AS {VNODE}")
    kept = f"{OP} IS NOT NULL" if task.deletes else f"{OP} <> 'D'"
    return found.where(kept)


def _joined(spark: SparkSession, signed: DataFrame, task: WindowTask) -> DataFrame:
    """Each group of changed rows: as structs what went, what came, and what the target has."""
    columns = [sql.name(c.name) for c in visible(task.target.columns)]
    keys = [sql.name(k) for k in task.source.keys]
    row = f"struct({', '.join(columns)})"
    sides = (f"any_value(IF({OP} = {sign}, {row}, NULL), true) AS {side}" for sign, side in ((-1, _WENT), (1, _CAME)))
    groups = signed.groupBy(*keys).agg(*(F.expr(side) for side in sides))
    now = content.at_version(spark, task.target, task.base).selectExpr(f"{row} AS {_NOW}")
    same = F.expr(" AND ".join(f"g.{key} = {_NOW}.{key}" for key in keys))
    if task.target_rows > MANY_ROWS:
        groups = content.kept(spark, groups, f"{task.location}-groups")
        # Spark does not broadcast the side of which all rows are kept: the target would be sorted.
        changed = groups.select(*keys)
        changed = F.broadcast(changed) if task.bytes <= _BROADCAST_MAX_BYTES else changed
        now = now.join(changed.alias("g"), same, "left_semi")
    return groups.alias("g").join(now, same, "left_outer")


def _values(columns: tuple[Column, ...], sums: Sums, keys: set[str]) -> Iterator[str]:
    """The columns as they will be."""
    types = _types(columns)
    for column in columns:
        name = sql.name(column.name)
        value = f"g.{name}" if column.name.lower() in keys else _value(column, sums, types)
        yield f"CAST({value} AS {column.type}) AS {name}"


def _types(columns: tuple[Column, ...]) -> dict[str, str]:
    return {column.name.lower(): column.type for column in columns}


def _value(column: Column, sums: Sums, types: Mapping[str, str]) -> str:
    name, known = sql.name(column.name), column.name.lower()
    now, went, came = (f"{side}.{name}" for side in (_NOW, _WENT, _CAME))
    if known in sums.least:
        return f"least({now}, {came})"
    if known in sums.greatest:
        return f"greatest({now}, {came})"
    if known in sums.averages:
        return _average(known, sums, types)
    total = _total(name, column.type)
    if known not in sums.sums:
        return total
    counted = sums.sums[known]
    has_value = f"{_total(sql.name(counted))} > 0" if counted else f"coalesce({now}, {came}, {went}) IS NOT NULL"
    return f"IF({has_value}, {total}, NULL)"


def _average(name: str, sums: Sums, types: Mapping[str, str]) -> str:
    """What Spark makes of a sum and the number of its values: it adds up integers as DOUBLE."""
    of, double = sums.averages[name], types[name] == "double"
    total, counted = _total(sql.name(of), types[of]), _total(sql.name(sums.counted(name)))
    # The sum of three decimals has more digits than each of them, and its quotient fewer.
    dividend, divisor = ("DOUBLE", "DOUBLE") if double else (types[of], "DECIMAL(20, 0)")
    return f"CAST({total} AS {dividend}) / CAST(nullif({counted}, 0) AS {divisor})"


def _is_there(sums: Sums, rows: str) -> str:
    """Whether the result has a row for a group that consists of so many rows."""
    return "true" if sums.whole else f"{rows} > 0"


def _total(name: str, type_name: str = "BIGINT") -> str:
    """What a number becomes; with a zero of another type a decimal would have other digits."""
    zero = f"CAST(0 AS {type_name})"
    now, went, came = (f"coalesce({side}.{name}, {zero})" for side in (_NOW, _WENT, _CAME))
    return f"{now} + {came} - {went}"


def _doubtful(sums: Sums, columns: tuple[Column, ...]) -> str:
    """Whether the rows that went may have been what a value was, or the target does not have their group.

    Or whether an average is of more than can be divided exactly.
    """
    went, stays = f"{_WENT}.{sql.name(sums.rows)} IS NOT NULL", _is_there(sums, _total(sql.name(sums.rows)))
    parts = [f"{went} AND {_NOW}.{sql.name(sums.rows)} IS NULL"]
    parts += [f"{stays} AND {_WENT}.{sql.name(name)} IS NOT NULL" for name, by in sums.sums.items() if by is None]
    for names, passed in ((sums.least, "<="), (sums.greatest, ">=")):
        parts += [f"{stays} AND {_lost(sql.name(name), passed)}" for name in names]
    types = _types(columns)
    for name, of in sums.averages.items():
        parts.append(f"{_total(sql.name(sums.counted(name)))} >= {most_averaged(types[of], types[name])}")
        if types[name] == "double":
            parts.append(f"{_total(sql.name(of), types[of])} NOT BETWEEN {1 - MOST_DOUBLE} AND {MOST_DOUBLE - 1}")
    return f"({' OR '.join(f'({part})' for part in parts)})"


def _lost(name: str, passed: str) -> str:
    """Whether the end of a group may have gone, and nothing came that is as far out."""
    now, went, came = (f"{side}.{name}" for side in (_NOW, _WENT, _CAME))
    return (
        f"{went} IS NOT NULL AND coalesce({went} {passed} {now}, true) AND NOT coalesce({came} {passed} {went}, false)"
    )
