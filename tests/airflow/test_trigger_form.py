"""The trigger form offers the options of a request, and a DAG run gets the request that was chosen in it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from airflow_refresh_provider.core.run.request import RunRequest
from airflow_refresh_provider.errors import Invalid
from airflow_refresh_provider.task_context import binding
from airflow_refresh_provider.task_context.trigger_form import check_form, trigger_form
from tests.unit.core.test_options import CHOSEN

WITHOUT_FIELD = {"if_running", "priority", "workers", "take_over", "only_run"}


def context(params: dict[str, Any], conf: dict[str, Any] | None = None) -> Any:
    """The context of a task in a DAG that has the form."""
    return {
        "ti": SimpleNamespace(dag_id="dag"),
        "run_id": "run",
        "params": params,
        "dag": SimpleNamespace(params=trigger_form()),
        "dag_run": SimpleNamespace(run_type="manual", conf=conf),
    }


def requested(params: dict[str, Any]) -> RunRequest:
    return binding.request(context(params)).model_copy(update={"origin": None})


def test_the_form_has_the_options_of_a_request() -> None:
    assert trigger_form().keys() == CHOSEN.keys() - WITHOUT_FIELD
    assert all(param.description for param in trigger_form().values())


def test_a_dag_run_gets_what_was_chosen() -> None:
    assert requested(CHOSEN) == RunRequest(**CHOSEN)
    assert requested({name: param.value for name, param in trigger_form().items()}) == requested({}) == RunRequest()


@pytest.mark.parametrize("name", [name for name in CHOSEN if name != "only_run"])  # any text may be an id
def test_a_value_that_an_option_cannot_have_is_refused(name: str) -> None:
    with pytest.raises(Invalid, match=f"^{name} cannot be 'other'"):
        requested({name: "other"})


def test_the_configuration_of_a_dag_run_has_no_other_names() -> None:
    check_form(context({}, CHOSEN))
    with pytest.raises(Invalid, match=r"^forced: unknown"):
        check_form(context({}, {"forced": True}))
