-- Statements in SQLite's dialect, by what is peculiar about them: each must give the same anywhere.
-- They run over the demo EHR. Where SQLite itself does not say which of several rows it takes,
-- there is no statement here. `-- # NAME` begins a group; a line's last semicolon ends a statement.

-- # times
SELECT row_id, datetime(admittime) FROM admissions;
SELECT row_id, date(admittime), time(admittime) FROM admissions;
SELECT row_id FROM admissions WHERE datetime(admittime) >= datetime('2100-12-31 23:59:00', '-6 month');
SELECT row_id, datetime(admittime, 'start of month', '-1 month') FROM admissions;
SELECT row_id, datetime(admittime, '+1 month'), datetime(admittime, '-1 year') FROM admissions;
SELECT row_id, datetime(admittime, '-1 day', '+90 minutes', '+5 seconds') FROM admissions;
SELECT datetime('2096-02-29 10:00:00', '+1 year'), datetime('2100-01-31', '+1 month');
SELECT row_id, datetime(admittime, 'start of year', '+3 month', 'start of day') FROM admissions;
SELECT row_id FROM admissions WHERE admittime > '2100-06';
SELECT row_id FROM admissions WHERE admittime BETWEEN '2100-01-01' AND '2100-06-30';
SELECT MIN(admittime), MAX(dischtime), COUNT(DISTINCT admittime) FROM admissions;
SELECT row_id, length(admittime), substr(admittime, 1, 7) FROM admissions;
SELECT a.row_id, b.row_id FROM admissions AS a JOIN admissions AS b ON a.subject_id = b.subject_id AND datetime(a.dischtime) < datetime(b.admittime) AND datetime(b.admittime) < datetime(a.dischtime, '+1 year');
SELECT row_id, coalesce(dischtime, 'not yet') FROM admissions;
SELECT datetime(NULL), datetime('no time'), strftime('%Y', '');

-- # strftime and julian days
SELECT row_id, strftime('%Y', dob), strftime('%m-%d', dob), strftime('%Y-%m-%d', dob), strftime('%H:%M:%S', dob), strftime('%j', dob), strftime('%w', dob) FROM patients;
SELECT row_id FROM admissions WHERE strftime('%Y-%m', admittime) = '2100-05';
SELECT row_id FROM admissions WHERE strftime('%Y-%m', admittime) >= '2100-05' AND strftime('%Y', admittime) <= '2100' AND strftime('%Y-%m-%d', admittime) <> '2100-06-01';
SELECT row_id FROM admissions WHERE strftime('%Y-%m', admittime) < '2100-1x';
SELECT row_id, strftime('%J', dischtime) - strftime('%J', admittime) FROM admissions;
SELECT row_id, julianday(dischtime) - julianday(admittime) FROM admissions;
SELECT row_id FROM admissions WHERE ( strftime('%J', dischtime) - strftime('%J', admittime) ) > 3.5;
SELECT row_id FROM admissions WHERE strftime('%J', dischtime) - strftime('%J', admittime) >= 3 * 365 / 12;
SELECT row_id, ( strftime('%J', '2100-12-31 23:59:00') - strftime('%J', admittime) ) < 300 FROM admissions;
SELECT row_id FROM admissions WHERE 2 < strftime('%J', datetime(dischtime, '+1 hour')) - strftime('%J', admittime);
SELECT subject_id, hadm_id, admittime FROM admissions GROUP BY subject_id HAVING MIN(admittime) = admittime;
SELECT strftime('%Y', admittime), COUNT(*) FROM admissions GROUP BY strftime('%Y', admittime);
SELECT row_id, strftime('%Y', admittime) - 1, strftime('%Y', admittime) + 0.5 FROM admissions;
SELECT COUNT(*) FROM admissions WHERE strftime('%Y', admittime) = 2100;
SELECT COUNT(*) FROM admissions WHERE strftime('%Y', admittime) > 2100;

-- # numbers
SELECT 7 / 2, -7 / 2, 7 / 2.0, 7 % 3, -7 % 3, 1 / 0, 5.0 / 0, 2 + 3 * 4 - -1;
SELECT row_id, age / 10, age * 1.0 / 10, age % 7 FROM admissions;
SELECT SUM(age), AVG(age), MIN(age), MAX(age), COUNT(age), total(age) FROM admissions;
SELECT round(2.5), round(-2.5), round(3.14159, 2), abs(-3), abs(-2.5);
SELECT CAST(2.9 AS INTEGER), CAST(-2.9 AS INTEGER), CAST('12abc' AS INTEGER), CAST('x' AS REAL), CAST(5 AS TEXT), CAST('3.5' AS REAL);
SELECT '5' + 1, '2.5kg' * 2, 'x' + 1, NULL + 1, '10' / '4';
SELECT row_id, dose_val_rx * 2 FROM prescriptions;
SELECT AVG(dose_val_rx), SUM(dose_val_rx) FROM prescriptions;
SELECT max(1, 3, 2), min(1, NULL), max('a', 'b');
SELECT 100.0 * (SELECT COUNT(*) FROM patients WHERE gender = 'f') / (SELECT COUNT(*) FROM patients);

