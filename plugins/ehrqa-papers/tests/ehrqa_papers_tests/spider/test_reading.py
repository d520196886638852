"""SQL into Spider's components."""

from __future__ import annotations

import pytest
from ehrqa_papers.spider.query import Column, Condition, Query, Selected, Term
from ehrqa_papers.spider.reading import LONGEST, Unreadable, read_sql
from ehrqa_papers.spider.schemas import SpiderSchema

AGE, NAME, KEY = Column("singer.age"), Column("singer.name"), Column("singer.singer_id")


def test_every_clause(schema: SpiderSchema) -> None:
    found = read_sql(
        "SELECT DISTINCT T1.Name, count(DISTINCT T2.Year) FROM Singer AS T1 JOIN Concert AS T2"
        " ON T1.Singer_ID = T2.Singer_ID WHERE T1.Age > 30 OR T1.Name NOT LIKE 'A%'"
        " GROUP BY T1.Singer_ID HAVING count(*) BETWEEN 2 AND 5"
        " ORDER BY avg(T2.Year) DESC LIMIT 3",
        schema,
    )
    assert found.distinct and found.limit and found.descending
    year = Column("concert.year", distinct=True)
    assert found.select == (Selected("", Term(NAME)), Selected("count", Term(year)))
    assert found.tables == ("singer", "concert")
    assert found.on.each == (Condition(False, "=", Term(KEY), Column("concert.singer_id")),)
    assert found.where.connectors == ("or",)
    assert found.where.each == (
        Condition(False, ">", Term(AGE), 30.0),
        Condition(True, "like", Term(NAME), "A%"),
    )
    assert found.group == (KEY,)
    assert found.having.each == (Condition(False, "between", Term(Column("*", "count")), 2.0, 5.0),)
    assert found.order == (Term(Column("concert.year", "avg")),)


def test_columns_are_found_in_the_first_table_that_has_them(schema: SpiderSchema) -> None:
    found = read_sql("SELECT singer_id, year FROM concert JOIN singer", schema)
    assert [item.term.left.name for item in found.select] == ["concert.singer_id", "concert.year"]


def test_texts_stand_in_either_kind_of_quotes(schema: SpiderSchema) -> None:
    one = read_sql("SELECT name FROM singer WHERE name = 'Ann'", schema)
    assert one == read_sql('SELECT name FROM singer WHERE name = "Ann"', schema)


def test_what_follows_a_combination_is_nested_to_the_right(schema: SpiderSchema) -> None:
    found = read_sql(
        "SELECT name FROM singer UNION SELECT city FROM venue EXCEPT SELECT name FROM singer"
        " ORDER BY name DESC LIMIT 1",
        schema,
    )
    assert found.combined is not None and not found.order
    assert found.combined[0] == "union" and found.combined[1].tables == ("venue",)
    rest = found.combined[1].combined
    assert rest is not None and rest[0] == "except"
    assert rest[1].order == (Term(NAME),) and rest[1].descending and rest[1].limit


def test_queries_in_conditions_and_in_from(schema: SpiderSchema) -> None:
    inner = read_sql("SELECT singer_id FROM concert", schema)
    found = read_sql(
        "SELECT count(*) FROM singer WHERE singer_id NOT IN (SELECT singer_id FROM concert)", schema
    )
    assert found.where.each == (Condition(True, "in", Term(KEY), inner),)
    outer = read_sql("SELECT count(*) FROM (SELECT singer_id FROM concert)", schema)
    assert outer.tables == (inner,)


def test_arithmetic_of_two_columns(schema: SpiderSchema) -> None:
    found = read_sql("SELECT max(age - singer_id) FROM singer ORDER BY age / singer_id", schema)
    assert found.select == (Selected("max", Term(AGE, "-", KEY)),)
    assert found.order == (Term(AGE, "/", KEY),)


