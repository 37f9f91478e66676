"""The example of docs/testing.md runs."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[3] / "docs" / "testing.md"


def test_the_example_of_the_page_runs_as_it_stands() -> None:
    (example,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)
    exec(compile(example, str(PAGE), "exec"), {})  # noqa: S102 - the page is ours