-- # truth
SELECT COUNT(*) > 0, COUNT(*) = 0, NOT COUNT(*) FROM patients;
SELECT row_id, age > 50, age > 50 AND insurance = 'medicare' FROM admissions;
SELECT SUM(age > 50), AVG(age > 50), MAX(age > 50) FROM admissions;
SELECT row_id FROM admissions WHERE (age > 50) = 1;
SELECT row_id FROM admissions WHERE (age > 50) + (age > 60) = 1;
SELECT row_id, CASE WHEN age > 50 THEN age > 60 ELSE 7 END FROM admissions;
SELECT ( SELECT MAX(age) FROM admissions ) > ( SELECT MIN(age) FROM admissions );
SELECT COUNT(*) FROM admissions WHERE 1;
SELECT COUNT(*) FROM admissions WHERE NOT dischtime IS NULL AND (0 OR age);
SELECT EXISTS ( SELECT 1 FROM patients WHERE gender = 'x' ), 3 IN ( 1, 2 ), NULL IN ( 1 );
SELECT 1 IS 1, NULL IS NULL, 1 IS NOT NULL, NULL = NULL, 'a' IS 'b';

-- # text
SELECT row_id FROM d_items WHERE label LIKE '%HEART%';
SELECT row_id FROM d_items WHERE label LIKE '%rate' ORDER BY row_id;
SELECT COUNT(*) FROM d_items WHERE label NOT LIKE '%a%';
SELECT row_id FROM d_items WHERE label GLOB '*[^a-m ]*[a-c]?';
SELECT COUNT(*) FROM d_items WHERE label NOT GLOB '*[0-9^]*';
SELECT row_id, upper(label), length(label), substr(label, 2, 3), instr(label, 'a'), replace(label, 'a', 'b'), trim('  x ') FROM d_items;
SELECT 'a' || 1 || NULL, 'a' || 1, 'a' || 2.5;
SELECT COUNT(*) FROM patients WHERE gender = "f";
SELECT 'it''s', 'A' = 'a', 'a' < 'b', 'Z' < 'a', '10' < '9';
SELECT DISTINCT gender COLLATE NOCASE = 'F' FROM patients;
SELECT ifnull(NULL, 'x'), nullif('a', 'a'), nullif('a', 'b'), iif(1 > 2, 'y', 'n'), coalesce(NULL, NULL, 3);
SELECT group_concat(gender, ';') FROM ( SELECT DISTINCT gender FROM patients WHERE gender = 'f' ) AS g;

-- # text against numbers
SELECT COUNT(*) FROM admissions WHERE age = '50' OR age > '60';
SELECT COUNT(*) FROM prescriptions WHERE dose_val_rx = 5;
SELECT COUNT(*) FROM prescriptions WHERE dose_val_rx > 5;
SELECT 'a' > 5, '5' = 5, 5 < 'a', '5' < 7;
SELECT COUNT(*) FROM patients WHERE subject_id IN ( '1', '2', 'x' );

-- # NULL and order
SELECT dischtime FROM admissions ORDER BY dischtime, row_id;
SELECT dischtime FROM admissions ORDER BY dischtime DESC, row_id;
SELECT row_id, valuenum FROM labevents ORDER BY valuenum ASC, row_id LIMIT 20;
SELECT row_id FROM labevents ORDER BY valuenum DESC, row_id LIMIT 5 OFFSET 3;
SELECT age AS a FROM admissions ORDER BY a DESC LIMIT 4;
SELECT gender, COUNT(*) AS n FROM patients GROUP BY gender ORDER BY n DESC, gender;
SELECT row_id, COUNT(dischtime) FROM admissions GROUP BY row_id ORDER BY 2, 1;
SELECT subject_id FROM patients WHERE dod NOT IN ( '2100-01-01' );
SELECT 1 AS x UNION SELECT NULL UNION SELECT 3 ORDER BY x;

