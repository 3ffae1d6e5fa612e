"""The bill of materials: every package of a folder, as it is installed there, with Heddle as what they are for."""

import re
import site
from importlib.metadata import distributions
from pathlib import Path

import pytest

import shim
from scripts.sbom import bill_of_materials

ROOT = Path(__file__).resolve().parents[2]


def install(folder, name, version, *more):
    place = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    place.mkdir(parents=True)
    place.joinpath("METADATA").write_text("\n".join((f"Name: {name}", f"Version: {version}", *more, "")))


def test_packages_are_named_as_package_urls_name_them_and_in_order(tmp_path):
    install(tmp_path, "heddle-yarn", "1.0", "License-Expression: Apache-2.0")
    install(tmp_path, "Zope.Interface_X", "2.0rc1")
    install(tmp_path, "aiohttp", "3.1", "License-Expression: MIT AND Apache-2.0")
    bill = bill_of_materials(tmp_path)
    aiohttp, zope = bill["components"]
    assert aiohttp == {
        "type": "library",
        "bom-ref": "pkg:pypi/aiohttp@3.1",
        "name": "aiohttp",
        "version": "3.1",
        "purl": "pkg:pypi/aiohttp@3.1",
        "licenses": [{"expression": "MIT AND Apache-2.0"}],
    }
    assert zope["purl"] == "pkg:pypi/zope-interface-x@2.0rc1"
    assert (bill["metadata"]["component"]["name"], bill["metadata"]["component"]["type"]) == (
        "heddle-yarn",
        "application",
    )
    assert bill["dependencies"] == [{"ref": "pkg:pypi/heddle-yarn@1.0", "dependsOn": [aiohttp["purl"], zope["purl"]]}]
    assert bill == bill_of_materials(tmp_path)
    install(tmp_path, "yarl", "1.0")
    assert bill_of_materials(tmp_path)["serialNumber"] != bill["serialNumber"]


def test_a_folder_without_heddle_has_no_bill(tmp_path):
    install(tmp_path, "aiohttp", "3.1")
    with pytest.raises(ValueError, match="install its wheel there"):
        bill_of_materials(tmp_path)


def test_all_packages_of_a_real_environment_are_in_it():
    (folder,) = [each for each in map(Path, site.getsitepackages()) if list(each.glob("heddle_yarn-*.dist-info"))]
    bill = bill_of_materials(folder)
    about = bill["metadata"]["component"]
    assert about["version"] == shim.__version__
    assert len(bill["components"]) == len(list(distributions(path=[str(folder)]))) - 1 > 20
    references = [each["bom-ref"] for each in bill["components"]]
    assert len(references) == len(set(references))
    assert all(re.fullmatch(r"pkg:pypi/[a-z0-9-]+@[0-9][\w.+!]*", each) for each in references)
