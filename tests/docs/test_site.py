"""The documentation as a site: built strictly, every page reached, searched in a browser; and the tutorial as a reader follows it."""

from __future__ import annotations

import functools
import http.server
import json
import re
import shlex
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from xml.etree import ElementTree

import pytest
from documents import ROOT, blocks

TUTORIAL = ROOT / "docs" / "tutorial.md"
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    for package in ("mkdocs", "material", "matplotlib", "numpy"):
        pytest.importorskip(package)
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.mark.slow
def test_every_document_is_a_page_that_the_search_knows(site: Path) -> None:
    pages = {path.relative_to(ROOT / "docs").with_suffix("").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    known = {one["location"].split("#")[0].strip("/") for one in json.loads((site / "search" / "search_index.json").read_text())["docs"]}
    wanted = {page.removesuffix("index").strip("/") for page in pages} | {"readme", "contributing", "changelog"}
    assert wanted - known == set()
    assert not list(site.rglob("*.py"))


@pytest.mark.slow
def test_nothing_is_fetched_from_elsewhere(site: Path) -> None:
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        fetched = re.findall(
            r"<(?:script|img|iframe)[^>]* src=\"(https?:[^\"]*)|<link[^>]*rel=\"stylesheet\"[^>]*href=\"(https?:[^\"]*)", text
        )
        assert fetched == [], page


@pytest.mark.slow
def test_the_plots_are_computed_in_the_build(site: Path) -> None:
    page = (site / "mathematics" / "index.html").read_text(encoding="utf-8")
    shown = re.findall(r"<img alt=\"[^\"]{20,}\" src=\"\.\./(plots/\w+\.svg)\"", page)
    assert len(shown) == 4
    for name in shown:
        drawing = ElementTree.fromstring((site / name).read_text(encoding="utf-8"))
        assert len(list(drawing.iter("{http://www.w3.org/2000/svg}path"))) > 20


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")
def test_a_browser_finds_a_page_by_searching(site: Path) -> None:
    playwright = pytest.importorskip("playwright.sync_api")
    handler = functools.partial(Quiet, directory=str(site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server, playwright.sync_playwright() as started:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        browser = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page()
        complaints: list[str] = []
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(f"http://127.0.0.1:{server.server_address[1]}/")
        page.click(".md-search__input")
        page.keyboard.type("saturation")
        result = page.wait_for_selector(".md-search-result__link", timeout=60_000)
        assert "mathematics/" in result.get_attribute("href")
        result.click()
        page.wait_for_selector("h2#saturation", timeout=60_000)
        assert complaints == []
        browser.close()
        server.shutdown()


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None: ...


def test_the_tutorial_works_as_a_reader_follows_it(tmp_path: Path) -> None:
    """Each command, in one folder, one after the other, prints what the page shows under it."""
    pytest.importorskip("torch")
    page = blocks(TUTORIAL)
    (tmp_path / "model.py").write_text(page[0].text, encoding="utf-8")
    for block, after in zip(page, [*page[1:], None], strict=True):
        if block.language != "console":
            continue
        _, *arguments = shlex.split(block.text.removeprefix("$ "))
        command = [sys.executable, "-m", "attnlint", *arguments]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, encoding="utf-8", check=False)
        shown = after.text if after is not None and after.language in ("text", "diff") else ""
        assert steady(done.stdout) == steady(shown), done.stderr
    assert "1 attention in 1 file: 1 proved" in page[-1].text
    assert "/ self.head_dim**0.5" in (tmp_path / "model.py").read_text(encoding="utf-8")


def steady(text: str) -> list[str]:
    return [line for line in text.rstrip().splitlines() if "error against" not in line]  # rounded differently by other processors
