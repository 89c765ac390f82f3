"""Puts the account that hosts the project in the place of `OWNER`, everywhere: `python docs/host.py ACCOUNT/NAME`.

The release workflow does so in what it builds. Whoever hosts the project runs it once and commits what it changed.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PLACEHOLDER = "OWNER/attnlint"
NAMED_IN = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "pyproject.toml", "mkdocs.yml", "action.yml", "attnlint/registry.py")
NAMED_BELOW = (("docs", "*.md"), ("editors/vscode", "*.json"), ("editors/vscode", "*.md"))
EXPLAINED = re.compile(r"<!-- host: begin -->\n.*?<!-- host: end -->\n\n?", re.DOTALL)


def files() -> list[Path]:
    """The files that may name the host."""
    listed = [ROOT / name for name in NAMED_IN]
    found = [path for folder, pattern in NAMED_BELOW for path in sorted((ROOT / folder).rglob(pattern)) if "node_modules" not in path.parts]
    return [path for path in (*listed, *found) if path.is_file()]


def filled(text: str, account: str, name: str) -> str:
    """A text that names the host; what explained the placeholder goes."""
    text = EXPLAINED.sub("", text).replace(PLACEHOLDER, f"{account}/{name}")
    return text.replace("https://OWNER.github.io/attnlint", f"https://{account.lower()}.github.io/{name}")


def main(arguments: list[str]) -> int:
    """Rewrites the files; 2 where the repository is not named as ACCOUNT/NAME."""
    if len(arguments) != 1 or not re.fullmatch(r"[\w.-]+/[\w.-]+", arguments[0]):
        print("usage: python docs/host.py ACCOUNT/NAME, such as someone/attnlint", file=sys.stderr)
        return 2
    account, name = arguments[0].split("/")
    for path in files():
        before = path.read_text(encoding="utf-8")
        after = filled(before, account, name)
        if after != before:
            path.write_text(after, encoding="utf-8", newline="\n")
            print(path.relative_to(ROOT).as_posix())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
