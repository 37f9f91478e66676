"""Where the page is in Airflow."""

from __future__ import annotations

from urllib.parse import quote, urlencode, urlsplit

from airflow.sdk import conf

PREFIX = "/refreshes"
ROUTE = "refreshes"
"""The name of the page in Airflow's navigation."""


def base_url() -> str:
    """The address of Airflow, without a slash at its end; empty where it is not configured."""
    return str(conf.get("api", "base_url", fallback="") or "").rstrip("/")


def page_path() -> str:
    """The path of the page on the host of Airflow, which may be below another one."""
    return f"{urlsplit(base_url()).path.rstrip('/')}{PREFIX}/"


def definition_path(name: str) -> str:
    """The page of a definition, below that of all."""
    return f"definitions/{quote(name, safe='')}"


def run_path(name: str, run_id: str) -> str:
    """The page of a run, below that of all definitions."""
    return f"{definition_path(name)}/runs/{quote(run_id, safe='')}"


def dag_run_path(dag_id: str, run_id: str, name: str) -> str:
    """The page that leads to the run that a DAG run made of a definition."""
    query = urlencode({"definition": name})
    return f"dags/{quote(dag_id, safe='')}/runs/{quote(run_id, safe='')}?{query}"


def in_airflow(path: str) -> str:
    """The address of a page, shown with Airflow's navigation beside it."""
    return f"{base_url()}/plugin/{ROUTE}{page_path()}{path}"
