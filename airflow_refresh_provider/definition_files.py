"""Definitions from YAML files: a file or a folder in, checked definitions out.

Here, and only here, a path may be relative: to the folder of its file. All problems are reported in one error,
one line for each: one error for all files or, so that valid files can be used beside broken ones, one for each file.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Hashable, Iterable, Iterator, Mapping
from pathlib import Path

import yaml

from airflow_refresh_provider.core.definition.broken import Broken
from airflow_refresh_provider.core.definition.definition import Definition
from airflow_refresh_provider.core.definition.locations import is_relative
from airflow_refresh_provider.core.definition.problems import invalid, together
from airflow_refresh_provider.core.text.templates import is_template, templated
from airflow_refresh_provider.errors import Invalid, RefreshError

PARSED_FOR = "_AIRFLOW_PARSING_CONTEXT_DAG_ID"
"""Airflow sets it while it parses a DAG file once more to run a task of it.

The queries were checked when the DAG was made, and are again when one that has changed is registered: loading
the SQL parser can take as long as a task.
"""

_SUFFIXES = (".yaml", ".yml")


_Found = list[tuple[Path, Definition]]
_Errors = list[tuple[Path, Invalid]]


def load_definitions(path: str | os.PathLike[str], *, strict: bool = False) -> tuple[Definition | Broken, ...]:
    """All definitions of a file, or of the *.yaml and *.yml files of a folder and its subfolders, in order of path.

    An invalid file does not prevent the others from being used: for each there is a Broken, from which `refresh_dag`
    makes a DAG that reports the problems. Raises Invalid where there is no file, and, if `strict`,
    naming file, field and fix of every problem.

    A relative path begins at the folder of the calling file, as a DAG file cannot know where Airflow runs it; without
    a calling file at the current folder.
    """
    caller = sys._getframe(1).f_globals.get("__file__")
    place = Path(caller).parent / path if caller else Path(path)
    return read_definitions(place) if strict or not _is_there(place) else _valid_and_broken(place)


def read_definitions(path: str | os.PathLike[str]) -> tuple[Definition, ...]:
    """As a strict `load_definitions`, a relative path beginning at the current folder."""
    found, errors = sound_and_wrong(path)
    if errors:
        raise together_by_file(errors)
    return tuple(definition for _, definition in found)


def _valid_and_broken(path: Path) -> tuple[Definition | Broken, ...]:
    """The valid definitions, and after them one Broken for each file that holds another."""
    found, errors = sound_and_wrong(path)
    sound: dict[str, Definition] = {}
    for _, definition in found:
        sound.setdefault(definition.name, definition)
    broken = [
        Broken(_name_of(file), str(file), together_by_file([(f, e) for f, e in errors if f == file]))
        for file in dict.fromkeys(file for file, _ in errors)
    ]
    return (*sound.values(), *broken)


def _name_of(file: Path) -> str:
    """A name that no definition has, and that Airflow takes for DAGs and tasks."""
    return re.sub(r"[^\w.-]", "_", f"broken.{file.absolute().parent.name}.{file.name}")


def sound_and_wrong(path: str | os.PathLike[str]) -> tuple[_Found, _Errors]:
    """As `read_definitions`, each definition with its file; and what is wrong with the other definitions."""
    found: _Found = []
    errors: _Errors = []
    for file in _files(Path(path)):
        for given in _documents(file, errors):
            wrong = [*_bare_target(given), *_templates(given)]
            try:
                found.append((file, _made(given, file.parent)))
            except Invalid as error:
                wrong.append(error)
            errors += ((file, error) for error in wrong)
    return found, [*errors, *_repeated_names(found)]


def _is_there(path: Path) -> bool:
    """Whether a path leads to something; one that cannot be followed, such as a name that is too long, does not."""
    try:
        return path.exists()
    except OSError:
        return False


def _files(path: Path) -> list[Path]:
    try:
        if not path.is_dir():
            return [path]
        files = sorted(_files_below(path))
    except OSError as error:
        raise invalid([f"{path}: cannot be read: {error.strerror}"]) from None
    if not files:
        raise invalid([f"{path}: has no *.yaml or *.yml file"])
    return files


def _files_below(folder: Path, above: frozenset[Path] = frozenset()) -> Iterator[Path]:
    """The YAML files of a folder and its subfolders, by suffix in any case. Names that begin with a dot are skipped."""
    place = folder.resolve()
    if place in above:  # a link leads back to a folder that it lies in
        return
    for entry in folder.iterdir():
        if entry.name.startswith("."):
            continue
        if entry.is_dir():
            yield from _files_below(entry, above | {place})
        elif entry.suffix.lower() in _SUFFIXES and entry.is_file():
            yield entry


def _documents(file: Path, errors: _Errors) -> Iterator[dict[str, object]]:
    """The mappings of a file that can be read as definitions; what cannot is added to `errors`."""
    try:
        text = _text(file)
    except Invalid as error:
        errors.append((file, error))
        return
    try:
        documents = [d for d in yaml.load_all(text, Loader=_Loader) if d is not None]
        _check_values(documents)
    except RecursionError:
        errors.append((file, invalid(["malformed YAML: lists or mappings are nested too deeply"])))
        return
    except (yaml.YAMLError, ValueError) as error:
        errors.append((file, invalid([_malformed(error) + (_TEMPLATED if is_template(text) else "")])))
        return
    if not documents:
        errors.append((file, invalid(["holds no definition: write name, target, query, inputs and keys"])))
    for document in documents:
        if isinstance(document, dict) and all(isinstance(key, str) for key in document):
            yield document
        else:
            errors.append((file, invalid(["a definition must be a mapping of field names to values"])))


def _check_values(documents: list[object]) -> None:
    """Refuse what YAML allows and no definition can hold. Raises YAMLError."""
    around: set[int] = set()
    sound: set[int] = set()

    def check(value: object) -> None:
        if isinstance(value, str):
            if any("\ud800" <= c <= "\udfff" for c in value):
                raise yaml.YAMLError("half of a surrogate pair is no character: write the character itself")
            return
        if not isinstance(value, dict | list | tuple) or id(value) in sound:
            return
        if id(value) in around:
            raise yaml.YAMLError("an alias refers to a node that contains it")
        around.add(id(value))
        for part in (*value, *value.values()) if isinstance(value, dict) else value:
            check(part)
        around.remove(id(value))
        sound.add(id(value))

    check(documents)


def _text(file: Path) -> str:
    """The text of a file. Raises Invalid."""
    try:
        return file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise invalid([f"is not UTF-8 text (byte {error.start})"]) from None
    except (OSError, ValueError) as error:
        raise invalid([f"cannot be read: {getattr(error, 'strerror', error)}"]) from None


def _made(given: Mapping[str, object], folder: Path) -> Definition:
    """The definition that a mapping stands for. Raises Invalid with everything that is wrong."""
    fields, problem = _with_query(_resolved(given, folder), folder)
    if problem:
        raise invalid(dict.fromkeys((problem, *Definition.wrong_fields(**fields))))
    return Definition.unchecked(**fields) if os.environ.get(PARSED_FOR) else Definition.build(**fields)


def _resolved(given: Mapping[str, object], folder: Path) -> dict[str, object]:
    """The fields with relative places made absolute."""
    fields = dict(given)
    if isinstance(target := fields.get("target"), str):
        fields["target"] = _absolute(target, folder)
    if isinstance(inputs := fields.get("inputs"), dict):
        fields["inputs"] = {name: _resolved_input(value, folder) for name, value in inputs.items()}
    return fields


def _with_query(fields: dict[str, object], folder: Path) -> tuple[dict[str, object], str | None]:
    """The fields with the query's file read; beside them why the text of the query cannot be known, if it cannot."""
    if "query_file" in fields:
        file = fields.pop("query_file")
        if "query" in fields:
            return fields, "give exactly one of query, query_file and from"
        try:
            fields["query"] = _query_of(file, folder)
        except Invalid as error:
            return fields | {"query": _UNKNOWN}, error.message
    query = fields.get("query")
    if isinstance(query, _Folded):
        return fields | {"query": _UNKNOWN}, f"query: {_SWALLOWED.format(line=query.line)}"
    if isinstance(query, str) and is_template(query):
        return fields, _TEMPLATE
    return fields, None


