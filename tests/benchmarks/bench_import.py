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
import tempfile
import time
from pathlib import Path

from ehrqa_cli.ehr.mimic.importer import import_mimic
from ehrqa_cli.ehr.mimic.options import ImportOptions

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


def cpu(who: int) -> float:
    """Processor seconds used so far by this process, or by the children it waited for."""
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


def shell_import(path: Path, out: Path) -> tuple[float, float]:
    """Seconds (elapsed, processor) that the sqlite3 shell takes; zeros without a shell."""
    if shutil.which("sqlite3") is None:
        return 0.0, 0.0
    started, used = time.perf_counter(), cpu(resource.RUSAGE_CHILDREN)
    command = ["sqlite3", str(out), "-cmd", ".mode csv", f".import {path} chartevents"]
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL)
    return time.perf_counter() - started, cpu(resource.RUSAGE_CHILDREN) - used


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
        seen: dict[str, tuple[float, float]] = {}
        started, used = time.perf_counter(), cpu(resource.RUSAGE_SELF)

        def note(what: str, done: int, of: int) -> None:
            if done == of:
                now = cpu(resource.RUSAGE_SELF)
                seen[what] = (time.perf_counter() - started, now - used)

        report = import_mimic(folder / "release", folder / "ours.sqlite", ImportOptions(), note)
        chart = next(t for t in report.tables if t.table == "chartevents")
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        shell = shell_import(path, folder / "shell.sqlite")
    print(f"chartevents: {chart.read:,} rows read, {chart.kept:,} kept; peak {peak:.0f} MiB")
    print("rows/s                        elapsed  processor")
    times = {"import, rows": seen["icu/chartevents"], "import, rows and indexes": seen["indexes"]}
    for what, took in {**times, "sqlite3 .import": shell}.items():
        rates = [chart.read / seconds if seconds else 0 for seconds in took]
        print(f"{what:<28} {rates[0]:>9,.0f}  {rates[1]:>9,.0f}")
    for what, took in times.items():
        print(f"{what} / .import: {shell[0] / took[0]:.2f} and {shell[1] / took[1]:.2f}")


if __name__ == "__main__":
    main()
