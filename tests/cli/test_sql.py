from __future__ import annotations

import csv
import io
import json
import signal
import subprocess
import sys
import time

import pytest

from ehrqa_cli.ehr.backend.connection import GuardedConnection

COUNT = "SELECT gender, count(*) AS n FROM patients GROUP BY gender ORDER BY gender"
BOMB = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c) SELECT max(x) FROM c"


def test_rows_as_text_json_and_csv(cli, ehr):
    assert cli("sql", COUNT, "--db", ehr).out == "gender\tn\nf\t1\nm\t1\n"
    shown = json.loads(cli("sql", COUNT, "--db", ehr, "--json").out)
    assert shown == {"columns": ["gender", "n"], "rows": [["f", 1], ["m", 1]]}
    out = cli("sql", "SELECT 'a,\"b' AS x, NULL AS y", "--db", ehr, "--csv").out
    assert list(csv.reader(io.StringIO(out))) == [["x", "y"], ['a,"b', ""]]


def test_now_is_the_database_s_or_the_user_s(cli, ehr):
    query = "SELECT current_time, strftime('%Y', 'now')"
    rows = json.loads(cli("sql", query, "--db", ehr, "--json").out)["rows"]
    assert rows == [["2100-12-31 23:59:00", "2100"]]
    out = cli("sql", query, "--db", ehr, "--json", "--as-of", "2099-05-06").out
    assert json.loads(out)["rows"] == [["2099-05-06 23:59:00", "2099"]]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM sqlite_master",
        "SELECT * FROM pragma_table_info('patients')",
        "DELETE FROM patients",
        "SELECT 1; SELECT 2",
        "ATTACH 'x.db' AS x",
        "PRAGMA query_only=0",
        "VACUUM INTO 'x.db'",
        "SELEC 1",
        "SELECT nothing FROM patients",
    ],
)
def test_what_is_refused_or_wrong_is_one_line_and_exit_code_1(cli, ehr, query):
    before = sorted(ehr.parent.iterdir())
    ran = cli("sql", query, "--db", ehr)
    assert (ran.code, ran.out) == (1, "")
    assert [line.split(":")[0] for line in ran.err.splitlines()] == ["error", "hint"]
    assert sorted(ehr.parent.iterdir()) == before


def test_limits_end_a_query_with_exit_code_1(cli, ehr):
    ran = cli("sql", BOMB, "--db", ehr, "--seconds", "0.2")
    assert (ran.code, ran.out) == (1, "")
    assert "0.2 s" in ran.err
    ran = cli("sql", "SELECT 1 UNION SELECT 2", "--db", ehr, "--rows", "1")
    assert (ran.code, ran.out) == (1, "")
    assert "more than 1 row" in ran.err
    assert cli("sql", "SELECT 1 UNION SELECT 2", "--db", ehr, "--rows", "2").code == 0


def test_an_empty_query_is_a_usage_error(cli, ehr):
    assert cli("sql", "  ", "--db", ehr).code == 2


def test_control_characters_in_the_data_do_not_reach_the_terminal(cli, ehr):
    out = cli("sql", "SELECT char(27) || '[2J' AS x", "--db", ehr).out
    assert "\x1b" not in out and "\\x1b[2J" in out


def test_neuralsql_binds_the_bounds_of_vital_signs(cli, ehr):
    ran = cli("neuralsql", "SELECT heart_rate_upper AS x", "--db", ehr, "--json")
    assert (ran.code, json.loads(ran.out)["rows"]) == (0, [[100.0]])


def test_ctrl_c_while_a_query_runs_is_exit_code_130(cli, ehr, monkeypatch):
    tick = GuardedConnection._tick

    pressed: list[bool] = []

    def press(self: GuardedConnection) -> int:
        if not pressed:  # the query is run by another thread: it may tick again meanwhile
            pressed.append(True)
            signal.raise_signal(signal.SIGINT)
        return tick(self)

    monkeypatch.setattr(GuardedConnection, "_tick", press)
    before = signal.getsignal(signal.SIGINT)
    ran = cli("sql", BOMB, "--db", ehr)
    assert (ran.code, ran.out, ran.err) == (130, "", "interrupted\n")
    assert signal.getsignal(signal.SIGINT) is before


def test_ctrl_c_while_one_call_runs_ends_the_program_at_once(ehr):
    many = ", ".join(["t GLOB '*[" + "b" * 900 + "c]d'"] * 100)
    sql = f"SELECT {many} FROM (SELECT replace(printf('%900000d', 1), ' ', 'a') AS t)"
    program = subprocess.Popen(
        [sys.executable, "-m", "ehrqa_cli", "sql", sql, "--db", str(ehr), "--seconds", "100"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        with pytest.raises(subprocess.TimeoutExpired):
            program.wait(3)
        program.send_signal(signal.SIGINT)
        started = time.monotonic()
        out, err = program.communicate(timeout=30)
        assert time.monotonic() - started < 3
    finally:
        program.kill()
    assert (program.returncode, out) == (130, "")
    assert "Traceback" not in err


@pytest.mark.parametrize("command", ["sql", "neuralsql"])
def test_now_is_the_user_s_however_it_is_spelt(cli, ehr, command):
    query = "SELECT datetime('n' || 'ow') AS a, date(lower('NOW')) AS b, \"date\"('now') AS c"
    ran = cli(command, query, "--db", ehr, "--json", "--as-of", "2099-05-06")
    assert json.loads(ran.out)["rows"] == [["2099-05-06 23:59:00", "2099-05-06", "2099-05-06"]]


def test_db_info_counts_rows(cli, ehr):
    facts = json.loads(cli("db", "info", ehr, "--json").out)
    assert facts["tables"]["labevents"]["rows"] == 3
    assert facts["as_of"] == "2100-12-31 23:59:00"
    assert "labevents\t3" in cli("db", "info", ehr).out
