"""libpfm4 over many models, each in a process of its own because a model is forced before the library starts."""

from __future__ import annotations

import ctypes
import functools
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from comparisons import Comparisons
from file_machines import AMD, INTEL, pmu, tree
from forked import run_forked
from jsontables import table
from patience import PATIENCE

from turbotui.events.encoder import EventEncoder
from turbotui.events.names import HARDWARE_NAMES, SOFTWARE_NAMES, cache_names

MODELS = (
    "nhm", "wsm", "snb", "ivb", "hsw", "bdw", "skl", "skx", "clx", "icl", "icx", "spr", "adl_glc", "core", "atom",
    "slm", "glm", "tmt", "knl", "amd64_k8_revg", "amd64_fam10h_istanbul", "amd64_fam11h_turion", "amd64_fam12h_llano",
    "amd64_fam14h_bobcat", "amd64_fam15h_interlagos", "amd64_fam16h", "amd64_fam17h_zen1", "amd64_fam17h_zen2",
    "amd64_fam19h_zen3", "amd64_fam19h_zen4",
)  # fmt: skip

_FURTHER = ("perf", "amd64_k7")
"""Models of which less is known."""


def _installed() -> bool:
    try:
        ctypes.CDLL("libpfm.so.4")
    except OSError:
        return False
    return True


pytestmark = pytest.mark.skipif(not _installed(), reason="libpfm4 is not installed (apt install libpfm4)")


@dataclass(frozen=True)
class Report:
    present: list[str]
    events: int
    tried: int
    encoded: int
    faults: list[str]
    words: list[tuple[str, int, int, int, int]]
    asked: list[list[str | int]]


@functools.cache
def _reports(models: tuple[str, ...], asked: tuple[str, ...] = ()) -> dict[str, tuple[str, str]]:
    """The report and the exit status of each model's process, all forked from one that imports the library once."""
    done = subprocess.run(  # noqa: S603 - our own interpreter
        [sys.executable, str(Path(__file__).with_name("pfm_child.py")), ",".join(models), *asked],
        capture_output=True, text=True, check=False, timeout=PATIENCE,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-500:]
    lines = done.stdout.splitlines()
    return dict(zip(models, zip(lines[::2], lines[1::2], strict=True), strict=True))


def report(model: str, *asked: str) -> Report:
    reports = _reports((model,), asked) if asked else _reports((*MODELS, *_FURTHER))
    text, status = reports[model]
    assert status == "0", f"the process of {model} ended with {status}"
    return Report(**json.loads(text))


def known(model: str) -> Report:
    result = report(model)
    if not result.present:
        pytest.skip(f"this libpfm was built without {model}")
    return result


def test_twenty_models_are_here() -> None:
    assert sum(1 for model in MODELS if report(model).present) >= 20


@pytest.mark.parametrize("model", MODELS)
def test_every_event_encodes_or_is_refused_by_name(model: str) -> None:
    result = known(model)
    assert result.present == [model]
    assert result.events >= 20
    assert result.encoded > result.tried / 4
    assert "PfmError" not in result.faults  # every code has its class
    assert {"PfmAttributeError", "PfmAttributeValueError"} <= set(result.faults)


@pytest.mark.parametrize("model", MODELS)
def test_both_engines_agree_on_every_core_event(model: str, tmp_path: Path, comparisons: Comparisons) -> None:
    """Terms that say the same as libpfm's words must give the same words."""
    amd = model.startswith("amd64")
    formats = AMD if amd else INTEL
    encoder = EventEncoder(tree(tmp_path, pmu("cpu", 4, formats)))
    agreed = 0
    for string, kind, config, config1, _index in known(model).words:
        if kind != 4:
            continue
        select = config & 0xFF | (config >> 24 & 0xF00 if amd else 0)
        terms = [f"event={select:#x}", f"umask={config >> 8 & 0xFF:#x}"]
        terms += [f"{name}={config >> bit & mask}" for name, bit, mask in
                  (("edge", 18, 1), ("inv", 23, 1), ("cmask", 24, 255)) if config >> bit & mask]  # fmt: skip
        if not amd:
            terms += [f"{name}=1" for name, bit in (("any", 21), ("in_tx", 32), ("in_tx_cp", 33)) if config >> bit & 1]
            terms += [f"offcore_rsp={config1:#x}"] if config1 else []
        (event,) = encoder.encode(f"cpu/{','.join(terms)}/")
        assert (event.attr.type, event.attr.config) == (kind, config), string
        if not amd:
            assert event.attr.config1 == config1, string
        agreed += 1
    assert agreed >= 20
    comparisons.agreed("libpfm", "events core events by number and field", agreed)


