"""The screens with a counter table: the CPUs, and the topology tree."""

from __future__ import annotations

from dataclasses import replace

from turbotui.app.saved import CounterView
from turbotui.features.cpus.table_keys import TableScreen
from turbotui.quantities.filters import Filter
from turbotui.quantities.scope import RowId
from turbotui.widgets.rows import TREE_LEVELS, levels_of


class CpuScreen(TableScreen):
    """Every CPU, one line each."""

    number = "1"
    word = "CPUs"
    mode = "cpus"
    grouped = True

    def first_view(self) -> CounterView:
        """Topology order where all CPUs can be looked over, the busiest first where they cannot."""
        view = super().first_view()
        watch = self.watch_state
        if len(watch.session.machine.topology.cpus) > 16 and watch.busy is not None:  # half a small screen
            return replace(view, sort=watch.busy, reverse=True)
        return view


class TopologyScreen(TableScreen):
    """Packages, dies, caches, cores and CPUs as a tree, each with the value of the whole group."""

    number = "2"
    word = "topology"
    mode = "topology"

    def first_view(self) -> CounterView:
        """All levels that divide this machine; cores folded where there are too many for a screen."""
        topology = self.watch_state.session.machine.topology
        levels = levels_of(topology, TREE_LEVELS)
        folded: frozenset[RowId] = frozenset()
        if len(topology.cpus) > 16 and len(levels) > 1:
            folded = frozenset(instance.row for instance in topology.instances(levels[-2]))
        return replace(super().first_view(), levels=levels, folded=folded, filter=Filter())

    def action_group(self) -> None:
        """Say that the tree has every level already."""
        self.notice("The tree shows every level; → ← fold and unfold, * all")