-- # groups and windows
SELECT T.label, T.n FROM ( SELECT d_labitems.label AS label, COUNT(*) AS n, DENSE_RANK() OVER ( ORDER BY COUNT(*) DESC ) AS r FROM labevents JOIN d_labitems ON labevents.itemid = d_labitems.itemid GROUP BY d_labitems.label ) AS T WHERE T.r <= 3;
SELECT hadm_id, ROW_NUMBER() OVER ( PARTITION BY subject_id ORDER BY admittime ), RANK() OVER ( ORDER BY age ), PERCENT_RANK() OVER ( ORDER BY age ) FROM admissions;
SELECT row_id, lag(age) OVER ( ORDER BY row_id ), lead(age, 2, 0) OVER ( ORDER BY row_id ), SUM(age) OVER ( ORDER BY row_id ROWS BETWEEN 1 PRECEDING AND CURRENT ROW ) FROM admissions;
SELECT gender, COUNT(*), SUM(COUNT(*)) OVER () FROM patients GROUP BY gender;
SELECT subject_id, COUNT(DISTINCT hadm_id) FROM admissions GROUP BY subject_id HAVING COUNT(*) > 1;
SELECT gender AS g, COUNT(*) FROM patients GROUP BY g;
SELECT gender, COUNT(*) FROM patients GROUP BY 1;
SELECT hadm_id, MAX(age) FROM ( SELECT * FROM admissions ORDER BY age DESC, hadm_id LIMIT 1 ) AS a;
SELECT p.subject_id, p.gender, COUNT(*) FROM patients AS p JOIN admissions AS a ON p.subject_id = a.subject_id GROUP BY p.subject_id;
SELECT COUNT(*), COUNT(DISTINCT subject_id), AVG(DISTINCT age) FROM admissions;
SELECT SUM(age) FILTER ( WHERE age > 50 ) FROM admissions;
SELECT MAX(age), SUM(age) FROM admissions WHERE age < 0;

-- # queries within queries
WITH a AS ( SELECT hadm_id, age FROM admissions ), b(x) AS ( SELECT MAX(age) FROM a ) SELECT hadm_id FROM a WHERE age = ( SELECT x FROM b );
WITH RECURSIVE n(i) AS ( SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10 ) SELECT SUM(i) FROM n;
WITH v(study) AS ( VALUES (1),(2),(3) ) SELECT study IN ( SELECT study FROM v ) = 1 FROM v;
SELECT column1, column2 FROM ( VALUES (1, 'a'), (2, 'b') ) WHERE column1 > 1;
SELECT hadm_id FROM admissions WHERE subject_id IN ( SELECT subject_id FROM patients WHERE gender = 'f' ) EXCEPT SELECT hadm_id FROM icustays;
SELECT subject_id FROM admissions INTERSECT SELECT subject_id FROM icustays;
SELECT a.hadm_id, ( SELECT COUNT(*) FROM labevents WHERE labevents.hadm_id = a.hadm_id ) FROM admissions AS a;
SELECT hadm_id FROM admissions AS a WHERE EXISTS ( SELECT 1 FROM icustays AS i WHERE i.hadm_id = a.hadm_id AND i.intime >= a.admittime );
SELECT a.row_id, b.row_id FROM admissions AS a JOIN admissions AS b ON b.subject_id = a.subject_id AND b.admittime = ( SELECT MAX(c.admittime) FROM admissions AS c WHERE c.subject_id = a.subject_id AND c.admittime < a.admittime );
SELECT a.*, p.gender FROM admissions AS a LEFT JOIN patients AS p USING ( subject_id ) WHERE a.age > 80;
SELECT COUNT(*) FROM patients, admissions WHERE patients.subject_id = admissions.subject_id;
SELECT x.n FROM ( SELECT COUNT(*) AS n FROM patients UNION ALL SELECT COUNT(*) FROM admissions ) AS x WHERE x.n > 0;
SELECT * FROM ( SELECT 1 AS a, 'x' AS b ) AS q;
SELECT ( SELECT age FROM admissions ORDER BY age DESC, row_id LIMIT 1 ) AS oldest;

-- # beginnings of years, months and days
SELECT row_id FROM admissions WHERE datetime(admittime,'start of year') = datetime('2100-12-31 23:59:00','start of year','-0 year');
SELECT row_id FROM admissions WHERE datetime(admittime,'start of month') <= '2100-05-01 00:00:00';
SELECT row_id FROM admissions WHERE datetime(admittime,'start of month') > '2100-05-07 00:00:00';
SELECT row_id FROM admissions WHERE datetime(admittime,'start of month') = '2100-05-07 00:00:00';
SELECT row_id FROM admissions WHERE datetime(admittime,'start of day') = datetime('2100-05-07 10:00:00','start of day');
SELECT row_id FROM admissions WHERE datetime(admittime,'start of month') <> '2100-05-01 00:00:00' AND strftime('%Y-%m',admittime) < '2100-08-01 00:00:00';
SELECT row_id FROM admissions WHERE datetime(admittime,'start of month') = '2100-05';

-- # sums of real numbers
SELECT SUM(cost), AVG(cost), total(cost), COUNT(cost) FROM cost;
SELECT event_type, SUM(cost), AVG(DISTINCT cost) FROM cost GROUP BY event_type;
SELECT AVG(T1.c) FROM ( SELECT SUM(cost.cost) AS c FROM cost GROUP BY cost.hadm_id ) AS T1;
SELECT event_type, SUM(cost), SUM(SUM(cost)) OVER ( ORDER BY event_type ) FROM cost GROUP BY event_type;
SELECT SUM(cost) FILTER ( WHERE event_type = 'labevents' ), SUM(cost) FROM cost WHERE cost > 1;
SELECT SUM(valuenum), AVG(valuenum) FROM labevents WHERE valuenum < -1000;
