# Recorded from MySQL 9.7. What the differential generator found: digits, signs, years, bits, JSON among others.
SET NAMES utf8mb4, time_zone = '+00:00';
# Decimals that IF and CASE choose have the digits of their branch, what is computed from them those of the type.
SELECT IF(1, 2, 1.25), CASE 1 WHEN 1 THEN 2 ELSE 1.255 END, IFNULL(2, 1.25), COALESCE(NULL, 2, 1.25), NULLIF(2.5, 1.255);
SELECT CONCAT(IF(1, 2, 1.25)), CAST(IF(1, 2, 1.25) AS CHAR), IF(1, IF(1, 2, 1.25), 'a'), IF(1, IF(1, 2, 1.25), 1.255);
SELECT IF(1, 2, 1.25) + 0, IF(1, 2, 1.25) + 1.5, GREATEST(3, 1.25), ROUND(IF(1, 2, 1.255), 2), -IF(1, 2, 1.25), ABS(IF(1, 2, 1.25)), COALESCE(IF(1, 2, 1.25));
SELECT v FROM (SELECT IF(1, 2, 1.25) AS v) AS d;
SELECT IF(1, 2, 1.25) UNION SELECT 3;
SELECT MAX(IF(1, 2, 1.25)), SUM(IF(1, 2, 1.25));
SELECT IF(1, 18446744073709551615, 1.25), IF(1, 0, -0.0), IF(1, CAST(2 AS UNSIGNED), -1);
# What is NULL anyway has no type.
CREATE TABLE nothing AS SELECT IF(1, CAST(2 AS SIGNED), IFNULL(NULL, NULL)) AS a, CASE WHEN 1 THEN 'x' WHEN 2 THEN COALESCE(NULL) END AS b;
SHOW CREATE TABLE nothing;
# Times show the digits they were cast to, as text too.
SELECT CONCAT(CAST(TIME'12:34:56' AS TIME(3))), CONCAT(CAST(TIMESTAMP'2024-01-01 10:11:12' AS DATETIME(2)));
SELECT CAST(DATE'2024-02-29' AS DATETIME(2)) AS v UNION ALL SELECT 'x';
SELECT COALESCE(CAST(DATE'2024-02-29' AS DATETIME(2)), DATE_ADD('2024-02-29', INTERVAL '1:2' HOUR_MINUTE)) AS v;
# Negative zeros.
SELECT -0e0, -0e0 * 1, CONCAT(-0e0 * 1), FLOOR(-0e0), ROUND(-0.4e0), ROUND(-(0e0), 3), ABS(-0e0), -0e0 + 0;
# A year beside a moment.
CREATE TABLE t (id INT PRIMARY KEY, y YEAR, d DATE, s DATETIME(3), b BIT(9), c LONGTEXT);
INSERT INTO t VALUES (1, 2024, '2024-01-01', '2024-01-01 00:00:00', b'1', '1.5x'), (2, 2155, '2023-02-03', '2155-01-01', b'101010101', '-3.7'),
    (3, 0, '1000-01-01', '1999-12-31', 0, '18446744073709551615'), (4, 2023, '2023-02-03', '2022-12-31 23:59:59', b'001100010', 'x');
