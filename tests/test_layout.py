"""Imports point one way, the installed packages are the folders, and files stay readable."""
import ast
import re
import sys
import tomllib
from importlib.metadata import packages_distributions
from itertools import chain
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("hw", "sw", "sim")
#: What the software may know of the hardware.
CONTRACTS = ("systolith.hw.config", "systolith.hw.configs", "systolith.hw.frames",
             "systolith.hw.isa")
ALLOWED = {
    "hw": ("systolith.hw",),
    "sw": ("systolith.sw", *CONTRACTS),
    "sim": ("systolith.hw", "systolith.sw", "systolith.sim"),
}


def sources(folder):
    return sorted(path for path in (ROOT / folder).rglob("*.py"))


def imported(tree, package):
    """Absolute names of all modules that a module imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package.split(".")[:len(package.split(".")) - node.level + 1]
            module = ".".join([*(base if node.level else []), *filter(None, [node.module])])
            # `from systolith.hw import config` imports the module systolith.hw.config.
            yield from (f"{module}.{alias.name}" for alias in node.names)


def within(name, packages):
    return any(name == package or name.startswith(package + ".") for package in packages)


def package_of(path):
    return ".".join(["systolith", *path.relative_to(ROOT).parent.parts])


@pytest.mark.parametrize("folder", FOLDERS)
def test_imports_point_one_way(folder):
    wrong = [f"{path.relative_to(ROOT)} imports {name}" for path in sources(folder)
             for name in imported(ast.parse(path.read_text()), package_of(path))
             if within(name, ["systolith", "tests", *FOLDERS])
             and not within(name, ALLOWED[folder])]
    assert wrong == []


@pytest.mark.parametrize(("code", "names"), [
    ("import systolith.hw.core as c", ["systolith.hw.core"]),
    ("from systolith.hw import core", ["systolith.hw.core"]),
    ("from . import core", ["systolith.sw.core"]),
    ("from ..hw.core import Core", ["systolith.hw.core.Core"]),
    ("def f():\n    import systolith.sim", ["systolith.sim"]),
])
def test_every_form_of_import_is_seen(code, names):
    assert list(imported(ast.parse(code), "systolith.sw")) == names


def test_packages_are_the_folders():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    folders = {path.parent.relative_to(ROOT) for folder in FOLDERS for path in sources(folder)}
    expected = {".".join(["systolith", *folder.parts]): folder.as_posix() for folder in folders}
    assert project["package-dir"] == expected
    assert sorted(project["packages"]) == sorted(expected)


def test_every_folder_is_a_documented_package():
    for folder in (*FOLDERS, "tests"):
        for path in {source.parent for source in sources(folder)}:
            assert ast.get_docstring(ast.parse((path / "__init__.py").read_text())), path


def test_no_postponed_annotations_in_hardware():
    """They make ``data.Struct`` silently zero bits wide."""
    assert [path for path in sources("hw") if "__future__" in path.read_text()] == []


def test_imported_packages_are_declared():
    """What another package happens to bring is not there on every machine."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    declared = {re.match(r"[\w-]+", line)[0].lower() for line in chain(
        project["dependencies"], *project["optional-dependencies"].values())}
    provided = {module for module, names in packages_distributions().items()
                if declared & {name.lower() for name in names}}
    known = {*sys.stdlib_module_names, "systolith", *provided}
    wrong = {f"{path.relative_to(ROOT)} imports {name}"
             for folder in FOLDERS for path in sources(folder)
             for name in imported(ast.parse(path.read_text()), package_of(path))
             if name.partition(".")[0] not in known}
    assert wrong == set()
