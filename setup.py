"""The one part of the package's metadata that is computed: README as a package index shows it, where a relative link would lead nowhere."""

import re
from pathlib import Path

from setuptools import setup

HERE = Path(__file__).parent
REPOSITORY = re.search(r'^Repository = "(.*)"$', (HERE / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE)[1]


def absolute(readme: str) -> str:
    """README with every link and picture taken from the repository's main branch. A picture needs the raw file, a link its page."""
    raw = REPOSITORY.replace("https://github.com/", "https://raw.githubusercontent.com/")
    readme = re.sub(r"!\[([^\]]*)\]\((?!https?:|#)([^)]+)\)", rf"![\1]({raw}/main/\2)", readme)
    return re.sub(r"(?<!!)\[([^\]]*)\]\((?!https?:|#)([^)]+)\)", rf"[\1]({REPOSITORY}/blob/main/\2)", readme)


setup(long_description=absolute((HERE / "README.md").read_text(encoding="utf-8")), long_description_content_type="text/markdown")