SELECT y, d, d = y, d > y, d < y, s = y, s > y, s < y, s IN (y), d BETWEEN y AND y FROM t ORDER BY id;
SELECT y, TIMESTAMP'2024-05-06 00:00:01' = y, TIMESTAMP'2024-05-06 00:00:01' > y, y = DATE'2155-03-04', y BETWEEN DATE'2023-05-06' AND DATE'2024-05-06' FROM t ORDER BY id;
SELECT id FROM t WHERE d > y ORDER BY id;
SELECT -y, -b FROM t ORDER BY id;
# A constant beside a column of years is stored there first, as it were.
SELECT y, y = 24, y = '24', y > 1, 1 < y, y <=> 24, y IN (24), y BETWEEN 1 AND 30, y BETWEEN 24 AND 30, 24 BETWEEN y AND y, y = 24.0, y = 24.5, y > -1, y < 300, y = 100, y + 0 = 24 FROM t ORDER BY id;
SELECT y, y = 0, y = '0', y = x'18', y BETWEEN x'01' AND 30, y NOT BETWEEN 24 AND 30, y BETWEEN d AND 24, NULLIF(y, 24) IS NULL FROM t ORDER BY id;
SELECT y FROM t WHERE y = 24;
SELECT y FROM t WHERE y > 1 ORDER BY id;
SELECT y FROM t WHERE y BETWEEN 1 AND 30 ORDER BY id;
SELECT y FROM t WHERE y <> 24 ORDER BY id;
# Bits are bytes where a date or time is wanted.
SELECT TIME(b) IS NULL, b + 0 FROM t ORDER BY id;
# Text is an integer for the operators on bits.
SELECT c & 1, c | 0, ~c, c << 1, BIT_COUNT(c) FROM t ORDER BY id;
# A text among numbers and dates is compared with each in its own way.
SELECT '2024-01-01' IN (20240315, s), '2024-01-01' IN (TIMESTAMP'2023-12-31 23:59:59', s), '2024-01-01 00:00:00.000' IN (s, 1) FROM t WHERE id = 1;
# JSON among others keeps its collation.
SELECT COLLATION(IF(1, CAST('5' AS JSON), 40)), COLLATION(CONCAT(CAST('5' AS JSON), 'a')), COERCIBILITY(CAST('5' AS JSON));
SELECT MAX(IF(id > 1, CAST('{"a": 1.5}' AS JSON), 20240315)) FROM t;
# Three queries in one set operation have one type.
(SELECT -1 AS v) EXCEPT (SELECT 1.25) EXCEPT (SELECT 'x');
(SELECT 1 AS v UNION ALL SELECT 2 UNION ALL SELECT 2) INTERSECT (SELECT 2 UNION ALL SELECT 3) INTERSECT (SELECT 2);
(SELECT 1 AS v UNION ALL SELECT 2 UNION ALL SELECT 2) INTERSECT (SELECT 2 UNION ALL SELECT 3) INTERSECT (SELECT 3);
(SELECT id AS v FROM t) EXCEPT (SELECT 2) EXCEPT (SELECT 4) ORDER BY v;
(SELECT 1 AS v UNION ALL SELECT 1 UNION ALL SELECT 1) EXCEPT ALL (SELECT 1) EXCEPT ALL (SELECT 1);
# A time out of IF among texts is a time of today.
SELECT CAST(IF(1, TIME'10:11:12', '10:11:12') AS DATE) = CURRENT_DATE, IF(1, TIME'10:11:12', 'x') + INTERVAL 1 SECOND IS NULL;
# Numbers beyond every moment.
CREATE TABLE m (a TIMESTAMP(2) NULL, b TIME(2), c YEAR, d DATETIME(6));
INSERT IGNORE INTO m VALUES (3e100, 3e100, 3e100, 3e100);
INSERT IGNORE INTO m VALUES (9223372036854775807, 9223372036854775807, 9223372036854775807, 9223372036854775807);
INSERT IGNORE INTO m VALUES (20241301, -3e100, 3000, 20241301);
SELECT * FROM m;
INSERT INTO m (a) VALUES (3e100);
INSERT INTO m (b) VALUES (3e100);
# Bits: what is too long, and what is no unsigned number.
CREATE TABLE b (b BIT(9), c BIT(64));
INSERT INTO b (b) VALUES (-4);
INSERT INTO b (b) VALUES (-4.0);
INSERT INTO b (b) VALUES (5000);
INSERT INTO b (b) VALUES ('abc');
INSERT IGNORE INTO b (b) VALUES (-4), (-4.0), (-4e0), (5000), (5000.5), (3e100), ('abc');
INSERT IGNORE INTO b (c) VALUES (-4.0), (-4e0), (-4), (3e100), ('123456789'), (99999999999999999999), (-99999999999999999999);
SELECT b + 0, c + 0 FROM b;
SET sql_mode = '';
INSERT INTO b (b) VALUES (-4), (5000), ('abc');
SET sql_mode = DEFAULT;
# JSON is stored with its own conversion, whatever the statement.
CREATE TABLE j (id INT PRIMARY KEY, n INT, b BIT(9));
INSERT INTO j SELECT 1, CAST('[1]' AS JSON), NULL;
INSERT INTO j SELECT 1, CAST('5' AS JSON), NULL;
INSERT INTO j SELECT 2, 0, CAST('[1, "a"]' AS JSON);
INSERT INTO j SELECT 2, 0, CAST('1' AS JSON);
INSERT INTO j VALUES (1, 0, NULL) ON DUPLICATE KEY UPDATE n = CAST('"x"' AS JSON);
INSERT INTO j VALUES (1, 0, NULL) ON DUPLICATE KEY UPDATE n = CAST('7' AS JSON);
SELECT id, n, HEX(b) FROM j ORDER BY id;
# Dates that IF and its kin choose are stored in numbers by their text.
CREATE TABLE n (id INT PRIMARY KEY, i BIGINT, d DECIMAL(30, 10));
INSERT INTO n VALUES (1, DATE'2024-01-02', TIMESTAMP'2024-01-02 03:04:05');
UPDATE n SET i = IFNULL(DATE'2024-01-02', NULL);
UPDATE n SET d = IF(1, TIMESTAMP'2024-01-02 03:04:05', NULL);
UPDATE n SET i = DATE_ADD(DATE'2024-01-02', INTERVAL 1 DAY);
SELECT * FROM n;
# The first of two errors ends a change.
UPDATE n SET i = 'x' WHERE id = '1x';
INSERT INTO n (id, i) VALUES (CAST('2y' AS SIGNED), 1e100);