def test_both_engines_agree_on_the_kernels_generic_names(tmp_path: Path, comparisons: Comparisons) -> None:
    encoder = EventEncoder(tree(tmp_path, pmu("cpu", 4, INTEL)))
    spelled = {name.upper(): name for name in (*HARDWARE_NAMES, *SOFTWARE_NAMES, *cache_names())}
    agreed = 0
    for string, kind, config, _config1, _index in known("perf").words:
        name = spelled.get(string.removeprefix("perf::"))
        if name is None:
            continue
        (event,) = encoder.encode(name)
        assert (event.attr.type, event.attr.config) == (kind, config), name
        agreed += 1
    assert agreed >= 40
    comparisons.agreed("libpfm", "events names of the kernel and perf's grammar", agreed)


def run(*words: str, **environment: str) -> tuple[int, str, str]:
    done = run_forked("events", *words, env={**os.environ, **environment})
    return done.returncode, done.stdout, done.stderr


# docs/specs/libpfm.md 5
@pytest.mark.parametrize(
    ("model", "string", "codes"),
    [
        ("skx", "INST_RETIRED:ANY_P", [0x5300C0]),
        ("skx", "inst_retired.any_p", [0x5300C0]),
        ("skx", "FP_ARITH_INST_RETIRED:512B_PACKED_DOUBLE", [0x5340C7]),
        ("skx", "UOPS_DISPATCHED_PORT:PORT_0:c=2:i:e=1", [0x2D701A1]),
        ("skx", "MEM_TRANS_RETIRED:LOAD_LATENCY:ldlat=30", [0x5301CD, 0x1E]),
        ("skx", "OFFCORE_RESPONSE_0:DMND_DATA_RD:ANY_RESPONSE", [0x5301B7, 0x10001]),
    ],
)
def test_codes_of_the_command(model: str, string: str, codes: list[int]) -> None:
    known(model)
    status, out, _ = run("encode", string, "--os", "none", "--force-pmu", model, "--json")
    (row,) = table(out, "codes")["rows"]
    values = row["values"]
    assert (status, values["count"]) == (0, len(codes))
    assert [values[f"code{at}"] for at in range(len(codes))] == codes
    assert row["string"] == string
    assert values["fstr"].startswith(f"{model}::")
    assert isinstance(values["idx"], int)


@pytest.mark.parametrize(
    ("model", "string", "expected"),
    [
        ("skx", "MEM_INST_RETIRED:ALL_LOADS:u:k=0:precise=2", {"config": 0x81D0, "exclude_kernel": 1, "precise_ip": 2}),
        ("skx", "FRONTEND_RETIRED:IDQ_2_BUBBLES:fe_thres=5", {"config1": 0x200506}),
        ("skx", "UNHALTED_CORE_CYCLES:period=100000:excl", {"sample_period": 100000, "exclusive": 1}),
        ("skx", "UNHALTED_CORE_CYCLES:pinned", {"pinned": 1}),
        ("skx", "UNHALTED_CORE_CYCLES:freq=99", {"sample_freq": 99, "freq": 1}),
        ("ivb", "OFFCORE_RESPONSE_0:ANY_DATA:LLC_MISS_LOCAL", {"config1": 0x3F80400091}),
        ("icx", "L1D:REPLACEMENT", {"config": 0x151}),
        ("spr", "AMX_OPS_RETIRED:BF16", {"config": 0x2CE}),
        ("amd64_fam19h_zen4", "RETIRED_SSE_AVX_FLOPS", {"config": 0x1F03}),
        ("amd64_fam17h_zen2", "RETIRED_SSE_AVX_FLOPS", {"config": 0xF03}),
        ("amd64_fam19h_zen4", "LS_DISPATCH:LD_DISPATCH", {"config": 0x129}),
    ],
)
def test_attributes_of_the_command(model: str, string: str, expected: dict[str, int]) -> None:
    known(model)
    status, out, _ = run("encode", string, "--force-pmu", model, "--engine", "libpfm", "--json")
    (row,) = table(out, "encodings")["rows"]
    assert status == 0
    assert {name: row["values"].get(name) for name in expected} == expected
    assert row["values"]["type"] == 4


def test_an_uncore_model_that_is_not_here_gives_words_and_no_attribute() -> None:
    words = ("encode", "UNC_M_CAS_COUNT:RD", "--force-pmu", "skx_unc_imc0", "--engine", "libpfm")
    status, out, err = run(*words, "--os", "none", "--json")
    if "has no PMU model" in err or "cannot be loaded" in err:
        pytest.skip(err.strip())
    (row,) = table(out, "codes")["rows"]
    assert (status, row["values"]["code0"]) == (0, 0x304)
    status, out, err = run(*words)
    assert (status, out) == (2, "")
    assert "the kernel has no PMU for skx_unc_imc0 here; --os none gives the words" in err


