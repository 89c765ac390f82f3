"""What the site needs besides the pages: the documents at the top of the repository as pages, and the plots, computed in the build."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import plots  # noqa: E402

ROOT = HERE.parent
ABOVE = {"README.md": "readme.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}
NOTEBOOK = "interface"
PLOT = re.compile(r"^<!-- plot: (\w+) -->$", re.MULTILINE)


def on_config(config: Any, **_: Any) -> Any:
    """Puts the pages of the rules into the navigation, by code."""
    from attnlint.registry import rules

    section = next(entry for entry in config.nav if isinstance(entry, dict) and "Rules" in entry)
    own = [rule for rule in rules() if rule.code.startswith("ATT")]
    section["Rules"] = ["rules/index.md", *({f"{rule.code} {rule.name}": f"rules/{rule.name}.md"} for rule in own)]
    return config


def on_files(files: Files, config: Any, **_: Any) -> Files:
    """Adds the documents that lie above the folder, with their links as they are from here, and the plots."""
    for name, page in ABOVE.items():
        text = (ROOT / name).read_text(encoding="utf-8")
        text = re.sub(r"\]\(docs/", "](", text)
        text = re.sub(r"\]\((" + "|".join(map(re.escape, ABOVE)) + r")", lambda found: f"]({ABOVE[found[1]]}", text)
        files.append(File.generated(config, page, content=text))
    files.append(File.generated(config, f"{NOTEBOOK}.md", content=page_of(ROOT / "docs" / f"{NOTEBOOK}.ipynb")))
    for name, (draw, _text) in plots.PLOTS.items():
        files.append(File.generated(config, f"plots/{name}.svg", content=draw()))
    return files


def page_of(notebook: Path) -> str:
    """A notebook as a page: its words, its cells and what they print."""
    parts = []
    for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
        text = "".join(cell["source"])
        parts.append(text if cell["cell_type"] == "markdown" else f"```python\n{text}\n```")
        for output in cell.get("outputs", ()):
            told = "".join(output.get("text") or output["data"]["text/plain"]).rstrip()
            parts.append(f"```text\n{told}\n```")
    return "\n\n".join(parts) + "\n"


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Links out of the folder lead to the pages that were added; a plot stands where the page asks for it."""
    for name, there in ABOVE.items():
        markdown = markdown.replace(f"](../{name}", f"]({there}")
    markdown = markdown.replace(f"]({NOTEBOOK}.ipynb", f"]({NOTEBOOK}.md")
    return PLOT.sub(lambda found: f"![{plots.PLOTS[found[1]][1]}](plots/{found[1]}.svg)", markdown)
