"""The graph of imports has one direction: packages keep to their contracts, and no import is circular."""

from __future__ import annotations

from graphlib import TopologicalSorter

import pytest

grimp = pytest.importorskip("grimp", reason="grimp comes with import-linter: pip install -e '.[lint]'")


def test_no_module_imports_itself_by_others() -> None:
    graph = grimp.build_graph("turbotui", exclude_type_checking_imports=True, cache_dir=None)
    imports = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    assert len(imports) > 500
    TopologicalSorter(imports).prepare()  # raises CycleError, which names the circle; imports of functions count too
