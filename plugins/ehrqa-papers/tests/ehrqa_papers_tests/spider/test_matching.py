"""Components compared, by hand-checked pairs, and hardness."""

from __future__ import annotations

import pytest
from ehrqa_papers.spider.hardness import hardness
from ehrqa_papers.spider.matching import (
    COMPONENTS,
    Part,
    comparable,
    exact_match,
    partial_match,
)
from ehrqa_papers.spider.query import Query
from ehrqa_papers.spider.reading import read_sql
from ehrqa_papers.spider.schemas import SpiderSchema

RIGHT, WRONG = True, False


def parts(predicted: str, gold: str, schema: SpiderSchema) -> dict[str, Part]:
    one, other = (comparable(read_sql(sql, schema), schema) for sql in (predicted, gold))
    return partial_match(one, other)


def exact(predicted: str, gold: str, schema: SpiderSchema) -> bool:
    one, other = (comparable(read_sql(sql, schema), schema) for sql in (predicted, gold))
    return exact_match(one, other)


JOINED = "FROM singer AS T1 JOIN concert AS T2 ON T1.singer_id = T2.singer_id"


@pytest.mark.parametrize(
    ("predicted", "gold"),
    [
        ("SELECT name, age FROM singer", "SELECT Age , NAME FROM Singer"),
        ("SELECT name FROM singer", "SELECT DISTINCT name FROM singer"),
        ("SELECT count(DISTINCT name) FROM singer", "SELECT count(name) FROM singer"),
        ("SELECT name FROM singer WHERE age > 3", "SELECT name FROM singer WHERE age > 'x'"),
        (
            "SELECT name FROM singer WHERE name = 'a' AND age = 1",
            "SELECT name FROM singer WHERE age = 2 AND name = 'b'",
        ),
        # either side of a foreign key, where its table is joined
        (f"SELECT T1.singer_id {JOINED}", f"SELECT T2.singer_id {JOINED}"),
        (f"SELECT T1.name {JOINED}", "SELECT name FROM concert JOIN singer"),
        (
            "SELECT name FROM singer ORDER BY age LIMIT 1",
            "SELECT name FROM singer ORDER BY age LIMIT 9",
        ),
        (
            "SELECT name FROM singer WHERE age > (SELECT avg(age) FROM singer WHERE age > 1)",
            "SELECT name FROM singer WHERE age > (SELECT avg(age) FROM singer WHERE age > 2)",
        ),
    ],
)
def test_equal_without_values(predicted: str, gold: str, schema: SpiderSchema) -> None:
    assert exact(predicted, gold, schema)


@pytest.mark.parametrize(
    ("predicted", "gold", "wrong"),
    [
        ("SELECT max(age) FROM singer", "SELECT min(age) FROM singer", {"select"}),
        (
            "SELECT age FROM singer",
            "SELECT name FROM singer",
            {"select", "select(no AGG)"},
        ),
        (
            "SELECT name FROM singer WHERE age > 1",
            "SELECT name FROM singer WHERE age < 1",
            {"where"},
        ),
        (
            "SELECT name FROM singer WHERE age > 1",
            "SELECT name FROM singer WHERE singer_id > 1",
            {"where", "where(no OP)"},
        ),
        (
            "SELECT name FROM singer WHERE age = 1 AND name = 'b'",
            "SELECT name FROM singer WHERE age = 1 OR name = 'b'",
            {"and/or", "keywords"},
        ),
        (
            "SELECT name FROM singer GROUP BY name HAVING count(*) > 1",
            "SELECT name FROM singer GROUP BY name HAVING count(*) < 1",
            {"group"},
        ),
        (
            "SELECT age FROM singer GROUP BY age",
            "SELECT age FROM singer GROUP BY name",
            {"group", "group(no Having)"},
        ),
        # the order of GROUP BY counts only where HAVING is looked at
        (
            "SELECT age FROM singer GROUP BY age, name",
            "SELECT age FROM singer GROUP BY name, age",
            {"group"},
        ),
        (
            "SELECT name FROM singer ORDER BY age DESC",
            "SELECT name FROM singer ORDER BY age",
            {"order", "keywords"},
        ),
        (
            "SELECT name FROM singer ORDER BY age LIMIT 1",
            "SELECT name FROM singer ORDER BY age",
            {"order", "keywords"},
        ),
        # without ORDER BY a LIMIT is a key word only
        ("SELECT name FROM singer LIMIT 1", "SELECT name FROM singer", {"keywords"}),
        (
            "SELECT name FROM singer UNION SELECT city FROM venue",
            "SELECT name FROM singer EXCEPT SELECT city FROM venue",
            {"IUEN", "keywords"},
        ),
        (
            "SELECT name FROM singer EXCEPT SELECT city FROM venue WHERE venue_id > 1",
            "SELECT name FROM singer EXCEPT SELECT city FROM venue WHERE venue_id < 1",
            {"IUEN"},
        ),
        (
            "SELECT name FROM singer WHERE name LIKE 'a'",
            "SELECT name FROM singer WHERE name NOT LIKE 'a'",
            {"where", "keywords"},
        ),
        # DISTINCT inside a nested query is looked at
        (
            "SELECT name FROM singer WHERE age IN (SELECT DISTINCT age FROM singer)",
            "SELECT name FROM singer WHERE age IN (SELECT age FROM singer)",
            {"where"},
        ),
    ],
)
def test_each_component(predicted: str, gold: str, wrong: set[str], schema: SpiderSchema) -> None:
    found = parts(predicted, gold, schema)
    assert {name for name, part in found.items() if not part.right} == wrong
    assert not exact(predicted, gold, schema)