def _bare_target(given: Mapping[str, object]) -> Iterator[Invalid]:
    """The error about an ambiguous target; other problems are found as well."""
    target = given.get("target")
    if isinstance(target, str) and target.strip() and is_relative(target) and "/" not in target:
        yield invalid([f"target: {target} could be a table of a catalog, which is not supported yet: write ./{target}"])


def _templates(given: Mapping[str, object]) -> Iterator[Invalid]:
    """The errors about Jinja templates, but for fields that are checked for them elsewhere, and for free text."""
    for field in templated(given):
        if field.rpartition(".")[2] not in ("target", "path", "query", "description"):
            yield invalid([f"{field}: must not have a Jinja template: definitions are not rendered"])


def _resolved_input(value: object, folder: Path) -> object:
    if isinstance(value, dict) and isinstance(path := value.get("path"), str):
        return {**value, "path": _absolute(path, folder)}
    return value


def _absolute(location: str, folder: Path) -> str:
    if not location.strip() or not is_relative(location):
        return location
    return os.path.abspath(folder / location)  # noqa: PTH100 - normalises `..` as text, as locations are


def _query_of(file: object, folder: Path) -> str:
    """The text of a query's file. Raises Invalid."""
    if not isinstance(file, str):
        raise invalid(["query_file: must be the path of a file"])
    try:
        return _text(folder / file)
    except Invalid as error:
        raise invalid([f"query_file: {file} {error.message}"]) from None


