"""The documentation as a site: built strictly, nothing left out, nothing asked of other hosts."""

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from scripts import errors_page, roles_page
from shim import errors
from shim.cli.front import EXIT_CODES, ExitCode
from tests.differential import differences

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


class References(HTMLParser):
    """What a page loads, what it links to, and the anchors that it has."""

    def __init__(self, file):
        super().__init__()
        self.loaded, self.links, self.anchors = set(), set(), set()
        self.feed(file.read_text())

    def handle_starttag(self, tag, attrs):
        told = dict(attrs)
        self.anchors.add(told.get("id"))
        if tag == "a":
            self.links.add(told.get("href") or "")
        elif tag in ("img", "script", "source", "iframe") and told.get("src"):
            self.loaded.add(told["src"])
        elif tag == "link" and told.get("rel") != "canonical":
            self.loaded.add(told.get("href") or "")


def test_every_page_of_the_documentation_is_in_it(site):
    for page in (ROOT / "docs").rglob("*.md"):
        name = page.relative_to(ROOT / "docs")
        built = name.with_name("index.html") if name.name == "README.md" else name.with_suffix(".html")
        assert (site / built).is_file(), name
    for outside in ("index.html", "SECURITY.html", "CHANGELOG.html"):
        assert (site / outside).is_file()


def test_links_lead_somewhere_within_it_and_files_beyond_docs_are_there(site):
    pages = {file: References(file) for file in site.rglob("*.html")}
    broken = []
    for file, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or file.name == "404.html":
                continue
            target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
            target = target / "index.html" if target.is_dir() else target
            anchors = pages[target].anchors if target in pages else {parts.fragment}
            if not target.is_file() or (parts.fragment and unquote(parts.fragment) not in anchors):
                broken.append((file.name, link))
    assert broken == []


def test_a_reader_asks_no_other_host_for_anything(site):
    for file in site.rglob("*.html"):
        assert [each for each in References(file).loaded if urlsplit(each).netloc] == [], file
    for style in site.rglob("*.css"):
        assert re.findall(r"url\(['\"]?https?:", style.read_text()) == [], style


def test_there_is_a_way_for_each_reader(site):
    start = (site / "index.html").read_text()
    for folder in ("clients", "operators", "researchers", "developers"):
        assert f'href="{folder}/index.html"' in start


def test_the_page_of_errors_is_what_the_code_says():
    assert errors_page.PAGE.read_text() == errors_page.page()


def test_the_page_of_roles_is_what_the_table_of_rights_says():
    assert roles_page.PAGE.read_text() == roles_page.page()


def test_the_page_of_differences_is_its_table():
    assert (ROOT / "docs" / "clients" / "differences.md").read_text() == differences.page()


def test_the_page_of_errors_has_every_error_and_every_exit_code():
    page = errors_page.page()
    for name in set(errors.__all__) - {"HeddleError"}:
        assert f"\n| `{name}` | " in page, name
    for code in ExitCode:
        assert f"| {code.value} | {code.meaning} |" in page
        assert f"{code.value} {code.meaning}" in EXIT_CODES
