# LEAST and GREATEST of moments and times beside other values, BIT as text: random statements differed from MySQL.
CREATE TABLE x (id INT PRIMARY KEY, b BIT(7), e ENUM('x', 'y', '10'), y YEAR, t TIME(2), dt DATETIME(3), i INT, v VARCHAR(20));
INSERT INTO x VALUES (1, b'110001', 'x', 2024, '12:34:56.25', '2024-02-29 12:34:56.789', 7, 'abc'), (2, 65, '10', 2000, '-01:00:00', '1999-12-31 23:59:59', -3, '10'), (3, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
SET max_error_count = 0;
SELECT LEAST(dt, i), LEAST(dt, v), LEAST(dt, '1'), LEAST(dt, 0), LEAST(dt, -3.7), GREATEST(dt, i), GREATEST(dt, v) FROM x ORDER BY id;
SELECT LEAST(dt, '2024-13-01'), LEAST(dt, '0000-00-00'), LEAST('x', dt, 'zz'), LEAST(dt, 7) + 0, LEAST(dt, 1) > 20, LEAST(dt, 'abc') AND 1 FROM x WHERE id = 1;
SELECT LEAST(dt, 1) FROM x UNION SELECT LEAST(dt, 1) FROM x;
SELECT x, COUNT(*) FROM (SELECT LEAST(dt, -3.7) AS x FROM x) AS q GROUP BY x;
SELECT SUM(LEAST(dt, i)), SUM(LEAST(t, 3)), MIN(LEAST(dt, 1)), MAX(GREATEST(dt, 1)) FROM x;
SELECT LEAST(t, 3), LEAST(t, 3) + 0, GREATEST(t, e) + 0, LEAST(t, y) + 0, LEAST(t, 1.5, '2') + 0, LEAST(y, 'x') + 0, GREATEST(y, '99') | 0, LEAST('10', '9') + 0, LEAST(t, 'abc') * 2 FROM x ORDER BY id;
SELECT STRCMP(b, 'a'), STRCMP('a', b), STRCMP(1, b), b LIKE 'a', 'A' LIKE b, CONCAT(b) = 'a', LOWER(b), b REGEXP 'a', FIND_IN_SET('a', b), FIELD('a', b, 'A') FROM x ORDER BY id;
SELECT CHARSET(b), COERCIBILITY(b), COERCIBILITY(CONCAT(b)), COLLATION(CONCAT(b, 'x')), COLLATION(CONCAT(b, v)), COLLATION(LPAD(b, 3, 'x')), COLLATION(CONCAT_WS(b, 'x', 'y')), COLLATION(LEFT(b, 1)), COLLATION(HEX(b)) FROM x WHERE id = 2;
DROP TABLE x;
CREATE TABLE z (id INT PRIMARY KEY, t TIME(2), dt DATETIME(2), d DATE);
INSERT INTO z VALUES (1, '838:59:59', '2024-02-29 12:34:56.78', '2024-02-29'), (2, '-00:00:10', '2024-01-01 00:00:00', '2024-01-01'), (3, '00:00:10', '1999-12-31 23:59:59.99', NULL);
SELECT IF(id >= 100, TIME'-00:00:01.5', DATE'2024-02-29') + 0, IF(id > 1, t, d) * 1, CASE WHEN id < 3 THEN t ELSE dt END + 0, CASE id WHEN 1 THEN d WHEN 7 THEN dt ELSE t END + 0, IF(id > 1, d, dt) - 0, -IF(id > 1, t, d), IFNULL(d, dt) + 0 FROM z ORDER BY id;
DROP TABLE z;