def test_clauses_out_of_order_end_the_query(schema: SpiderSchema) -> None:
    cut = read_sql("SELECT name FROM singer GROUP BY name WHERE age > 3 LIMIT 1", schema)
    assert cut == read_sql("SELECT name FROM singer GROUP BY name", schema)
    with pytest.raises(Unreadable, match="WHERE comes out of order"):
        read_sql(
            "SELECT name FROM singer WHERE age IN (SELECT age FROM singer LIMIT 1 WHERE age = 1)",
            schema,
        )


def test_or_after_a_column_is_not_heard(schema: SpiderSchema) -> None:
    found = read_sql(
        "SELECT name FROM singer WHERE age = singer_id OR name = 'a' OR name = 'b' AND age > 2",
        schema,
    )
    assert [c.operator for c in found.where.each] == ["=", ">"]
    assert found.where.connectors == ("and",)


def test_an_alias_means_its_last_table_everywhere(schema: SpiderSchema) -> None:
    text = (
        "SELECT T1.name FROM singer AS T1 WHERE T1.age > (SELECT max({}.year) FROM concert AS {})"
    )
    assert read_sql(text.format("T2", "T2"), schema).select == (Selected("", Term(NAME)),)
    with pytest.raises(Unreadable, match=r"no column t1\.name"):
        read_sql(text.format("T1", "T1"), schema)


@pytest.mark.parametrize(
    ("sql", "why"),
    [
        ("", "statement"),
        ("nonsense", "not a SELECT"),
        ("SELECT name FROM", "not readable"),
        ("SELECT 'it FROM singer", "not readable"),
        ("DELETE FROM singer", "not a SELECT"),
        ("SELECT 1", "no FROM"),
        ("SELECT name FROM dancer", "no table dancer"),
        ("SELECT city FROM singer", "no column city"),
        ("SELECT T9.name FROM singer AS T1", r"no column t9\.name"),
        ("SELECT lower(name) FROM singer", "where a column is expected"),
        ('SELECT "name" FROM singer', "where a column is expected"),
        ("SELECT name AS n FROM singer", "where a column is expected"),
        ("SELECT T1.* FROM singer AS T1", "where a column is expected"),
        ("SELECT count(DISTINCT name, age) FROM singer", "has not one argument"),
        ("SELECT max(name, age) FROM singer", "where a column is expected"),
        ("SELECT name FROM singer, concert", "comma in FROM"),
        ("SELECT name FROM singer LEFT JOIN concert ON singer.singer_id = 1", "only JOIN"),
        ("SELECT name FROM singer WHERE age IN (1, 2)", "IN with a list"),
        ("SELECT name FROM singer WHERE age IS NULL", "where a column is expected"),
        ("SELECT name FROM singer WHERE (age > 1 OR age < 2)", "not a condition"),
        ("SELECT name FROM singer WHERE NOT age > 1", "not a condition"),
        ("SELECT name FROM singer WHERE EXISTS (SELECT name FROM singer)", "not a condition"),
        ("SELECT name FROM singer UNION ALL SELECT city FROM venue", "UNION ALL"),
        ("SELECT count(*) FROM (SELECT name FROM singer) AS t", "has an alias"),
        ("WITH a AS (SELECT name FROM singer) SELECT count(*) FROM singer", "WITH is not read"),
        ("SELECT name FROM singer GROUP BY name WITH ROLLUP", "GROUP BY"),
        ("SELECT name FROM singer WHERE " + "age = 1 AND " * LONGEST + "age = 1", "longer than"),
        ("SELECT name FROM singer WHERE age = " + "(" * 3000 + "1" + ")" * 3000, "nested"),
    ],
)
def test_what_has_no_place_is_unreadable(sql: str, why: str, schema: SpiderSchema) -> None:
    with pytest.raises(Unreadable, match=why):
        read_sql(sql, schema)


def test_synonyms_are_read(schema: SpiderSchema) -> None:
    one = read_sql(
        "SELECT a.name FROM singer a INNER JOIN concert b ON a.singer_id = b.singer_id"
        " WHERE a.age <> 3;",
        schema,
    )
    assert one == read_sql(
        "SELECT T1.name FROM singer AS T1 JOIN concert AS T2 ON T1.singer_id = T2.singer_id"
        " WHERE T1.age != 3",
        schema,
    )
    assert one != Query()
