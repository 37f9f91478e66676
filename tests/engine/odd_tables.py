"""Delta tables that are hard to read: statements that make each of them, and filters over their rows.

`{t}` is the table, `{other}` a table that was made before.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession

from airflow_refresh_provider.spark.acts import sql


@dataclass(frozen=True)
class OddTable:
    """Statements, and filters by which files and row groups may be skipped. `shown`: what is selected."""

    made_by: tuple[str, ...]
    filters: tuple[str, ...] = ()
    shown: str = "*"
    path: str = "table"

    def make(self, spark: SparkSession, folder: Path) -> Path:
        """Make it below a folder."""
        location = folder / self.path
        for statement in self.made_by:
            spark.sql(statement.format(t=sql.table(str(location)), other=sql.table(str(folder / "other")))).collect()
        return location


_NAMED = "TBLPROPERTIES ('delta.columnMapping.mode' = 'name')"

ODD_TABLES = {
    "deletion vectors": OddTable(
        (
            "CREATE TABLE {t} USING delta TBLPROPERTIES ('delta.enableDeletionVectors' = 'true') AS "
            "SELECT id, id % 7 AS g, CAST(id AS STRING) AS s FROM range(1000)",
            "DELETE FROM {t} WHERE id % 3 = 0",
            "UPDATE {t} SET g = NULL WHERE id % 5 = 0",
        ),
        ("id BETWEEN 10 AND 20", "g IS NULL", "s LIKE '1%'", "s = '5' OR id = 7", "g <=> NULL", "NOT (id > 5)"),
    ),
    "columns by name": OddTable(
        (
            "CREATE TABLE {t} (id INT, `a b` STRING, `x.y` STRUCT<`p q`: INT, r: STRING>, d DOUBLE) USING delta "
            + _NAMED,
            "INSERT INTO {t} SELECT CAST(id AS INT), 'v' || id, named_struct('p q', CAST(id AS INT), 'r', 'z'), id / 3 "
            "FROM range(50)",
            "ALTER TABLE {t} RENAME COLUMN d TO dd",
            "ALTER TABLE {t} ADD COLUMN d STRING",
            "INSERT INTO {t} SELECT 1, 'q', NULL, 2.5, 'new'",
            "DELETE FROM {t} WHERE id = 7",
        ),
        ("`a b` = 'v3'", "`x.y`.`p q` = 4", "d IS NULL", "dd > 10"),
    ),
    "partitions": OddTable(
        (
            "CREATE TABLE {t} (v INT, s STRING, d DATE, t TIMESTAMP, n DECIMAL(10, 2), b BOOLEAN, f DOUBLE, i BIGINT, "
            "w TIMESTAMP_NTZ) USING delta PARTITIONED BY (s, d, t, n, b, f, i, w)",
            "INSERT INTO {t} VALUES (1, 'a/b=c d%20', DATE'2020-01-01', TIMESTAMP'2020-01-01 01:02:03.123456', 1.50, "
            "true, 1.5, 1, TIMESTAMP_NTZ'2020-01-01 00:00:00.5'), (2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL), "
            "(3, 'ü#?:*', DATE'1500-01-01', TIMESTAMP'1800-01-01 00:00:00', -0.01, false, double('NaN'), -5, "
            "TIMESTAMP_NTZ'1700-01-01 00:00:00'), (4, ' x ', DATE'9999-12-31', TIMESTAMP'2020-06-01 12:00:00', 0.00, "
            "true, double('Infinity'), 9, TIMESTAMP_NTZ'2020-01-01 00:00:00')",
        ),
        (
            "s IS NULL",
            "s = 'a/b=c d%20'",
            "d > DATE'2000-01-01'",
            "d < DATE'1600-01-01'",
            "t >= TIMESTAMP'2020-01-01 01:02:03.123456'",
            "n = 1.5",
            "b",
            "f > 100",
            "f = double('NaN')",
            "i IN (1, 9)",
            "w < TIMESTAMP_NTZ'2000-01-01'",
            "year(d) = 2020",
        ),
    ),
    "partitions, quoted": OddTable(
        (
            "CREATE TABLE {t} (v INT, `p-q` STRING) USING delta PARTITIONED BY (`p-q`)",
            "INSERT INTO {t} VALUES (1, 'a'), (2, NULL)",
        ),
        ("`p-q` = 'a'",),
    ),
    "widened types": OddTable(
        (
            "CREATE TABLE {t} (a INT, b SMALLINT, c DATE, d FLOAT, e DECIMAL(5, 2)) USING delta TBLPROPERTIES "
            "('delta.enableTypeWidening' = 'true', 'delta.feature.timestampNtz' = 'supported')",
            "INSERT INTO {t} VALUES (1, 2, DATE'2020-01-01', 1.1, 1.25), (NULL, NULL, NULL, NULL, NULL)",
            "ALTER TABLE {t} ALTER COLUMN a TYPE BIGINT",
            "ALTER TABLE {t} ALTER COLUMN b TYPE INT",
            "ALTER TABLE {t} ALTER COLUMN d TYPE DOUBLE",
            "ALTER TABLE {t} ALTER COLUMN e TYPE DECIMAL(10, 4)",
            "ALTER TABLE {t} ALTER COLUMN c TYPE TIMESTAMP_NTZ",
            "INSERT INTO {t} VALUES (5000000000, 70000, TIMESTAMP_NTZ'2020-01-01 10:00:00', 1e300, 1.2345)",
        ),
        ("a > 4000000000", "a = 1", "b = 2", "c > TIMESTAMP_NTZ'2020-01-01 05:00:00'", "e = 1.25", "d < 2"),
    ),
    "padded text": OddTable(
        (
            "CREATE TABLE {t} (k INT, c CHAR(5), v VARCHAR(10)) USING delta",
            "INSERT INTO {t} VALUES (1, 'ab', 'cd'), (2, 'abcde', 'x '), (3, NULL, NULL)",
        ),
        ("c = 'ab'", "c = 'ab   '", "v = 'cd'", "length(c) = 5"),
    ),
    "added columns": OddTable(
        (
            "CREATE TABLE {t} (id INT, s STRUCT<a: INT>) USING delta",
            "INSERT INTO {t} VALUES (1, named_struct('a', 1)), (5, NULL)",
            "ALTER TABLE {t} ADD COLUMNS (z STRING)",
            "ALTER TABLE {t} ADD COLUMNS (s.b STRING)",
            "INSERT INTO {t} VALUES (2, named_struct('a', 2, 'b', 'bb'), 'zz')",
        ),
        ("z IS NULL", "s.b IS NULL", "s.b = 'bb'"),
    ),
    "columns by id": OddTable(
        (
            "CREATE TABLE {t} (id INT, a STRING) USING delta TBLPROPERTIES ('delta.columnMapping.mode' = 'id')",
            "INSERT INTO {t} VALUES (1, 'x'), (2, NULL)",
            "ALTER TABLE {t} RENAME COLUMN a TO b",
        ),
        ("b IS NULL",),
    ),
    "far moments": OddTable(
        (
            "CREATE TABLE {t} (k INT, d DATE, t TIMESTAMP) USING delta",
            "INSERT INTO {t} VALUES (1, DATE'0001-01-01', TIMESTAMP'0001-01-01 00:00:00'), "
            "(2, DATE'1582-10-10', TIMESTAMP'1582-10-10 01:02:03.000001'), "
            "(3, DATE'9999-12-31', TIMESTAMP'9999-12-31 23:59:59.999999')",
        ),
        (
            "d < DATE'1582-10-11'",
            "t < TIMESTAMP'1600-01-01'",
            "t = TIMESTAMP'1582-10-10 01:02:03.000001'",
            "t > TIMESTAMP'9999-12-31 23:59:59.999'",
        ),
    ),
    "nested": OddTable(
        (
            "CREATE TABLE {t} USING delta AS SELECT id, array(named_struct('a', id, 'b', CAST(id AS STRING))) AS l, "
            "map('k', id, 'z', NULL) AS m, named_struct('x', named_struct('y', id, 'w', array(1, 2))) AS s "
            "FROM range(20)",
            "INSERT INTO {t} VALUES (99, NULL, NULL, NULL)",
        ),
        ("s.x.y = 3", "l[0].b = '4'", "m['k'] > 10", "s IS NULL"),
    ),
    "variant": OddTable(
        (
            "CREATE TABLE {t} (id INT, v VARIANT) USING delta",
            """INSERT INTO {t} SELECT id, parse_json('{{"a":' || id || '}}') FROM range(5)""",
        ),
        ("variant_get(v, '$.a', 'int') = 3",),
        shown="id, to_json(v)",
    ),
    "columns of its own": OddTable(
        (
            "CREATE TABLE {t} (id BIGINT GENERATED ALWAYS AS IDENTITY, a INT, g INT GENERATED ALWAYS AS (a * 2), "
            "x INT DEFAULT 5) USING delta TBLPROPERTIES ('delta.feature.allowColumnDefaults' = 'supported')",
            "INSERT INTO {t} (a) VALUES (1), (2)",
        ),
        ("g = 4",),
    ),
    "names in another case": OddTable(
        (
            "CREATE TABLE {t} (`Id` INT, `NaMe` STRING) USING delta PARTITIONED BY (`NaMe`)",
            "INSERT INTO {t} VALUES (1, 'X'), (2, 'y')",
        ),
        ("id = 1", "NAME = 'y'"),
    ),
    "checkpoints of version 2": OddTable(
        (
            "CREATE TABLE {t} USING delta TBLPROPERTIES ('delta.checkpointPolicy' = 'v2', "
            "'delta.checkpointInterval' = '2', 'delta.enableInCommitTimestamps' = 'true', "
            "'delta.enableRowTracking' = 'true') AS SELECT id FROM range(10)",
            *(f"INSERT INTO {{t}} VALUES ({n})" for n in range(100, 106)),
        ),
        ("id > 50",),
    ),
    "clustered": OddTable(
        (
            "CREATE TABLE {t} (id BIGINT, s STRING) USING delta CLUSTER BY (id)",
            "INSERT INTO {t} SELECT id, 's' FROM range(100)",
            "OPTIMIZE {t}",
        ),
        ("id = 5",),
    ),
    "shallow clone": OddTable(
        (
            "CREATE TABLE {other} USING delta AS SELECT id FROM range(10)",
            "CREATE TABLE {t} SHALLOW CLONE {other}",
            "DELETE FROM {t} WHERE id < 5",
        ),
        ("id < 9",),
    ),
    "odd path": OddTable(
        ("CREATE TABLE {t} USING delta AS SELECT id FROM range(3)",), ("id = 1",), path="a b=c,%zz ü#[x]{y}*"
    ),
    "empty": OddTable(("CREATE TABLE {t} (id INT, p STRING) USING delta PARTITIONED BY (p)",), ("id = 1", "p = 'x'")),
    "NaN and zeros": OddTable(
        (
            "CREATE TABLE {t} (d DOUBLE, f FLOAT) USING delta",
            "INSERT INTO {t} VALUES (double('NaN'), float('NaN')), (0.0, -0.0), (-0.0, 0.0), (1e308, 1e30), "
            "(NULL, NULL)",
        ),
        ("d = double('NaN')", "d > 1", "d = 0.0", "f > 1e20", "d >= double('NaN')"),
    ),
    "long text": OddTable(
        ("CREATE TABLE {t} USING delta AS SELECT repeat('é', 40) || id AS s FROM range(10)",),
        ("s > repeat('é', 40) || '8'", "s = repeat('é', 40) || '5'", "startswith(s, repeat('é', 33))"),
    ),
}
EVERYDAY = (
    "deletion vectors", "columns by name", "partitions", "partitions, quoted", "widened types", "padded text",
    "added columns",
)  # fmt: skip
