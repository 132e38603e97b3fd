-- What a comparison makes of values of different kinds.
CREATE TABLE t (id INT PRIMARY KEY, d DATE, dt DATETIME(6), ts TIMESTAMP NULL, tm TIME, ms TIME(3), v VARCHAR(20), n INT, u BIGINT UNSIGNED, e ENUM('x','2024-01-02','5'), bi BIT(8), b VARBINARY(10), KEY (n), KEY (tm));
INSERT INTO t VALUES
 (1, '2024-01-02', '2024-01-02 03:04:05', '2024-01-02 03:04:05', '03:04:05', '03:04:05.5', '03:04:05', 1, 18446744073709551615, '2024-01-02', 65, '65'),
 (2, '2024-01-02', '2024-01-02 03:04:05', NULL, '12:04:05', '00:00:00', '12:04:05', 2, 9007199254740993, 'x', 66, '7'),
 (3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
-- A time beside text is text, unless a column stands beside a constant.
SELECT id, tm = '3:4:5', tm = v, tm < v, tm > '4', tm <=> v FROM t ORDER BY id;
SELECT MAKETIME(3,4,5) = '3:4:5', MAKETIME(3,4,5) > '4', TIME'03:04:05' = '03:04:05', CAST('3:4:5' AS TIME) = '3:4:5';
SELECT MIN(tm) = '3:4:5', MAX(d) = '2024-1-2' FROM t;
SELECT id, tm BETWEEN '3:4:5' AND '5:6:7', ms = '3:4:5.5004', tm BETWEEN v AND v FROM t ORDER BY id;
SELECT MAKETIME(3,4,5) BETWEEN '3:4:5' AND '5', '3:4:5' BETWEEN MAKETIME(3,4,5) AND '5';
-- In a list both are times.
SELECT id, tm IN ('3:4:5', '1:1:1'), tm IN ('3:4:5'), tm IN (v, '9:9:9'), v IN (tm, '3:4:5') FROM t ORDER BY id;
SELECT MAKETIME(3,4,5) IN ('3:4:5', '03:04:05'), MAKETIME(3,4,5) IN ('3:4:5');
SELECT id, CASE tm WHEN '3:4:5' THEN 1 ELSE 0 END, CASE v WHEN tm THEN 1 ELSE 0 END, NULLIF(tm, '3:4:5'), NULLIF(v, tm) FROM t ORDER BY id;
SELECT a.id, b.id FROM t a JOIN t b ON a.tm = b.v ORDER BY 1, 2;
-- A date makes dates of texts.
SELECT id, d = '2024-1-2', dt > '2024-1-2', ts IN ('2024-1-2 3:4:5', '2020-1-1'), d BETWEEN '2024-1-1' AND '2024-1-3' FROM t ORDER BY id;
SELECT id, '2024-1-2' IN (d, v), '2024-1-2' BETWEEN d AND '2024-1-3', d = e, NULLIF(d, '2024-1-2') FROM t WHERE id = 3;
SELECT id, CASE d WHEN '2024-1-2' THEN 1 ELSE 0 END, CASE '2024-1-2' WHEN d THEN 1 ELSE 0 END FROM t ORDER BY id;
SELECT id, (d, 1) IN (('2024-1-2', 1), ('2024-1-3', 1)), (tm, 1) = ('3:4:5', 1) FROM t ORDER BY id;
-- Numbers.
SELECT id, u = '18446744073709551615', u = '9007199254740993', u = '9007199254740992', n = '1.0', n = ' 1', n = '' FROM t ORDER BY id;
SELECT id, n = x'01', n IN (x'01', 7), bi = x'41', bi = '65', b = 65, b IN (65, 'x') FROM t WHERE id <> 2 ORDER BY id;
SELECT id FROM t WHERE n = '1';
SELECT '5x' = 5;
SELECT 5 IN ('5x', 6);
SELECT 5 BETWEEN '1x' AND '6';
SELECT NULLIF(5, '5x');
SELECT '' + 0, '' = 0, ' ' = 0, x'41' + 0, INTERVAL(x'41', 1, 2, 100), CAST(x'41' AS DECIMAL(5)), MAKEDATE(2024, x'41'), SEC_TO_TIME(x'41');
-- Strict changes of rows.
UPDATE t SET n = n WHERE tm > v;
UPDATE t SET n = n WHERE n = 'x';
DELETE FROM t WHERE v = 1;
INSERT INTO t (id) SELECT id + 10 FROM t WHERE tm < v OR v + 1;
INSERT INTO t (id, n) VALUES (20, LN(0));
INSERT INTO t (id, v) VALUES (20, DATE_ADD('9999-12-31', INTERVAL 1 DAY));
INSERT IGNORE INTO t (id, n) VALUES (21, '5x' + 1);
SELECT d = 'x' FROM t WHERE id = 3;
SELECT ts = 'x' FROM t WHERE id = 3;
SELECT dt > '0000-00-00' FROM t WHERE id = 3;
DROP TABLE t;
