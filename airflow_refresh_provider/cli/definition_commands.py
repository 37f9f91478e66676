"""Commands on definitions: validate, register, list, show and drop."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from airflow_refresh_provider.cli.call import Call
from airflow_refresh_provider.core.definition.definition import Definition
from airflow_refresh_provider.core.definition.mode import Mode, check_mode
from airflow_refresh_provider.core.definition.places import check_written
from airflow_refresh_provider.core.definition.selection import Selection, selected
from airflow_refresh_provider.core.run.admin_results import Dropped, Registration, Validated
from airflow_refresh_provider.core.run.explanation import Explanation, explanation_by_text
from airflow_refresh_provider.core.run.query_notices import query_notices
from airflow_refresh_provider.core.run.reports import DefinitionStatus
from airflow_refresh_provider.core.timing.cascade import upstream_first
from airflow_refresh_provider.errors import Invalid, RefreshError


def validate(_call: Call, file: list[str], tag: list[str], name: list[str]) -> list[Validated]:
    """Check definitions without a server. All files are read; those that are selected are listed."""
    found, errors = _sound_and_wrong(file)
    if name or tag or not found:
        _raise_together(errors)  # one that is named may be among them
    selection = Selection(tuple(name), tuple(tag), every=not name)
    chosen = {definition.name for definition in selected(selection, [definition for _, definition in found])}
    others = {definition.name: definition for _, definition in found}
    done: list[Validated] = []
    for path, definition in found:
        if definition.name in chosen:
            del others[definition.name]  # two that do not go together are reported once
            try:
                done.append(_validated(path, definition, others.values()))
            except RefreshError as error:
                errors.append((path, error))
    _raise_together(errors)
    return done


def _validated(file: Path, definition: Definition, others: Iterable[Definition]) -> Validated:
    """Raises what registering would raise, as far as the text says."""
    check_written(definition, others)
    facts = definition.analyse_query()
    found = explanation_by_text(definition, facts)
    if definition.mode is Mode.INCREMENTAL and not found.row_wise:
        from airflow_refresh_provider.core.maintain.by_text import surely_unfollowed

        check_mode(definition.mode, surely_unfollowed(definition), [one.text for one in found.advice])
    return Validated(
        file=str(file),
        name=definition.name,
        target=definition.target,
        definition_hash=definition.hash,
        explanation=found,
        notices=query_notices(definition, facts),
    )


def register(call: Call, file: list[str]) -> list[Registration]:
    """Store definitions, upstream ones first. All files are checked before the first is stored."""
    definitions = [link.definition for link in upstream_first([definition for _, definition in _read_all(file)])]
    refreshes = call.refreshes()
    done: list[Registration] = []
    for definition in definitions:
        try:
            done.append(refreshes.register(definition))
        except RefreshError as error:
            raise _stopped_half_way(error, done) from error
    return done


def list_all(call: Call) -> list[DefinitionStatus]:
    """All registered definitions, by name."""
    refreshes = call.refreshes()
    found = refreshes.statuses()
    call.note_if_none(refreshes, found)
    return found


def show(call: Call, name: str) -> DefinitionStatus:
    """One definition and its status, and how its target is read."""
    refreshes = call.refreshes()
    return refreshes.show(name).model_copy(update={"reading": refreshes.reading(name)})


def explain(call: Call, name: list[str], tag: list[str], all: bool, strict: bool) -> list[Explanation]:
    """How definitions follow their inputs: registered ones with their next refresh, those of files without it."""
    registered = tag or all or not name or [one for one in name if not (_is_file(one) or Path(one).is_dir())]
    refreshes = call.refreshes() if registered else call.refreshes_of_files()
    files = [given for given in name if _is_file(given) or (Path(given).is_dir() and not refreshes.knows(given))]
    selection = Selection(tuple(given for given in name if given not in files), tuple(tag), every=all)
    if not files:
        selection.check()
    found = [refreshes.explain_definition(definition) for _, definition in _read_all(files)]
    if not selection.empty:
        found += refreshes.explain_several(selection)
    return [one.model_copy(update={"strict": strict}) for one in found]


def drop(call: Call, name: str, delete_target: bool, stop: bool) -> Dropped:
    """Remove a definition."""
    return call.refreshes().drop(name, delete_target=delete_target, stop=stop)


def _is_file(given: str) -> bool:
    """Whether a word names a file or a folder of definitions instead of registered ones."""
    return "/" in given or given.endswith((".yaml", ".yml")) or given in (".", "..")


def _read_all(paths: list[str]) -> list[tuple[Path, Definition]]:
    """Definitions of all files, each with its file. Raises Invalid."""
    found, errors = _sound_and_wrong(paths)
    _raise_together(errors)
    return found


def _sound_and_wrong(paths: list[str]) -> tuple[list[tuple[Path, Definition]], list[tuple[Path, RefreshError]]]:
    """Definitions of all files, and what is wrong with those that are none, each with its file."""
    from airflow_refresh_provider.definition_files import sound_and_wrong

    found: dict[str, tuple[Path, Definition]] = {}
    errors: list[tuple[Path, RefreshError]] = []
    for path in paths:
        sound, wrong = sound_and_wrong(path)
        errors += wrong
        for file, definition in sound:
            if (other := found.setdefault(definition.name, (file, definition))[0]) != file:
                errors.append((file, _repeated(definition.name, other)))
    return list(found.values()), errors


def _repeated(name: str, other: Path) -> Invalid:
    return Invalid(
        "definition_invalid",
        f"the name {name} is already used in {other}",
        next="Give each definition a name of its own.",
    )


def _raise_together(errors: list[tuple[Path, RefreshError]]) -> None:
    if errors:
        from airflow_refresh_provider.definition_files import together_by_file

        raise together_by_file(errors)


def _stopped_half_way(error: RefreshError, done: list[Registration]) -> RefreshError:
    if not done:
        return error
    names = ", ".join(registration.name for registration in done)
    return type(error)(
        error.code,
        error.message,
        left=f"Registered before it: {names}. Nothing else was changed.",
        next=error.next,
    )
