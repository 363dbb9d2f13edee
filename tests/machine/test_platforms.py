from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from every_row import of_every

from turbotui.machine.cpumodel import CpuModel
from turbotui.machine.platform_features import (
    SILVERMONT_MHZ,
    BusClock,
    CoreState,
    FeatureSet,
    L2Events,
    PackageLimit,
    PackageState,
    RaplRegister,
    TurboLayout,
)
from turbotui.machine.platforms import (
    CSTATE_LIMITS,
    cstate_limits,
    feature_set,
    l2_events,
    platform_of,
)
from turbotui.machine.platforms import FEATURE_SETS as FEATURE_FILE
from turbotui.machine.processors import INTEL, Processor, amd_processor, processors

REFERENCE = Path(__file__).parents[2] / "../shared/reference/turbostat-platforms.json"
FEATURE_SETS = {name: feature_set(name) for name in FEATURE_FILE.names()}
PACKAGE_LIMITS = {name: cstate_limits(name) for name in CSTATE_LIMITS.names()}
MODELS = tuple(processors(INTEL).values())
BESIDE = {"PANTHERLAKE_R", "ICELAKE", "ATOM_AIRMONT_NP"}
"""Processors that the kernel names and turbostat's tables do not: too new, or never of interest to it."""


def intel(family: int, model: int) -> CpuModel:
    return CpuModel(architecture="x86_64", vendor="GenuineIntel", family=family, model=model)


def amd(family: int, flags: set[str], vendor: str = "AuthenticAMD") -> CpuModel:
    return CpuModel(architecture="x86_64", vendor=vendor, family=family, model=1, flags=frozenset(flags))


def energies(features: FeatureSet) -> set[RaplRegister]:
    """The registers that count joules."""
    return set(features.rapl) & set(DOMAINS.values())


def test_sapphire_rapids() -> None:
    platform = platform_of(intel(6, 0x8F))
    assert (platform.known, platform.symbol, platform.note) == (True, "SAPPHIRERAPIDS_X", "")
    features = platform.features
    assert features.name == "spr"
    assert features.core_cstates == (CoreState.C1, CoreState.C6)
    assert features.pkg_cstates == (PackageState.C2, PackageState.C6)
    assert features.cst_limit[2] is PackageLimit.PC6N
    assert features.bclk is BusClock.MHZ_100
    assert energies(features) == {DOMAINS["pkg"], DOMAINS["dram"], DOMAINS["psys"]}
    assert (features.psys_unit_joule, features.dram_unit_joule) == (1.0, None)
    assert features.turbo == TurboLayout.BASE | TurboLayout.CORECOUNT
    assert features.has_core_c1_res
    assert platform.l2 == (L2Events(references=0xFF24, hits=0xDF24),)


def test_haswell_server_has_a_fixed_dram_unit() -> None:
    features = platform_of(intel(6, 0x3F)).features
    assert features.dram_unit_joule == 2.0**-16
    assert CoreState.C1 in features.core_cstates
    assert not features.has_core_c1_res


def test_skylake_client_tweaks_the_tsc() -> None:
    features = platform_of(intel(6, 0x5E)).features
    assert (features.tsc_tweak, features.crystal_hz, features.tcc_offset_bits) == (True, 24_000_000, 6)


def test_silvermont_divides_its_energy_and_looks_its_clock_up() -> None:
    features = platform_of(intel(6, 0x37)).features
    assert (features.rapl_divisor, features.quirk_tdp_watt, features.bclk) == (True, 30, BusClock.SILVERMONT)
    assert SILVERMONT_MHZ[1] == 100.0


def test_a_hybrid_has_l2_events_for_each_core_pmu() -> None:
    assert len(platform_of(intel(6, 0xC5)).l2) == 3
    assert platform_of(intel(6, 0xCC)).l2[1] == L2Events(references=0x1_0000_00FF_24, hits=0x1_0000_00BF_24)


def test_families_beyond_6() -> None:
    assert platform_of(intel(19, 0x01)).symbol == "DIAMONDRAPIDS_X"
    assert platform_of(intel(18, 0x03)).symbol == "NOVALAKE_L"


@pytest.mark.parametrize("vendor", ["AuthenticAMD", "HygonGenuine"])
def test_amd_is_chosen_by_capability(vendor: str) -> None:
    platform = platform_of(amd(0x1A, {"rapl"}, vendor))
    assert (platform.known, platform.features.name, platform.features.quirk_tdp_watt) == (True, "amd_rapl", 280)
    assert energies(platform.features) == {DOMAINS["amd_pkg"], DOMAINS["amd_core(per physical core)"]}


@pytest.mark.parametrize(("family", "model", "symbol", "features"), [
    (6, 0xCC, "PANTHERLAKE_L", "lnl"), (6, 0xD5, "WILDCATLAKE_L", "lnl"), (18, 0x01, "NOVALAKE", "lnl"),
    (18, 0x03, "NOVALAKE_L", "lnl"), (19, 0x01, "DIAMONDRAPIDS_X", "dmr"), (6, 0xDD, "ATOM_DARKMONT_X", "srf"),
])
def test_the_newest_processors_of_intel(family: int, model: int, symbol: str, features: str) -> None:
    """By Linux 7.2: intel-family.h, turbostat's tables."""
    platform = platform_of(intel(family, model))
    assert (platform.known, platform.symbol, platform.features.name) == (True, symbol, features)


