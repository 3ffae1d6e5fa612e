"""The hardening guide has the lines that `heddle doctor --hardening` checks."""

import pytest

from scripts import hardening_page


def test_the_page_has_the_lines_of_the_code():
    text = hardening_page.PAGE.read_text("utf-8")
    assert hardening_page.page(text) == text


def test_a_page_without_a_place_for_the_table_is_an_error():
    with pytest.raises(ValueError, match="0 places"):
        hardening_page.page("# Hardening\n")
