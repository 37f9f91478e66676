"""pyspark is imported without pandas, which is there when it is used. Each in a process of its own."""

from __future__ import annotations

import subprocess
import sys

import pytest

_IMPORTED = """
import sys
from airflow_refresh_provider.spark.connect.deferred_pandas import pandas_deferred
with pandas_deferred():
    import airflow_refresh_provider.spark.engine
    from pyspark.sql.connect import session
"""


def _run(program: str) -> str:
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.strip()


def test_the_engine_of_a_refresh_is_made_without_pandas() -> None:
    program = """
import sys
from airflow_refresh_provider.compose import LazyEngine
from airflow_refresh_provider.errors import Retry
from airflow_refresh_provider.places import Places
try:
    LazyEngine(Places(control="/nowhere", spark="sc://127.0.0.1:9", spark_home="/nowhere")).open("a session")
except Retry:
    print("pyspark.sql.connect.session" in sys.modules, "pandas" in sys.modules)
"""
    assert _run(program) == "True False"


def test_the_engine_is_imported_without_pandas() -> None:
    assert _run(f"{_IMPORTED}print([name for name in sys.modules if name.partition('.')[0] == 'pandas'])") == "[]"


@pytest.mark.parametrize(
    "used",
    [
        "isinstance(real.DataFrame(), session.pd.DataFrame) and not isinstance({}, session.pd.DataFrame)",
        "session.pd.DataFrame({'a': [1]}).equals(real.DataFrame({'a': [1]}))",
        "session.is_datetime64_dtype(real.Series(real.to_datetime(['2026-01-01'])).dtype)",
        "session.pd.api.types.is_integer(1)",
        "pa.array(real.Series([1, None, real.NaT], dtype=object)).to_pylist() == [1, None, None]",
        "session.pd.__version__ == real.__version__ and session.pd is not real",
    ],
)
def test_what_it_uses_of_pandas_later_is_pandas_itself(used: str) -> None:
    assert _run(f"{_IMPORTED}import pandas as real, pyarrow as pa\nprint({used})") == "True"


def test_where_pandas_is_imported_already_pyspark_has_it() -> None:
    assert _run(f"import pandas as real\n{_IMPORTED}print(session.pd is real)") == "True"


def test_an_error_in_the_block_leaves_imports_as_they_were() -> None:
    program = """
from airflow_refresh_provider.spark.connect.deferred_pandas import pandas_deferred
try:
    with pandas_deferred():
        import pandas
        raise ValueError
except ValueError:
    import pandas
    print(pandas.Series([1]).sum())
"""
    assert _run(program) == "1"


def test_what_is_used_in_the_block_is_imported_there() -> None:
    program = """
from airflow_refresh_provider.spark.connect.deferred_pandas import pandas_deferred
with pandas_deferred():
    import pandas as deferred, pyarrow as pa
    print(deferred.api.types.is_integer(1), pa.array([1]).to_pylist())
    import pandas
    print(pandas.Series([1]).sum(), pandas is deferred)
"""
    assert _run(program).split() == ["True", "[1]", "1", "False"]
