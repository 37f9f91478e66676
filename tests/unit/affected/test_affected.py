"""Which tests a change reaches: by imports, by the programs that tests start, by what supports them."""

from __future__ import annotations

from tests.affected import ALWAYS, affected, imported

PACKAGE = "airflow_refresh_provider"
DOWNSTREAM = {
    f"{PACKAGE}.core.text": {f"{PACKAGE}.runner.steps", f"{PACKAGE}.cli.main"},
    f"{PACKAGE}.hooks": {f"{PACKAGE}.dag_factory"},
    f"{PACKAGE}.runner.steps": {f"{PACKAGE}.cli.main"},
}
TESTS = {
    "tests/unit/core/test_text.py": {f"{PACKAGE}.core.text"},
    "tests/unit/runner/test_steps.py": {"tests.unit.runner.world"},
    "tests/unit/runner/world.py": {f"{PACKAGE}.runner.steps"},
    "tests/unit/runner/test_alone.py": set[str](),
    "tests/airflow/test_dags.py": set[str](),
    "tests/cli/test_commands.py": set[str](),
}


def of(*changed: str) -> list[str]:
    """The test files that changes reach, except those that always run."""
    found = affected(changed, DOWNSTREAM, TESTS)
    assert ALWAYS in found
    return [file for file in found if file != ALWAYS]


def test_a_module_reaches_the_tests_that_import_it_or_what_depends_on_it() -> None:
    assert of(f"{PACKAGE}/core/text.py") == [
        "tests/cli/test_commands.py",
        "tests/unit/core/test_text.py",
        "tests/unit/runner/test_steps.py",
    ]


def test_a_module_that_only_a_started_program_imports_reaches_the_tests_that_start_it() -> None:
    assert of(f"{PACKAGE}/hooks/__init__.py") == ["tests/airflow/test_dags.py"]


def test_a_file_that_a_module_reads_reaches_what_the_module_does() -> None:
    tests = {"tests/unit/page/test_pages.py": {f"{PACKAGE}.page.app"}, "tests/unit/core/test_text.py": set[str]()}
    downstream = {f"{PACKAGE}.page.templating": {f"{PACKAGE}.page.app"}}
    found = affected([f"{PACKAGE}/page/templates/base.html"], downstream, tests)
    assert found == [ALWAYS, "tests/unit/page/test_pages.py"]


def test_a_test_file_reaches_itself() -> None:
    assert of("tests/unit/core/test_text.py") == ["tests/unit/core/test_text.py"]


def test_what_supports_tests_reaches_those_of_its_folder() -> None:
    assert of("tests/unit/runner/conftest.py") == ["tests/unit/runner/test_alone.py", "tests/unit/runner/test_steps.py"]


def test_a_page_and_an_example_reach_the_tests_that_run_them() -> None:
    assert of("docs/airflow.md") == ["tests/cli/test_commands.py"]
    assert of("dags/tpch.py") == ["tests/airflow/test_dags.py"]


def test_what_decides_how_tests_run_reaches_all_and_nothing_reaches_none() -> None:
    assert affected(["pyproject.toml"], DOWNSTREAM, TESTS) == ["tests"]
    assert affected([], DOWNSTREAM, TESTS) == []


def test_imports_are_found_wherever_they_stand() -> None:
    source = "import a.b\ndef late():\n    from c import d\nfrom tests import affected\n"
    assert imported(source) == {"a.b", "c", "c.d", "tests.affected"}
