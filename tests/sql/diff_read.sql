# How values are read that another type, character set or constant stands beside; what is chosen, as a number or moment.
SET NAMES utf8mb4;
SET max_error_count = 0;
# IN and its kin over texts of two character sets.
CREATE TABLE u (id INT PRIMARY KEY, m VARCHAR(20), l VARCHAR(20) CHARACTER SET latin1, k VARCHAR(20) CHARACTER SET latin1, i INT, KEY (l), KEY (m));
INSERT INTO u VALUES (1, 'Ärger', 'Ärger', 'straße', 1), (2, 'straße', 'straße', 'Ärger', 2), (3, 'x', 'y', 'é', 3), (4, NULL, 'é', NULL, 4);
SELECT id, m IN (SELECT l FROM u) a, l IN (SELECT m FROM u) b, m IN (SELECT l FROM u t WHERE t.id <> u.id OR t.i >= u.i) c, m = ANY (SELECT l FROM u) d, m NOT IN (SELECT l FROM u WHERE l IS NOT NULL) e, (m, id) IN (SELECT l, id FROM u) f, (l, 1) IN (SELECT m, 1 FROM u) g, m IN (SELECT MAX(l) FROM u GROUP BY id) h FROM u ORDER BY id;
SELECT id FROM u WHERE m IN (SELECT l FROM u) ORDER BY id;
SELECT id FROM u WHERE l IN (SELECT m FROM u) ORDER BY id;
SELECT id FROM u WHERE m NOT IN (SELECT l FROM u WHERE l IS NOT NULL) ORDER BY id;
SELECT id FROM u WHERE m IN (SELECT k FROM u t WHERE t.i > 0 GROUP BY k) ORDER BY id;
SELECT id FROM u WHERE (m, i) IN (SELECT l, i FROM u) ORDER BY id;
SELECT id FROM u WHERE m <> ALL (SELECT l FROM u WHERE l IS NOT NULL) ORDER BY id;
SELECT id FROM u WHERE m > ANY (SELECT l FROM u WHERE l IS NOT NULL) ORDER BY id;
SELECT id FROM u WHERE 'Ärger' IN (SELECT l FROM u t WHERE t.i = u.i) ORDER BY id;
SELECT id FROM u WHERE m IN (SELECT CONCAT(l) FROM u) ORDER BY id;
SELECT id FROM u WHERE m IN (SELECT UPPER(l) FROM u t WHERE t.i <= u.i) ORDER BY id;
SELECT id FROM u WHERE m IN (SELECT l FROM u UNION SELECT k FROM u) ORDER BY id;
DELETE FROM u WHERE m IN (SELECT k FROM (SELECT k FROM u) d);
SELECT id FROM u ORDER BY id;
DROP TABLE u;
# Constants beside a column of years: computed ones, too; decimals are rounded, doubles cut.
CREATE TABLE y (id INT PRIMARY KEY, y YEAR, KEY (y));
INSERT INTO y VALUES (1, 1999), (2, 2001), (3, 2002), (4, 2012), (5, 0);
SELECT y, y = 1.25, y = 1.75, y = 1.25e0, y = 1.75e0, y > 1.25, y >= 1.75, y < 1.25e0, y >= 1.75e0, y <> 1.25, y <=> 1.25, y > 0.6, y >= 2155.4, y < 3000.5 FROM y ORDER BY id;
SELECT y, y = (0 + 1.25), y = (1 + 0), y = HOUR(TIME'01:00:00'), y >= HOUR(TIME'12:34:56'), y < (1 + 11), y BETWEEN (1 + 0) AND (1 + 11), y IN (1.25), y IN (1.25, 2), 1.25 = y, (1 + 11) <= y, y = CONCAT('1', ''), y >= ABS(-12) FROM y ORDER BY id;
SELECT y FROM y WHERE y > 1.25 ORDER BY y;
SELECT y FROM y WHERE y >= HOUR(TIME'12:34:56') ORDER BY y;
SELECT y FROM y WHERE y BETWEEN 1 + 0 AND 6 + 6 ORDER BY y;
DROP TABLE y;
# What is blank is no time; bits in CONV; FLOATs that are chosen; members between numbers.
CREATE TABLE t (id INT PRIMARY KEY, t TIME, b BIT(9), f FLOAT, e ENUM('b', 'a'), s SET('x', 'y'));
INSERT INTO t VALUES (1, '00:00:00', b'101010101', 0.5, 'b', 'x'), (2, '10:00:00', b'1', 3, 'a', 'x,y'), (3, '-01:00:00', b'0', 7, 'b', ''), (4, NULL, NULL, NULL, NULL, NULL);
SELECT t, t = '', t <> '', t < '', t <= '', t IN ('', t), t NOT IN ('', t), t NOT IN ('', e), t <=> '', t = '  ' FROM t ORDER BY id;
SELECT CONV(b, 10, 16), CONV(b, 16, 10), CONV(b, 2, 10), CONV(b, -10, -16), CONV(b + 0, 16, 10), '10' <= CONV(b, 10, 16), CONV(MAX(b), 10, 16) FROM t GROUP BY id ORDER BY id;
SELECT FLOOR(IF(id = 1, f, 20240315)), IF(id = 1, f, 20240315) + 0, ROUND(CASE WHEN id = 1 THEN f ELSE 16777217 END), IF(id = 1, f, 16777217) = 16777217, CAST(IF(id = 1, f, 16777217) AS DECIMAL(20,2)), CAST(IF(id = 1, f, 16777217) AS SIGNED), COALESCE(IF(id = 9, f, NULL), 16777217) + 0, IFNULL(IF(id = 9, f, NULL), 16777217) * 1, SUM(IF(id = 1, f, 16777217)) FROM t GROUP BY id ORDER BY id;
SELECT s BETWEEN id AND e, s BETWEEN 1 AND e, e BETWEEN 1 AND s, e NOT BETWEEN s AND 2, s BETWEEN 0.5 AND e FROM t ORDER BY id;
DROP TABLE t;
# The sign of what has nothing before the point.
SELECT TIME(-0.5), TIME(-0.000001), CAST(-0.25 AS TIME(3)), TIMESTAMP('2024-02-29', -0.01), HOUR(-0.5), ADDTIME('10:00:00', -0.5), DATE(-0.5), EXTRACT(YEAR_MONTH FROM -0.01), DATE(-0.5e0), TIMESTAMP(-0.5), CAST(-0.5 AS DATETIME), CAST(-0.01 AS DATE), TO_DAYS(-0.1), CAST(-0.5e0 AS TIME(2)), TIMEDIFF(-0.5, 0.5);
# What is chosen, as a number and as a moment.
CREATE TABLE e (id INT PRIMARY KEY, d DATE, dt DATETIME, t TIME, i INT, ts TIMESTAMP NULL);
INSERT INTO e VALUES (1, '2024-02-29', '2024-02-29 12:00:00', '10:00:00', 7, '2024-01-01 00:00:00'), (2, NULL, NULL, NULL, NULL, NULL), (3, '2011-11-12', '2011-11-12 00:00:00', '00:00:01', 0, '2011-11-12 00:00:00');
SELECT ROUND(IF(id, t, dt)), CEILING(CASE WHEN id = 1 THEN t ELSE dt END), FLOOR(IF(id, t, dt)), ABS(IF(id, t, ts)), SQRT(IF(id, t, dt)), TRUNCATE(IF(id, t, dt), -2), SIGN(IF(id = 3, t, dt)), IF(id, t, dt) | 0, MOD(IF(id, t, dt), 100), ROUND(IF(id, d, dt)), POW(IF(id, t, dt), 1), BIT_COUNT(IF(id, t, dt)) FROM e ORDER BY id;
SELECT (IF(id, 'AB', t) COLLATE utf8mb4_bin) + 0, (IF(id = 9, 'AB', t) COLLATE utf8mb4_bin) + 0, (IF(id = 9, 'AB', d) COLLATE utf8mb4_bin) | 0, CAST((IF(id = 9, 'AB', t) COLLATE utf8mb4_bin) AS SIGNED), SUM((IF(id = 9, 'AB', t) COLLATE utf8mb4_bin)), (CASE WHEN id THEN t ELSE 'x' END COLLATE utf8mb4_general_ci) = '10:00:00' FROM e GROUP BY id ORDER BY id;
SELECT CAST(IF(id, 101, 'x') AS DATE), CAST(IF(id, 101, 'x') AS DATETIME), DATE(IF(id, 101, 'x')), YEAR(IF(id, 101, 'x')), MONTH(CASE WHEN id THEN 240315 ELSE 'x' END), TO_DAYS(IF(id, 101, 'x')), DATE(IF(id, 101e0, 'x')) FROM e ORDER BY id;
# ADDTIME of text beside moments.
SELECT id, ADDTIME(i, '01:00:00') < CAST('2024-01-01' AS DATETIME), ADDTIME('2024-02-29 11:00:00', '01:00:00') = dt FROM e ORDER BY id;
DROP TABLE e;
# An argument that nobody asks for is not computed.
CREATE TABLE b (id INT PRIMARY KEY, b VARBINARY(10), v VARCHAR(20));
INSERT INTO b VALUES (1, 'abc', 'abc'), (2, x'00ff', 'x'), (3, NULL, NULL);
SELECT id, FIELD(v, v, b), HEX(TRIM(BOTH b FROM NULL)), HEX(TRIM(BOTH CONCAT(b, v) FROM ELT(0, 'a'))) FROM b ORDER BY id;
SELECT id, FIELD(v, 'y', b) FROM b ORDER BY id;
DROP TABLE b;