@pytest.mark.parametrize(("model", "generation"), [(0x24, "zen5"), (0x50, "zen6"), (0x8F, "zen6"), (0xC0, "zen6"),
                                                   (0xB0, "")])
def test_zen_6_is_what_the_kernel_calls_so(model: int, generation: str) -> None:
    processor = amd_processor("AuthenticAMD", 26, model)
    assert processor is not None
    assert processor.metrics == generation


@pytest.mark.parametrize("model", [amd(0x15, {"rapl"}), amd(0x19, set())])
def test_amd_without_the_capability_has_no_energy(model: CpuModel) -> None:
    platform = platform_of(model)
    assert (platform.known, platform.features.name) == (False, "default")
    assert "rapl" in platform.note


@pytest.mark.parametrize(
    "model",
    [
        intel(6, 0x7D),
        intel(6, 0xE5),  # named, and no more
        intel(15, 6),
        CpuModel(vendor="GenuineIntel"),
        CpuModel(vendor="CentaurHauls", family=7, model=0x3B),
        CpuModel(architecture="aarch64", vendor="NVIDIA", implementer=0x4E, part=0x010),
        CpuModel(),
    ],
)
def test_an_unknown_model_is_never_refused(model: CpuModel) -> None:
    platform = platform_of(model)
    assert not platform.known
    assert platform.features == FEATURE_SETS["default"]
    assert platform.note


def test_package_limits_order_by_depth() -> None:
    ranks = [limit.rank for limit in PackageLimit]
    assert ranks == sorted(ranks)
    assert PackageLimit.RESERVED.rank < PackageLimit.PC0.rank < PackageLimit.PC10.rank < PackageLimit.UNLIMITED.rank


def test_tables_are_whole() -> None:
    assert len(MODELS) == 71 + len(BESIDE)
    assert len({row.symbol for row in MODELS}) == len(MODELS)
    assert {row.features for row in MODELS if row.symbol not in BESIDE} == FEATURE_SETS.keys() - {"default", "amd_rapl"}
    assert all(len(table) == 16 for table in PACKAGE_LIMITS.values())


def reference() -> dict[str, Any]:
    if not REFERENCE.exists():
        pytest.skip("the reference tables (sibling folder shared/reference) are not there")
    tables: dict[str, Any] = json.loads(REFERENCE.read_text())
    return tables


FLAGS = {
    "has_nhm_msrs": "has_nhm_msrs",
    "has_config_tdp": "has_config_tdp",
    "has_msr_misc_feature_control": "has_misc_feature_control",
    "has_msr_misc_pwr_mgmt": "has_misc_pwr_mgmt",
    "has_cst_auto_convension": "has_auto_conversion",
    "has_irtl_msrs": "has_irtl_msrs",
    "has_msr_core_c1_res": "has_core_c1_res",
    "has_msr_module_c6_res_ms": "has_module_c6_res",
    "has_msr_c6_demotion_policy_config": "has_c6_demotion",
    "has_msr_atom_pkg_c6_residency": "has_atom_pkg_c6",
    "has_msr_knl_core_c6_residency": "has_knl_core_c6",
    "has_ext_cst_msrs": "has_ext_cst_msrs",
    "has_cst_prewake_bit": "has_cst_prewake",
    "has_rapl_divisor": "rapl_divisor",
    "enable_tsc_tweak": "tsc_tweak",
    "need_perf_multiplier": "perf_multiplier",
    "crystal_freq": "crystal_hz",
    "rapl_quirk_tdp": "quirk_tdp_watt",
    "tcc_offset_bits": "tcc_offset_bits",
}
DOMAINS = {
    "pkg": RaplRegister.PKG_ENERGY_STATUS,
    "cores(pp0)": RaplRegister.CORE_ENERGY_STATUS,
    "gfx(pp1)": RaplRegister.GFX_ENERGY_STATUS,
    "dram": RaplRegister.DRAM_ENERGY_STATUS,
    "psys": RaplRegister.PLATFORM_ENERGY_STATUS,
    "amd_pkg": RaplRegister.AMD_PKG_ENERGY_STAT,
    "amd_core(per physical core)": RaplRegister.AMD_CORE_ENERGY_STAT,
}
CLOCKS = {
    "BCLK_100MHZ": BusClock.MHZ_100,
    "BCLK_133MHZ": BusClock.MHZ_133,
    "BCLK_SLV": BusClock.SILVERMONT,
    None: None,
}


