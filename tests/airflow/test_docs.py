"""The Python that README and docs show for Airflow is put beside definitions and parsed as a DAG file."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.airflow.conftest import DAGS, Airflow

ROOT = Path(__file__).parents[2]
PYTHON = re.compile(r"^```python\n(.*?)^```", flags=re.DOTALL | re.MULTILINE)
YAML = re.compile(r"^```yaml\n(.*?)^```", flags=re.DOTALL | re.MULTILINE)
SHOWN = [
    pytest.param(body, id=f"{page.name}-{n}")
    for page in (ROOT / "README.md", *(ROOT / "docs" / name for name in ("airflow.md", "signals.md", "spark_apps.md")))
    for n, body in enumerate(PYTHON.findall(page.read_text()))
]


@pytest.mark.parametrize("body", SHOWN)
def test_what_is_shown_makes_a_dag(airflow: Airflow, body: str) -> None:
    for name in ("refreshes", "sales"):
        (DAGS / name).mkdir(exist_ok=True)
        (DAGS / name / "my_revenue.yaml").write_text(YAML.findall((ROOT / "README.md").read_text())[0])
    assert airflow.dag(body).dag_id in ("refresh.my_revenue", "refresh.nightly", "small_tables", "report", "sales")


def test_something_is_shown() -> None:
    assert len(SHOWN) >= 4