def test_the_list_has_the_events_of_a_forced_uncore_model() -> None:
    status, out, err = run("list", "CAS_COUNT", "--force-pmu", "skx_unc_imc0", "--no-open", "--json")
    if "has no PMU model" in err or "cannot be loaded" in err:
        pytest.skip(err.strip())
    names = [row["name"] for row in table(out, "events")["rows"]]
    assert status == 0
    assert "skx_unc_imc0::UNC_M_CAS_COUNT:RD" in names
    assert all(name.startswith("skx_unc_imc0::") for name in names)


def test_lists_are_split_and_rings_are_the_callers() -> None:
    known("skx")
    status, out, _ = run("encode", "INST_RETIRED:ANY_P, UOPS_ISSUED:ANY", "--plm", "u", "--force-pmu", "skx",
                         "--engine", "libpfm", "--json")  # fmt: skip
    rows = [row["values"] for row in table(out, "encodings")["rows"]]
    assert status == 0
    assert [row["config"] for row in rows] == [0xC0, 0x10E]
    assert all(row["exclude_kernel"] == 1 for row in rows)


# docs/specs/libpfm.md 3: string -> class and the library's text
FAULTS = {
    "skx::NO_SUCH": ("PfmNotFoundError", "event not found"),
    "": ("PfmNotFoundError", "event not found"),
    "hsw::INST_RETIRED": ("PfmNotFoundError", "event not found"),
    "skx::CYCLE_ACTIVITY:STALLS_L3_MISS:STALLS_L2_MISS": (
        "PfmCombinationError", "invalid combination of model specific features",
    ),
    "skx::FP_ARITH_INST_RETIRED": ("PfmUnitMaskError", "invalid or missing unit mask"),
    "skx::INST_RETIRED:BOGUS": ("PfmAttributeError", "invalid event attribute"),
    "skx::INST_RETIRED:ANY_P:period=3": ("PfmAttributeError", "invalid event attribute"),
    "skx::INST_RETIRED:ANY_P:c=256": ("PfmAttributeValueError", "invalid event attribute value"),
    "skx::INST_RETIRED:ANY_P:c=1:c=2": ("PfmAttributeSetError", "attribute value already set"),
    # refused before libpfm is asked
    "skx::INST_RETIRED:ANY_P" + ":c=1" * 70: ("PfmTooManyError", "it stands for more than 64 attributes"),
    "a,b": ("PfmInvalidError", "invalid parameters"),
    "skx::INST_RETIRED:ANY_P : u": ("PfmInvalidError", "invalid parameters"),
}  # fmt: skip


def test_every_refusal_has_its_class_and_the_librarys_text() -> None:
    known("skx")
    result = report("skx", *FAULTS)
    assert [tuple(answer) for answer in result.asked] == list(FAULTS.values())


EDGES = """
from turbotui.events.libpfm import Libpfm
from turbotui.events.libpfm.errors import *
from turbotui.events.libpfm.structures import PLM
library = Libpfm(force="skx")
def fails(kind, call, *args, **more):
    try:
        call(*args, **more)
    except kind:
        return
    raise SystemExit(f"{args} {more}: no {kind.__name__}")
fails(PfmInvalidError, library.raw_encoding, "skx::INST_RETIRED:ANY_P", 0x20)
fails(PfmInvalidError, library.raw_encoding, "skx::INST_RETIRED:ANY_P\\0:BOGUS")
fails(PfmInvalidError, library.perf_encoding, "a b")
fails(PfmAttributeError, library.perf_encoding, "skx::INST_RETIRED:ANY_P:period=3", extended=False)
assert library.perf_encoding("skx::INST_RETIRED:ANY_P:cpu=3").cpu == 3
assert library.raw_encoding("skx::INST_RETIRED:ANY_P", PLM["u"]).codes == (0x5100c0,)
two = "skx::OFFCORE_RESPONSE_0:DMND_DATA_RD:ANY_RESPONSE"
assert library.raw_encoding(two).codes == (0x5301b7, 0x10001)
fails(PfmNotFoundError, library.raw_encoding, "skx::" + "A" * 100000)
fails(PfmError, library.raw_encoding, "\\udcff\\u20ac")
assert library.release.startswith("4.")
assert library.pmu_of(library.raw_encoding("skx::INST_RETIRED:ANY_P").idx).name == "skx"
fails(PfmNotSupportedError, library.pmu_of, -1)
library.terminate()
fails(PfmNotInitializedError, library.raw_encoding, "skx::INST_RETIRED:ANY_P")
print("survived")
"""


