"""Groups by text with a collation follow their inputs."""

from __future__ import annotations

from tests.cases.case import Case


def test_groups_by_text_with_a_collation_follow_changes(case: Case) -> None:
    case.do(
        "CREATE TABLE {src} (id INT, name STRING COLLATE UTF8_LCASE, v INT) USING delta "
        "TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true')",
        "INSERT INTO {src} SELECT id, concat(if(id % 2 = 0, 'N', 'n'), id % 10), id FROM range(100)",
    )
    case.define(
        "SELECT name, min(CAST(name AS STRING) COLLATE UTF8_BINARY) AS first, max(v) AS most FROM src GROUP BY name",
        keys=["name"],
        mode="incremental",
    )
    case.refresh()
    codes = []
    for number in range(4):
        case.do(
            f"UPDATE {{src}} SET v = v + 1000 WHERE name = 'N{number}'",
            f"INSERT INTO {{src}} VALUES ({200 + number}, 'nEW', {number}), ({300 + number}, 'N{number}', 1)",
            f"DELETE FROM {{src}} WHERE name = 'N{number + 5}'",
        )
        codes.append(case.refresh().mode_code)
    assert codes == ["verification", "changes", "changes", "changes"], codes