def test_feature_sets_are_the_reference_row_by_row() -> None:
    rows = reference()["feature_sets"]
    assert rows.keys() == FEATURE_SETS.keys()
    for name, row in rows.items():
        features = FEATURE_SETS[name]
        ours = {theirs: getattr(features, selected) for theirs, selected in FLAGS.items()}
        assert ours == {key: row[key] for key in FLAGS}, name
        assert [f"C{state.value.upper()}" for state in features.core_cstates] == row["core_cstates"], name
        assert [f"P{state.value.upper()}" for state in features.pkg_cstates] == row["pkg_cstates"], name
        assert {f"RAPL_{register.name}" for register in features.rapl} == set(row["rapl_regs"]), name
        assert energies(features) == {DOMAINS[domain] for domain in row["rapl_domains"]}, name
        assert features.bclk is CLOCKS[row["bclk_freq"]], name
        limits = PACKAGE_LIMITS[row["cst_limit"].removeprefix("CST_LIMIT_")] if row["cst_limit"] else ()
        assert features.cst_limit == limits, name
        assert {f"TRL_{part.name}" for part in features.turbo} == set(row["trl_msrs"]), name
        assert [f"PLR_{register.name}" for register in features.limit_reasons] == row["plr_msrs"], name
        assert (features.dram_unit_joule is not None) == row["has_fixed_rapl_unit"], name
        if row["has_fixed_rapl_unit"]:
            # turbostat has the rounded number of the datasheet (DIFFERENCES.md)
            assert features.dram_unit_joule == pytest.approx(row["dram_energy_unit_joule"], rel=3e-3), name
        assert (features.psys_unit_joule is not None) == row["has_fixed_rapl_psys_unit"], name
        if row["has_fixed_rapl_psys_unit"]:
            assert features.psys_unit_joule == row["psys_energy_unit_joule"], name
        mapped = {*FLAGS, "core_cstates", "pkg_cstates", "rapl_regs", "rapl_domains", "bclk_freq", "cst_limit"}
        assert row["has_per_core_rapl"] == (RaplRegister.AMD_CORE_ENERGY_STAT in features.rapl), name
        mapped |= {"has_per_core_rapl"}
        mapped |= {"trl_msrs", "plr_msrs", "has_fixed_rapl_unit", "has_fixed_rapl_psys_unit"}
        mapped |= {"dram_energy_unit_joule", "psys_energy_unit_joule", "energy_unit", "cc1_source"}
        assert row.keys() == mapped, name
        assert (row["energy_unit"] == "2^ESU microjoule (divisor form)") == features.rapl_divisor, name
        if features.core_cstates:
            derived = CoreState.C1 in features.core_cstates and not features.has_core_c1_res
            assert row["cc1_source"].endswith("MSR 0x660") != derived, name


def test_models_are_the_reference_row_by_row() -> None:
    rows = reference()["platforms"]
    ours = {row.symbol: row for row in MODELS if row.symbol not in BESIDE}
    assert {f"INTEL_{symbol}" for symbol in ours} == {row["symbol"] for row in rows}
    for row in rows:
        model = ours[row["symbol"].removeprefix("INTEL_")]
        assert model.key == f"GenuineIntel-{row['family']}-{row['model']:02X}"
        assert model.features == row["feature_set"]
        assert model.name == row["uarch_comment"]


def test_limit_tables_are_the_reference() -> None:
    for name, row in reference()["pkg_cstate_limit_tables_index_msr0xE2_bits3_0"].items():
        ours = [limit.value for limit in PACKAGE_LIMITS[name.removeprefix("CST_LIMIT_")]]
        assert ours == row, name
    deep = reference()["meta"]["order_of_pc_states_shallow_to_deep"]
    assert [limit.value for limit in PackageLimit][2:] == deep


def test_l2_events_are_the_reference() -> None:
    rows = reference()["l2_perf_events_event0x24"]
    ours = {f"INTEL_{row.symbol}": [l2_events(name) for name in row.l2] for row in MODELS if row.l2}
    assert ours.keys() == {row["symbol"] for row in rows}
    for row in rows:
        theirs = [
            (int(one["refs_config"], 16), int(one["hits_config"], 16)) for one in row["pmus_in_order_pcore_ecore_lcore"]
        ]
        assert [(events.references, events.hits) for events in ours[row["symbol"]]] == theirs, row["symbol"]


def test_register_addresses_are_the_reference() -> None:
    path = REFERENCE.with_name("turbostat-msrs.json")
    if not path.exists():
        pytest.skip("the reference registers (sibling folder shared/reference) are not there")
    addresses = {int(row["addr"], 16) for row in json.loads(path.read_text()) if row["addr"].startswith("0x")}
    unread = {RaplRegister.PLATFORM_ENERGY_LIMIT}  # in turbostat's sets, but never read by it
    assert {register.value for register in set(RaplRegister) - unread} <= addresses


@of_every(MODELS, name=lambda row: row.symbol)
def test_every_model_of_the_table_has_a_platform(row: Processor) -> None:
    _, family, number = row.key.split("-")
    platform = platform_of(intel(int(family), int(number, 16)))
    assert platform.symbol == row.symbol
    assert platform.known == bool(row.features) == (not platform.note)
