SET NAMES utf8mb4;
CREATE TABLE n (id INT PRIMARY KEY, d DATE, t TIME(2), dt DATETIME, e ENUM('x','y','2024'), v VARCHAR(20), x TEXT, b BLOB,
  g TEXT COLLATE utf8mb4_general_ci, a VARCHAR(9) CHARACTER SET ascii, y YEAR, big BIGINT UNSIGNED);
INSERT INTO n VALUES (1, '2024-02-29', '12:34:56.78', '2024-02-29 12:34:56', 'y', '7x', '7x', '7x', 'g', 'a', 1999, 18446744073709551615);
# The number of what IF, CASE and NULLIF choose is its own; that of COALESCE is its text's.
SELECT IF(id, d, v) + 0, CASE WHEN id THEN t ELSE v END + 0, CASE id WHEN 1 THEN e ELSE v END + 0 FROM n;
SELECT FLOOR(IF(id, t, v)), IF(id, d, v) % 1000000, -IF(id, x'41', v), ROUND(IF(id, t, v), 1), ABS(IF(id, e, v)) FROM n;
SELECT CAST(IF(id, d, v) AS DOUBLE), CAST(IF(id, d, v) AS DECIMAL(20,4)), CAST(IF(id, d, v) AS SIGNED), IF(id, t, v) | 0 FROM n;
SELECT COALESCE(d, v) + 0, IFNULL(t, v) + 0, NOT IF(id, e, v), IF(id, d, v) > 3000 FROM n;
SELECT CASE WHEN id THEN x'41' ELSE 9223372036854775807 - id END % 255 FROM n;
# The place of a member is a double among numbers.
SELECT 1.00 / e, e + 1.50 FROM n;
# TEXT and BLOB are read as numbers without a warning, VARCHAR with one.
SELECT x + 0, b + 0, FLOOR(x), x > 3, -b  FROM n;
SELECT v + 0 FROM n;
# BETWEEN compares all three in one way.
SELECT x BETWEEN '6' AND id + 100, x BETWEEN 5 AND id FROM n;
SELECT TIMESTAMP'2023-12-31 23:59:59' BETWEEN DATE'2024-02-29' AND 20240315 + id FROM n;
SELECT v BETWEEN t AND '8', dt BETWEEN d AND '2024-03-01' FROM n;
SELECT g BETWEEN x AND a FROM n;
SELECT g BETWEEN x AND '' FROM n;
# Bits in columns of numbers are numbers.
CREATE TABLE i (i INT, d DECIMAL(6,2), y YEAR, f DOUBLE, v VARCHAR(5));
INSERT INTO i VALUES (x'41', b'101', x'45', x'41', x'41');
UPDATE i SET i = x'42';
SELECT * FROM i;
SELECT CONV(x'41', 10, 16);
# One type of several has the digits of all.
SELECT 1 AS v UNION SELECT CAST(2 AS DECIMAL(20,4));
SELECT LEAD(id, 1, 0.0) OVER (ORDER BY id), LAG(y, 1, 7) OVER (ORDER BY id) FROM n;
# An interval's number may be the function INTERVAL.
SELECT DATE_SUB('2024-02-29 12:34:57', INTERVAL INTERVAL(2024, 0, 5, 10) SECOND);
SELECT DATE_SUB(20240315, INTERVAL big YEAR) FROM n;
SELECT TIMEDIFF(20240315, 20240315), TIMEDIFF(DATE'2024-02-29', 20240315);
SELECT JSON_VALID(1), JSON_VALID(NULL), JSON_VALID(NULLIF(id, 1)) FROM n;
SELECT JSON_QUOTE(e) FROM n;
# A text that its new character set does not hold, converted by nobody's wish.
SELECT CONCAT(_ascii'a' COLLATE ascii_bin, a) FROM n;
DROP TABLE n, i;