def test_none_of_the_known_crashes() -> None:
    known("skx")
    done = subprocess.run(  # noqa: S603 - our own interpreter
        [sys.executable, "-c", EDGES], capture_output=True, text=True, check=False, timeout=PATIENCE
    )
    assert (done.returncode, done.stdout.strip()) == (0, "survived"), done.stderr[-500:]


HOSTILE = """
import random, sys
from turbotui.events.libpfm import Libpfm, PfmError
from turbotui.events.libpfm.errors import PfmTooManyError
library = Libpfm(force=sys.argv[1])
chance = random.Random(7)
events = [event for pmu in library.pmus() for event in library.events(pmu) if event.attributes]
widest = sorted(events, key=lambda event: -len(event.attributes))[:20]
refused = tried = 0
for at, event in enumerate(widest + chance.sample(events, min(40, len(events)))):
    masks = [one.name for one in event.attributes if one.unit_mask] or ["u"]
    long = sorted(event.attributes, key=lambda one: -len(one.equivalent))[0].name
    for count in (1, 3, 4, 5, 20, 63, 64, 65, 66, 70, 200, *([5000] if at < 4 else [])):
        for names in (masks[:1] * count, (masks * count)[:count], [long] * count,
                      chance.choices([one.name for one in event.attributes], k=count)):
            for delimiter in ":.":
                string = event.name + "".join(delimiter + name for name in names)
                for encode in (library.raw_encoding, library.perf_encoding):
                    tried += 1
                    try:
                        encode(string)
                    except PfmError as error:
                        refused += isinstance(error, PfmTooManyError)
                        assert count > 3 or not isinstance(error, PfmTooManyError), string
                        assert len(str(error)) < 400 or count < 65
print(tried > 5000, refused > 1000)
"""


@pytest.mark.parametrize("model", ["skx", "slm", "bdw", "spr", "nhm", "core", "amd64_fam19h_zen4", "amd64_k7"])
def test_no_number_of_attributes_ends_the_process(model: str) -> None:
    """The 65th unit mask is written beyond an array of libpfm's, and one attribute may stand for sixteen."""
    done = subprocess.run(  # noqa: S603 - our own interpreter
        [sys.executable, "-c", HOSTILE, model], capture_output=True, text=True, check=False, timeout=PATIENCE
    )
    if "IndexError" in done.stderr or not known(model).present:
        pytest.skip(f"this libpfm was built without {model}")
    assert (done.returncode, done.stdout.strip()) == (0, "True True"), done.stderr[-500:]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("encode", "INST_RETIRED:ANY_P" + ":ANY_P" * 64, "--force-pmu", "skx"), "more than 64 attributes"),
        (("encode", "skx::INST_RETIRED:ANY_P", "--machine", "laptop"), "--force-pmu"),
        (("encode", "X", "--force-pmu", "no_such_model"), "no PMU model 'no_such_model'"),
        (("encode", "INST_RETIRED:BOGUS", "--force-pmu", "skx"), "invalid event attribute"),
        (("encode", "cycles", "--plm", "z"), "--plm"),
    ],
)
def test_faults_of_the_command(words: tuple[str, ...], says: str) -> None:
    status, out, err = run(*words)
    assert (status, out) == (2, "")
    assert says in err
    assert err.count("\n") == 1


def test_auto_uses_the_engine_that_knows_the_name() -> None:
    known("skx")
    result = [table(run("encode", text, "--force-pmu", "skx", "--json")[1], "encodings")["rows"][0]["values"]
              for text in ("cs", "INST_RETIRED:ANY_P")]
    assert [row["engine"] for row in result] == ["own", "libpfm"]
    assert [row["idx"] is None for row in result] == [True, False], "only libpfm numbers its events"


def test_forcing_by_the_environment_is_the_same() -> None:
    known("skx")
    status, out, _ = run("list", "inst_retired", "--no-open", "--json", LIBPFM_FORCE_PMU="skx")
    names = [row["name"] for row in table(out, "events")["rows"]]
    assert status == 0
    assert "skx::INST_RETIRED:ANY_P" in names


def test_show_has_the_masks_of_a_models_event() -> None:
    words = ("show", "--force-pmu", "spr", "--machine", "laptop", "--event-tables", "none", "--json")
    status, out, err = run(*words, "mem_inst_retired.all_loads")
    assert (status, err) == (0, "")
    (row,) = table(out, "known_events")["rows"]
    assert row["name"] == "spr::MEM_INST_RETIRED:ALL_LOADS"
    assert row["values"]["config"] == 0x81D0
    masks = [item["values"]["umask"] for item in table(out, "unit_masks")["rows"]]
    assert sorted(masks) == [0x11, 0x12, 0x21, 0x41, 0x42, 0x81, 0x82, 0x83]
    status, _, err = run(*words, "mem_inst_retired.all_lodes")
    assert (status, "has no event" in err) == (2, True)