def _repeated_names(found: _Found) -> Iterator[tuple[Path, Invalid]]:
    first: dict[str, Path] = {}
    for file, definition in found:
        if definition.name in first:
            yield file, invalid([f"name: {definition.name} is already used in {first[definition.name]}: rename one"])
        first.setdefault(definition.name, file)


def together_by_file(errors: Iterable[tuple[Path, RefreshError]]) -> Invalid:
    """One error for several, each with its file in every line."""
    return together([_of_file(file, error) for file, error in errors])


def _of_file(file: Path, error: RefreshError) -> Invalid:
    lines = (f"{file}: {line}" for line in error.message.splitlines())
    return Invalid(error.code, "\n".join(lines), next=error.next)


def _malformed(error: yaml.YAMLError | ValueError) -> str:
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        mark = error.problem_mark
        return f"line {mark.line + 1}, column {mark.column + 1}: malformed YAML: {error.problem}"
    return f"malformed YAML: {str(error).splitlines()[0]}"


_TEMPLATED = "; it has a Jinja template, and definitions are not rendered"
_UNKNOWN = "the text of a file that cannot be read"
"""Stands for a query while the other fields are checked."""
_TEMPLATE = (
    "query: has a Jinja template, and files are not rendered: write its value, or a clock function such as "
    "current_date(), or make the Definition in Python"
)
_SWALLOWED = (
    "its lines, from line {line} of the file on, are folded into one, so that a comment (--) covers the rest: "
    "write `query: |`"
)
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"|`[^`]*`")


def _swallows_lines(node: yaml.Node) -> bool:
    """Whether YAML joins several lines of a query into one, in which a comment is not the end."""
    if not isinstance(node, yaml.ScalarNode) or node.style == "|" or node.start_mark.line == node.end_mark.line:
        return False
    lines = (_QUOTED.sub("", line) for line in str(node.value).splitlines())
    return any("--" in line for line in lines)


class _Folded(str):
    """A query whose lines were folded into one behind a comment. `line`: where it begins in its file."""

    line: int

    @classmethod
    def at(cls, node: yaml.Node) -> _Folded:
        """The text of a node."""
        found = cls(node.value)
        found.line = node.start_mark.line + 1
        return found


class _Loader(yaml.SafeLoader):
    """YAML's safe loader, refusing a key that occurs twice in one mapping, and marking a query cut off by a comment."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, object]:
        """A mapping whose keys are all different."""
        seen: set[object] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.tag != "tag:yaml.org,2002:merge":
                if key.value in seen:
                    raise yaml.constructor.ConstructorError(None, None, f"{key.value} occurs twice", key.start_mark)
                seen.add(key.value)
        found = super().construct_mapping(node, deep)
        for key, value in node.value:
            if getattr(key, "value", None) == "query" and _swallows_lines(value):
                found["query"] = _Folded.at(value)
        return found
