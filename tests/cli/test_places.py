from collections.abc import Callable, Iterator
from contextlib import chdir, contextmanager
from pathlib import Path

import pytest

from airflow_refresh_provider.errors import Invalid
from airflow_refresh_provider.places import Places, current_folder, resolve

HOME = {"HOME": "/home/ada"}


@contextmanager
def working_in_a_removed(folder: Path) -> Iterator[None]:
    folder.mkdir()
    with chdir(folder):
        folder.rmdir()
        yield


def working_in(folder: str) -> Callable[[], str]:
    return lambda: folder


def test_an_option_goes_before_the_environment() -> None:
    environment = {**HOME, "AIRFLOW_REFRESH_CONTROL": "/env", "AIRFLOW_REFRESH_SPARK": "sc://env:1"}
    assert resolve(environment, working_in("/cwd"), None, None) == Places("/env", "sc://env:1", "/env/.spark")
    assert resolve(environment, working_in("/cwd"), "/given", "local") == Places("/given", "local", "/given/.spark")


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("control", "/srv/control"),
        ("./a/../control/", "/srv/control"),
        ("/a b/ö", "/a b/ö"),
        ("file:/data/control", "/data/control"),
        ("file:///data/a%20b", "/data/a b"),
        ("file:///data/a#b", "/data/a#b"),
        ("file:///data/a?x", "/data/a?x"),
        ("FILE:///data/control/", "/data/control"),
        ("file://localhost/data", "/data"),
        ("s3://bucket/control/", "s3://bucket/control"),
    ],
)
def test_a_control_root_is_an_absolute_path_or_a_uri(given: str, meant: str) -> None:
    assert resolve(HOME, working_in("/srv"), given, None).control == meant


@pytest.mark.parametrize("given", ["hdfs://name/control", "abfs:/container/control", "S3:/bucket", "http://host/x"])
def test_a_uri_that_is_no_storage_is_no_control_root(given: str) -> None:
    with pytest.raises(Invalid, match="one of the schemes s3, s3a") as raised:
        resolve(HOME, working_in("/srv"), given, None)
    assert raised.value.code == "control_root_path"


@pytest.mark.parametrize("given", ["file:", "file://", "file:///", "file:control", "file://server/share"])
def test_a_file_uri_that_names_no_folder_of_this_machine_is_no_control_root(given: str) -> None:
    with pytest.raises(Invalid) as raised:
        resolve(HOME, working_in("/srv"), given, None)
    assert raised.value.code == "control_root_path"
    assert given in raised.value.message


@pytest.mark.parametrize(
    ("environment", "home"),
    [
        (HOME, "/home/ada/.local/state/airflow-refresh-provider"),
        ({**HOME, "XDG_STATE_HOME": "/state"}, "/state/airflow-refresh-provider"),
    ],
)
def test_remote_control_tables_leave_the_server_in_the_users_own_folder(environment: dict[str, str], home: str) -> None:
    assert resolve(environment, working_in("/cwd"), "s3://bucket/control", None).spark_home == home


def test_without_a_control_root_there_is_nothing_to_work_on() -> None:
    with pytest.raises(Invalid) as raised:
        resolve({"AIRFLOW_REFRESH_CONTROL": ""}, working_in("/cwd"), None, None)
    assert raised.value.code == "no_control"


def test_the_current_folder_need_not_exist_for_an_absolute_path(tmp_path: Path) -> None:
    with working_in_a_removed(tmp_path / "gone"):
        for absolute in ("/srv/control", "file:///srv/control"):
            assert resolve(HOME, current_folder, absolute, None).control == "/srv/control"
        with pytest.raises(Invalid) as raised:
            resolve(HOME, current_folder, "control", None)
    assert raised.value.code == "no_folder"
