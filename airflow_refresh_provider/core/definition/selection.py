"""Which of many definitions a command is about: by name, by pattern of names, by tag, or all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from airflow_refresh_provider.core.definition.definition import Definition
from airflow_refresh_provider.core.text.wording import suggestion
from airflow_refresh_provider.errors import Invalid

_WILDCARDS = frozenset("*?[")


@dataclass(frozen=True)
class Selection:
    """Definitions whose name is one of `names`, or matches one of them (`*`, `?`), and that have one of `tags`.

    Without names all are meant, if tags are given or `every` is set.
    """

    names: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    every: bool = False

    @property
    def one(self) -> str | None:
        """The name, where it selects one definition by its name alone."""
        alone = len(self.names) == 1 and not self.tags and not self.every
        return self.names[0] if alone and not _is_pattern(self.names[0]) else None

    @property
    def empty(self) -> bool:
        """Whether nothing was said about what is meant."""
        return not (self.names or self.tags or self.every)

    def check(self) -> None:
        """Raises Invalid where it does not say what is meant, or says two things."""
        if self.empty or (self.every and self.names):
            raise Invalid(
                "usage",
                "name definitions, or pass --tag or --all" if self.empty else "names and --all exclude each other",
                next="A name may be a pattern, such as `sales_*`; see `airflow-refresh run --help`.",
            )


def selected(selection: Selection, definitions: Sequence[Definition], where: str = "") -> list[Definition]:
    """The definitions that are meant, in the order given. Raises Invalid where a name, pattern or tag has none.

    `where`: where they are from, for the error.
    """
    selection.check()
    for name in selection.names:
        if not any(_matches(name, definition) for definition in definitions):
            close = suggestion(name, (definition.name for definition in definitions))
            raise _nothing(f"no definition {'matches' if _is_pattern(name) else 'is named'} {name!r}{where}", close)
    for tag in selection.tags:
        if not any(tag in definition.tags for definition in definitions):
            close = suggestion(tag, (known for definition in definitions for known in definition.tags))
            raise _nothing(f"no definition has the tag {tag!r}{where}", close)
    named = [d for d in definitions if not selection.names or any(_matches(name, d) for name in selection.names)]
    return [d for d in named if not selection.tags or set(selection.tags) & set(d.tags)]


def _matches(name: str, definition: Definition) -> bool:
    return fnmatchcase(definition.name, name)


def _is_pattern(name: str) -> bool:
    return bool(_WILDCARDS & set(name))


def _nothing(why: str, close: str) -> Invalid:
    return Invalid(
        "unknown_name",
        f"{why}{f'.{close}' if close else ''}",
        next="See names and tags with `airflow-refresh list --output json`.",
    )
