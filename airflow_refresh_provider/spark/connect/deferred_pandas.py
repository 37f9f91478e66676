"""pyspark without pandas: its client imports pandas for conversions that no refresh asks for (ADR 65).

Where pyspark is imported inside of `pandas_deferred`, each name that it takes from pandas stands for the object of that
name: pandas is imported when one is used.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.metadata import PackageNotFoundError, version
from importlib.util import spec_from_loader
from operator import attrgetter
from types import ModuleType

_PANDAS = "pandas"


@contextmanager
def pandas_deferred() -> Iterator[None]:
    """Inside the block no import of pandas imports it. Nothing is done where it is imported already, or missing."""
    installed = _installed()
    if _PANDAS in sys.modules or installed is None:
        yield
        return
    sys.meta_path.insert(0, _Finder(installed))
    try:
        yield
    finally:
        _end()


def _installed() -> str | None:
    """The version that is there."""
    try:
        return version(_PANDAS)
    except PackageNotFoundError:
        return None


class _Finder(MetaPathFinder, Loader):
    """Finds every module of pandas. pyspark asks for the version when it is imported."""

    def __init__(self, installed: str) -> None:
        self._installed = installed

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        ours = fullname.partition(".")[0] == _PANDAS
        return spec_from_loader(fullname, self, is_package=True) if ours else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _Module(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        module.__dict__["__version__"] = self._installed


class _Module(ModuleType):
    """A module of pandas without content."""

    def __getattr__(self, name: str) -> _Object:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Object(f"{self.__name__}.{name}")


class _Object:
    """An object of pandas by its full name, such as a class: its use imports pandas."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __call__(self, *args: object, **kwargs: object) -> object:
        return _found(self._name)(*args, **kwargs)

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):  # what `typing` asks of a class in an annotation
            raise AttributeError(name)
        return getattr(_found(self._name), name)

    def __instancecheck__(self, instance: object) -> bool:
        return isinstance(instance, _found(self._name))


def _end() -> None:
    """From now on an import of pandas imports it."""
    sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, _Finder)]
    for name, module in list(sys.modules.items()):
        if isinstance(module, _Module):
            sys.modules.pop(name, None)


def _found(name: str) -> type:
    if isinstance(sys.modules.get(_PANDAS), _Module):  # used inside of the block
        _end()
    import pandas  # type: ignore[import-untyped]

    found: type = attrgetter(name.removeprefix(f"{_PANDAS}."))(pandas)
    return found
