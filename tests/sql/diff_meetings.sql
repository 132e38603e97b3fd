-- What a value becomes beside one of another kind: constants beside columns, bits among texts, texts that follow another.
SET NAMES utf8mb4;
SET timestamp = 1709251200, time_zone = '+00:00';
CREATE TABLE t (id INT PRIMARY KEY, t TIME, t6 TIME(6), d DATE, dt DATETIME, y YEAR, s VARCHAR(20), b BIT(9), KEY (t));
INSERT INTO t VALUES (1, '00:00:00', '00:00:00', '2024-02-29', '2024-02-29 00:00:00', 2024, '2024-02-29', 0),
 (2, '12:34:56', '12:34:56.5', '2024-03-01', '2024-03-01 12:34:56', 2000, 'A', 1),
 (3, '-12:34:56', '-12:34:56.5', '2023-12-31', '2023-12-31 12:34:56', 0, 'a', 97);
-- A moment beside a column of times loses its date and is rounded; a time beside a column of years is this year.
SELECT id, t < TIMESTAMP'2023-12-31 23:59:59' a, t6 = TIMESTAMP'2023-12-31 12:34:56.5' b, t = TIMESTAMP'2023-12-31 12:34:55.5' c, t < TIMESTAMP'2023-12-31 23:59:59.9' d, t = DATE'2024-01-01' e, t = CAST('2023-12-31 12:34:56' AS DATETIME) f, COALESCE(t) = TIMESTAMP'2023-12-31 12:34:56' g, t6 < FROM_UNIXTIME(1234567) h FROM t ORDER BY id;
SELECT id FROM t WHERE t = TIMESTAMP'2023-12-31 12:34:56';
SELECT id, y = TIME'12:34:56' a, y < TIME'12:34:56' b, y IN (TIME'12:34:56') c, y = MAKETIME(1, 1, 1) d, COALESCE(y) = TIME'12:34:56' e FROM t ORDER BY id;
-- Bits in a list or in CASE make the texts around them bytes, and are numbers themselves.
SELECT id, 'A' IN ('a', b) a, 'A' NOT IN ('a', b) n, UPPER(s) IN (s, b) u, 'A' IN ('a', b'1', id) l, 'A' IN ('a', id) i, CASE 'A' WHEN 'a' THEN 1 WHEN b THEN 2 ELSE 0 END c FROM t ORDER BY id;
-- Text that a time was added to is a time beside a date.
SELECT id, d <= ADDTIME(CONCAT(t), '01:00:00') a, dt > SUBTIME(t, '01:00:00') b, d <= IF(id, TIME'10:00:00', 'x') c FROM t ORDER BY id;
-- Beside NULL nothing more is computed; what is never NULL is not computed to see whether it is.
CREATE TABLE u (id INT PRIMARY KEY, s VARCHAR(20));
INSERT INTO u VALUES (1, 'x');
UPDATE u SET id = 2 WHERE NULL XOR s + 0;
UPDATE u SET id = 2 WHERE NULL IN (1.25, s, s);
UPDATE u SET id = 2 WHERE ('x' <=> id) IS UNKNOWN;
UPDATE u SET id = 2 WHERE s + 0;
-- FIND_IN_SET does not pad.
SELECT FIND_IN_SET('ab ' COLLATE utf8mb4_general_ci, 'ab,ab '), FIND_IN_SET('ab' COLLATE utf8mb4_general_ci, 'ab ,AB'), FIND_IN_SET('ab ' COLLATE utf8mb4_bin, 'ab'), FIND_IN_SET('AB', 'x,ab');
-- The first text of REPLACE, LPAD, INSERT, SUBSTRING_INDEX and TRIM says the collation; the others follow it.
CREATE TABLE c (u VARCHAR(20), b VARCHAR(20) COLLATE utf8mb4_bin, l VARCHAR(20) CHARACTER SET latin1, v BLOB);
INSERT INTO c VALUES ('aéb', 'aéb', 'aéb', 'é');
SELECT COLLATION(REPLACE(u, b, l)), COLLATION(REPLACE('a', 'b', b)), COERCIBILITY(REPLACE('a', 'b', b)), COLLATION(REPLACE(u, 'b' COLLATE utf8mb4_bin, 'x')), COLLATION(LPAD(u, 9, b)), COLLATION(RPAD(b, 9, u)), COLLATION(INSERT(l, 1, 1, b)), COLLATION(SUBSTRING_INDEX(u, v, 1)), COLLATION(TRIM(b FROM u)) FROM c;
SELECT REPLACE(l, u, 'x'), REPLACE(u, v, 'x'), LPAD(l, 5, u), TRIM(LEADING 'a' FROM l), HEX(INSERT(l, 1, 1, u)) FROM c;
SELECT REPLACE(l, 'Ω', 'x') FROM c;
SELECT SUBSTRING_INDEX(u, x'ff', 1) FROM c;
-- NULLIF gives a literal the collation of the comparison.
SELECT COLLATION(NULLIF('é', b)), COERCIBILITY(NULLIF('é', b)), COLLATION(NULLIF('a', l)), COLLATION(NULLIF(b, 'a')), COERCIBILITY(NULLIF(LOWER(5), b)) FROM c;
-- A year that is computed has a zero of one digit as text.
SELECT CONCAT(CAST(0 AS YEAR)), LEFT(CAST(0 AS YEAR), 2), CAST(0 AS YEAR) LIKE '0', CONCAT(y), CONCAT(IFNULL(y, y)) FROM t WHERE id = 3;
UPDATE u SET s = CAST(0 AS YEAR);
SELECT s FROM u;
-- A column of moments stored in one of years is its number; dates and times that GREATEST chooses are texts.
CREATE TABLE y (id INT PRIMARY KEY, y YEAR, i BIGINT, de DECIMAL(20,3));
INSERT INTO y (id, y) SELECT id, d FROM t;
SELECT * FROM y ORDER BY id;
INSERT INTO y (id, y) SELECT id + 10, dt FROM t;
INSERT IGNORE INTO y (id, y) SELECT id + 10, dt FROM t ORDER BY id;
UPDATE y SET i = (SELECT 1) + GREATEST(id, 1);
UPDATE y, t SET y.i = GREATEST(t.d, t.d);
UPDATE y, t SET y.de = LEAST(t.t, t.t) WHERE y.id = t.id AND y.id = 2;
SELECT * FROM y ORDER BY id;
-- The zero that a product, a quotient or a difference comes to has no digits among texts of a set operation.
CREATE TABLE z (id INT PRIMARY KEY, d DECIMAL(10,2), e DECIMAL(10,3));
INSERT INTO z VALUES (1, 0, 0), (2, 1.5, 1.5);
SELECT 'a' v UNION ALL SELECT d * e FROM z UNION ALL SELECT d - d FROM z UNION ALL SELECT e / 3 FROM z UNION ALL SELECT d % 3 FROM z UNION ALL SELECT d + 0.00 FROM z UNION ALL SELECT ROUND(e * 0.0, 2) FROM z UNION ALL SELECT IF(id, d * 0.0, 0.000) FROM z UNION ALL SELECT IFNULL(NULL, d * e) FROM z;
-- A double of so many digits shows its shortest digits, and zeros.
SELECT ABS(TIMESTAMP'2024-02-29 12:34:56.789'), -TIMESTAMP'2024-02-29 12:34:56.789' / 3, ABS(TIME'00:00:00.3') / 3;
CREATE TABLE f (a DOUBLE(30,7), b DOUBLE(20,3));
INSERT INTO f VALUES (6746743041152.263, 20240229123456.789), (0.1, -0.0625);
SELECT * FROM f;
-- What has no space behind its third number is no date with a time; OCT and BIN read the text of dates.
SELECT TIME('10:11:12.000012'), TIME'01:00:00.000010', CAST('00:00:00.000001' AS TIME(6)), TIME('2024-01-01T10:11:12'), TIME('20240101T101112'), TIME('2024-01-01 10:11:12'), TIMESTAMP('2024-01-01', '01:00:00.000010');
SELECT OCT(TIME'12:34:56'), BIN(DATE'2024-01-02'), CONV(TIME'12:34:56', 10, 8);
-- What REGEXP_REPLACE makes claims as its texts do.
SELECT COERCIBILITY(REGEXP_REPLACE('b', 'a', 'X')), COERCIBILITY(REGEXP_SUBSTR('a', 'a')), COLLATION(IF(1, FROM_BASE64('a'), REGEXP_REPLACE('b', 'a', 'X')));
-- Members are compared by their texts, which is not the order of their index.
CREATE TABLE e (id INT PRIMARY KEY, c ENUM('b','a','cc'), s SET('z','x'), KEY (c), KEY (s));
INSERT INTO e VALUES (1, 'b', 'z'), (2, 'a', 'x'), (3, 'cc', 'z,x'), (4, NULL, NULL), (5, 'a', '');
SELECT id, c FROM e WHERE c < 'b' ORDER BY id;
SELECT id, c FROM e FORCE INDEX (c) WHERE c BETWEEN 'a' AND 'b' ORDER BY id;
SELECT id, s FROM e WHERE s > 'x' ORDER BY id;
SELECT id FROM e WHERE c > 1 ORDER BY id;
SELECT id FROM e WHERE c = 'A' OR c = 3 ORDER BY id;
SELECT a.id, b.id FROM e a JOIN e b ON a.c < b.c ORDER BY 1, 2;
SELECT MIN(c), MAX(c), MIN(s), MAX(s) FROM e;
SELECT id, HEX(WEIGHT_STRING(c)), HEX(WEIGHT_STRING(s)), HEX(WEIGHT_STRING(CONCAT(c))) FROM e ORDER BY id;
-- Of bytes only those of ASCII are letters.
SELECT HEX(SOUNDEX(x'FF')), SOUNDEX(x'FF616263'), SOUNDEX('ß');
SELECT NULL IN (_utf8mb4'a' COLLATE utf8mb4_bin, 'a' COLLATE utf8mb4_general_ci, 'b');
SELECT c FROM e ORDER BY c;
DROP TABLE e;
DROP TABLE t, u, c, y, z, f;
-- NULLIF leaves bytes bytes, and gives other literals the collation of the comparison.
create table nullif_literals (a varchar(10), b varchar(10) character set latin1, c varbinary(10));
insert into nullif_literals values ('x','x','x');
select collation(nullif(_binary'b',a)), collation(nullif('b',a)), collation(nullif('b',b)), collation(nullif(_latin1'b',a)), collation(nullif('b',c)), collation(nullif(x'62',a)), collation(nullif(_binary'b','a')) from nullif_literals;
select hex(weight_string(nullif(_binary'b', a))) from nullif_literals;
-- A number that is chosen and is no date is unequal to one, text that is none is unknown.
select if(1, 20240399, '1.5x') <> timestamp'2024-03-15 00:00:00', if(0, 20240399, '1.5x') <> timestamp'2024-03-15 00:00:00', if(1, 20240315, '1.5x') = timestamp'2024-03-15 00:00:00';