def test_tables_are_compared_also_when_there_is_one(schema: SpiderSchema) -> None:
    predicted, gold = "SELECT count(*) FROM venue", "SELECT count(*) FROM singer"
    assert all(part.right for part in parts(predicted, gold, schema).values())
    assert not exact(predicted, gold, schema)


def test_a_foreign_key_counts_only_where_its_table_is_read(schema: SpiderSchema) -> None:
    # concert.singer_id and singer.singer_id are one column of a join, and concert.venue_id stands
    # for venue.venue_id (the smaller number), so that the names agree although the tables differ.
    assert parts("SELECT singer_id FROM concert", "SELECT singer_id FROM singer", schema)[
        "select"
    ].right
    nested = "SELECT name FROM singer WHERE age IN (SELECT singer_id FROM {})"
    assert not parts(nested.format("concert"), nested.format("singer"), schema)["where"].right


def test_counts_of_elements(schema: SpiderSchema) -> None:
    found = parts(
        "SELECT name, age, singer_id FROM singer WHERE age > 1",
        "SELECT name FROM singer WHERE age > 1 AND age < 5 OR name = 'b' ORDER BY age",
        schema,
    )
    assert found["select"] == Part(3, 1, WRONG)
    assert found["where"] == Part(1, 3, WRONG)
    assert found["order"] == Part(0, 1, WRONG)
    assert found["group"] == Part(0, 0, RIGHT)
    assert found["and/or"] == Part(2, 0, WRONG)  # the two counts exchanged, as published
    assert found["keywords"] == Part(1, 4, WRONG)  # where; where, or, order, asc


def test_an_unreadable_prediction_is_an_empty_query(schema: SpiderSchema) -> None:
    gold = comparable(read_sql("SELECT name FROM singer WHERE age > 1", schema), schema)
    found = partial_match(Query(), gold)
    assert set(found) == set(COMPONENTS)
    assert found["select"] == Part(0, 1, WRONG)
    assert found["and/or"] == Part(1, 1, RIGHT)
    assert not exact_match(Query(), gold)


@pytest.mark.parametrize(
    ("sql", "level"),
    [
        ("SELECT count(*) FROM singer", "easy"),
        ("SELECT name FROM singer WHERE age > 1", "easy"),
        (
            "SELECT name FROM singer GROUP BY name HAVING count(*) > 1",
            "easy",
        ),  # HAVING: not counted
        ("SELECT count(*) FROM (SELECT name FROM singer)", "easy"),  # nor a query in FROM
        ("SELECT name, age FROM singer", "medium"),
        ("SELECT max(age), min(age) FROM singer WHERE age > 1", "medium"),
        ("SELECT name FROM singer WHERE name LIKE 'a'", "medium"),  # WHERE and LIKE
        (f"SELECT name {JOINED} WHERE age > 1", "medium"),
        ("SELECT name FROM singer WHERE age = 1 OR age = 2", "medium"),
        (f"SELECT name {JOINED} ORDER BY age LIMIT 1", "hard"),
        ("SELECT max(age), min(age) FROM singer WHERE age > 1 AND name = 'b'", "hard"),
        ("SELECT name FROM singer WHERE age > (SELECT avg(age) FROM singer)", "hard"),
        ("SELECT name FROM singer UNION SELECT city FROM venue", "hard"),
        ("SELECT name, age FROM singer UNION SELECT city, venue_id FROM venue", "extra"),
        (f"SELECT name {JOINED} WHERE age > 1 GROUP BY name ORDER BY age LIMIT 1", "extra"),
        (
            "SELECT name FROM singer WHERE age > (SELECT avg(age) FROM singer)"
            " UNION SELECT city FROM venue",
            "extra",
        ),
    ],
)
def test_hardness(sql: str, level: str, schema: SpiderSchema) -> None:
    assert hardness(read_sql(sql, schema)) == level


def test_a_negation_counts_as_an_aggregate(schema: SpiderSchema) -> None:
    # As published: NOT IN beside one real aggregate makes "more than one aggregate".
    inner = "(SELECT age FROM singer)"
    assert hardness(read_sql(f"SELECT max(age) FROM singer WHERE age IN {inner}", schema)) == "hard"
    assert (
        hardness(read_sql(f"SELECT max(age) FROM singer WHERE age NOT IN {inner}", schema))
        == "extra"
    )
