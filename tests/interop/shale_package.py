"""The Python package `shale` of the build, for tests that import it; without it they are skipped (SHALE_PYTHON=ON builds it)."""

import importlib
import os
import sys

import pytest
from conftest import SHALE

PACKAGE_ROOT = os.environ.get("SHALE_PACKAGE", os.path.join(os.path.dirname(os.path.abspath(SHALE)), "python"))


def shale_lmdb():
    """The module shale.lmdb; child processes find it too."""
    if PACKAGE_ROOT not in sys.path:
        sys.path.insert(0, PACKAGE_ROOT)
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [PACKAGE_ROOT, os.environ.get("PYTHONPATH")]))
    try:
        return importlib.import_module("shale.lmdb")
    except ImportError as error:
        pytest.skip(f"no Python package in {PACKAGE_ROOT} ({error})", allow_module_level=True)
