"""The console's libraries are those that the script names."""

from scripts import console_vendor


def test_the_files_have_the_sums_that_were_written_when_they_were_brought():
    assert console_vendor.main(["--check"]) == 0


def test_every_file_has_its_licence_beside_it():
    kept = {each.name for each in console_vendor.VENDOR.iterdir() if not each.name.endswith(".d.ts")}  # types are ours
    named = {line.split()[1] for line in console_vendor.SUMS.read_text().splitlines()}
    assert kept == named
    assert {"htm-preact.LICENSE", "uplot.LICENSE"} <= kept
