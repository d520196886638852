"""How fast and how lean is the importer, beside the sqlite3 shell's ``.import``?

    python tests/benchmarks/bench_import.py [--rows 2000000] [--patients 2000] [--folder DIR]

Writes a MIMIC-IV-like release with a big ``icu/chartevents.csv`` (all columns of MIMIC-IV 3.1,
synthetic values), imports it, and imports the same file with ``sqlite3 FILE -cmd .import``. Prints
rows a second for both, the importer's peak memory, and the ratio; nothing is asserted.
"""

from __future__ import annotations

import argparse
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from ehrqa_cli.ehr.import_options import ImportOptions
from ehrqa_cli.ehr.mimic_import import import_mimic

_ITEMS = ((220045, "bpm"), (220050, "mmHg"), (220210, "insp/min"), (220277, "%"), (223762, "°C"))
_HEADERS = {
    "hosp/patients": "subject_id,gender,anchor_age,anchor_year,anchor_year_group,dod",
    "hosp/admissions": "subject_id,hadm_id,admittime,dischtime,deathtime,admission_type,"
    "admit_provider_id,admission_location,discharge_location,insurance,language,marital_status,"
    "race,edregtime,edouttime,hospital_expire_flag",
    "icu/d_items": "itemid,label,abbreviation,linksto,category,unitname,param_type,"
    "lownormalvalue,highnormalvalue",
    "icu/chartevents": "subject_id,hadm_id,stay_id,caregiver_id,charttime,storetime,itemid,value,"
    "valuenum,valueuom,warning",
}


def write_release(folder: Path, rows: int, patients: int) -> Path:
    """A release with ``rows`` chart events of ``patients`` patients; gives the chartevents file."""
    (folder / "hosp").mkdir(parents=True)
    (folder / "icu").mkdir()
    people, visits, items = [], [], []
    for i in range(patients):
        people.append(f"{10_000_000 + i},F,60,2150,2011 - 2013,")
        visits.append(
            f"{10_000_000 + i},{20_000_000 + i},2150-01-02 03:04:00,2150-02-02 03:04:00,,URGENT,P1,"
            "EMERGENCY ROOM,HOME,Medicare,ENGLISH,MARRIED,WHITE,,,0"
        )
    for item, unit in _ITEMS:
        items.append(f"{item},Item {item},I{item},chartevents,Routine,{unit},Numeric,,")
    for name, lines in (("hosp/patients", people), ("hosp/admissions", visits)):
        (folder / f"{name}.csv").write_text("\n".join([_HEADERS[name], *lines, ""]))
    (folder / "icu/d_items.csv").write_text("\n".join([_HEADERS["icu/d_items"], *items, ""]))
    rng = random.Random(7)
    path = folder / "icu/chartevents.csv"
    with path.open("w", encoding="utf-8") as file:
        file.write(_HEADERS["icu/chartevents"] + "\n")
        for i in range(rows):
            who = i * patients // rows
            item, unit = _ITEMS[i % len(_ITEMS)]
            at = f"2150-01-{2 + i % 27:02d} {i % 24:02d}:{i % 60:02d}:00"
            value = rng.randrange(20, 200)
            file.write(
                f"{10_000_000 + who},{20_000_000 + who},{30_000_000 + who},{rng.randrange(99999)},"
                f"{at},{at},{item},{value},{value},{unit},0\n"
            )
    return path


def shell_import(path: Path, out: Path) -> float:
    """Seconds that the sqlite3 shell takes for the file; 0.0 without a shell."""
    if shutil.which("sqlite3") is None:
        return 0.0
    started = time.perf_counter()
    subprocess.run(
        ["sqlite3", str(out), "-cmd", ".mode csv", f".import {path} chartevents"], check=True
    )
    return time.perf_counter() - started


def main() -> None:
    """Run both and print one line each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--patients", type=int, default=2_000)
    parser.add_argument("--folder", type=Path, default=None)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=args.folder) as name:
        folder = Path(name)
        path = write_release(folder / "release", args.rows, args.patients)
        seen: dict[str, float] = {}
        started = time.perf_counter()

        def note(what: str, done: int, of: int) -> None:
            if done == of:
                seen[what] = time.perf_counter()

        report = import_mimic(folder / "release", folder / "ours.sqlite", ImportOptions(), note)
        chart = next(t for t in report.tables if t.table == "chartevents")
        load = seen["icu/chartevents"] - started
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        shell = shell_import(path, folder / "shell.sqlite")
    print(f"chartevents: {chart.read:,} rows read, {chart.kept:,} kept")
    print(f"import: {chart.read / load:,.0f} rows/s without indexes ({load:.1f} s)")
    print(f"import: {chart.read / report.seconds:,.0f} rows/s with all indexes and ANALYZE")
    print(f"peak memory: {peak:.0f} MiB")
    if not shell:
        sys.exit("no sqlite3 shell here to compare with")
    print(f"sqlite3 .import: {chart.read / shell:,.0f} rows/s ({shell:.1f} s)")
    print(f"ratio: {shell / load:.2f} without indexes, {shell / report.seconds:.2f} with")


if __name__ == "__main__":
    main()
