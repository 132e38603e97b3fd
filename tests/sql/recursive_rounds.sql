-- Rounds of a recursion: steps that are asked again, steps that are opened again, and groups over what comes of them.

CREATE TABLE tree (id INT PRIMARY KEY, parent INT, name VARCHAR(10), weight DECIMAL(6,2), KEY (parent));
INSERT INTO tree VALUES (1, NULL, 'root', 1.50), (2, 1, 'a', 2.25), (3, 1, 'b', 0.05), (4, 2, 'c', 7), (5, 2, 'd', 1.10),
    (6, 3, 'e', 3), (7, 6, 'f', 0.01), (8, 7, 'g', 5.55), (9, 9, 'self', 1);
ANALYZE TABLE tree;

-- One row a round, many rows a round, none.
WITH RECURSIVE s (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 900) SELECT SUM(n), COUNT(*), MIN(n), MAX(n), AVG(n) FROM s;
WITH RECURSIVE s (n) AS (SELECT 1 UNION ALL SELECT n * 2 FROM s WHERE n < 100 UNION ALL SELECT n * 3 FROM s WHERE n < 100)
    SELECT COUNT(*), SUM(n), COUNT(DISTINCT n) FROM s;
WITH RECURSIVE s (n) AS (SELECT 1 UNION SELECT n * 2 FROM s WHERE n < 100 UNION SELECT n * 3 FROM s WHERE n < 100)
    SELECT COUNT(*), SUM(n) FROM s;
WITH RECURSIVE s (n) AS (SELECT 1 FROM tree WHERE id > 100 UNION ALL SELECT n + 1 FROM s WHERE n < 10) SELECT COUNT(*), SUM(n) FROM s;
WITH RECURSIVE s (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 0) SELECT n, COUNT(*) FROM s GROUP BY n;
WITH RECURSIVE s (n) AS (VALUES ROW(1), ROW(5), ROW(9) UNION ALL SELECT n + 10 FROM s WHERE n < 40)
    SELECT n % 10 d, COUNT(*), SUM(n) FROM s GROUP BY d ORDER BY d;

-- Joins: the recursion first, and behind.
WITH RECURSIVE below AS (SELECT id, name, 0 AS depth FROM tree WHERE parent IS NULL
    UNION ALL SELECT t.id, t.name, depth + 1 FROM below b JOIN tree t ON t.parent = b.id)
    SELECT depth, COUNT(*), GROUP_CONCAT(name ORDER BY name) FROM below GROUP BY depth ORDER BY depth;
WITH RECURSIVE below AS (SELECT id, CAST(name AS CHAR(100)) path FROM tree WHERE parent IS NULL
    UNION ALL SELECT t.id, CONCAT(b.path, '/', t.name) FROM tree t STRAIGHT_JOIN below b ON t.parent = b.id)
    SELECT id, path FROM below ORDER BY path;
WITH RECURSIVE below AS (SELECT id, weight FROM tree WHERE id = 2
    UNION ALL SELECT t.id, t.weight FROM below b JOIN tree t ON t.parent = b.id)
    SELECT SUM(weight), MAX(weight), COUNT(*) FROM below;
WITH RECURSIVE above AS (SELECT id, parent FROM tree WHERE id = 8
    UNION ALL SELECT t.id, t.parent FROM above a JOIN tree t ON t.id = a.parent)
    SELECT id FROM above;
WITH RECURSIVE above AS (SELECT id, parent FROM tree WHERE id = 9
    UNION SELECT t.id, t.parent FROM above a JOIN tree t ON t.id = a.parent)
    SELECT COUNT(*), SUM(id) FROM above;
WITH RECURSIVE l AS (SELECT id, 1 AS n FROM tree WHERE id = 1
    UNION ALL SELECT t.id, n + 1 FROM l LEFT JOIN tree t ON t.parent = l.id AND t.id < 7 WHERE l.id IS NOT NULL)
    SELECT n, COUNT(*), COUNT(id), SUM(id) FROM l GROUP BY n ORDER BY n;
WITH RECURSIVE s AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM s WHERE n < 5 AND EXISTS (SELECT 1 FROM tree WHERE id = n))
    SELECT SUM(n) FROM s;
WITH RECURSIVE s AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM s WHERE n <
    (WITH RECURSIVE i AS (SELECT 1 AS m UNION ALL SELECT m + 1 FROM i WHERE m < 6) SELECT MAX(m) FROM i))
    SELECT SUM(n), COUNT(*) FROM s;
SELECT id, (WITH RECURSIVE s AS (SELECT tree.id AS n UNION ALL SELECT n - 1 FROM s WHERE n > 1) SELECT SUM(n) FROM s) AS sums FROM tree ORDER BY id;

-- LIMIT, the limit of rounds, what is told.
WITH RECURSIVE s AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM s LIMIT 7) SELECT SUM(n), COUNT(*) FROM s;
WITH RECURSIVE s AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM s LIMIT 3 OFFSET 2) SELECT SUM(n), COUNT(*) FROM s;
SET cte_max_recursion_depth = 10;
WITH RECURSIVE s AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM s WHERE n < 10) SELECT SUM(n) FROM s;
WITH RECURSIVE s AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM s WHERE n < 11) SELECT SUM(n) FROM s;
WITH RECURSIVE s AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM s WHERE n < 12) SELECT SUM(n) FROM s;
SET cte_max_recursion_depth = DEFAULT;
WITH RECURSIVE s AS (SELECT CAST(1 AS SIGNED) AS n UNION ALL SELECT n * 1000000 FROM s WHERE n < 9000000000000000000) SELECT SUM(n) FROM s;

-- Twice in one statement, and prepared.
WITH RECURSIVE s AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM s WHERE n < 4)
    SELECT COUNT(*), SUM(a.n * b.n) FROM s a JOIN s b ON a.n <= b.n;
PREPARE p FROM 'WITH RECURSIVE s AS (SELECT ? AS n UNION ALL SELECT n + ? FROM s WHERE n < ?) SELECT SUM(n), COUNT(*) FROM s';
SET @a = 1, @b = 2, @c = 20;
EXECUTE p USING @a, @b, @c;
EXECUTE p USING @a, @a, @c;
SET @b = 0.5;
EXECUTE p USING @a, @b, @c;

-- Groups over nested queries: kinds, NULLs, filters, decimals of several scales, texts.
SELECT COUNT(*), SUM(w), AVG(w), MIN(n), MAX(n) FROM (SELECT DISTINCT weight w, name n FROM tree) d;
SELECT p, COUNT(*), SUM(id), MAX(weight) FROM (SELECT parent p, id, weight FROM tree LIMIT 100) d GROUP BY p ORDER BY p;
SELECT w, COUNT(*) FROM (SELECT 1.0 w UNION ALL SELECT 1.00 UNION ALL SELECT 1 UNION ALL SELECT 2.5) d GROUP BY w ORDER BY w;
SELECT t, COUNT(*) FROM (SELECT 'a' t UNION ALL SELECT 'A' UNION ALL SELECT 'b' UNION ALL SELECT NULL) d GROUP BY t ORDER BY t;
SELECT COUNT(*), COUNT(x), SUM(x) FROM (SELECT NULL x UNION ALL SELECT 3 UNION ALL SELECT NULL) d WHERE x IS NULL OR x > 1;
SELECT SUM(x), AVG(x) FROM (SELECT CAST(1.1 AS FLOAT) x UNION ALL SELECT CAST(2.2 AS FLOAT)) d;
SELECT MIN(x), MAX(x), COUNT(DISTINCT x) FROM (SELECT DATE'2020-01-01' x UNION ALL SELECT DATE'2021-02-03' UNION ALL SELECT NULL) d;
SELECT SUM(x) FROM (SELECT 9223372036854775807 x UNION ALL SELECT 1) d;
SELECT SUM(x + 1) FROM (SELECT 9223372036854775807 x UNION ALL SELECT 1) d;
SELECT COUNT(*) FROM (SELECT id FROM tree LIMIT 4) d;
SELECT COUNT(*) FROM (SELECT id FROM tree LIMIT 0) d;
SELECT p, SUM(id) s FROM (SELECT parent p, id FROM tree LIMIT 100) d GROUP BY p WITH ROLLUP HAVING s > 4;
SELECT t.id, l.s FROM tree t, LATERAL (SELECT SUM(x) s FROM (SELECT id x FROM tree c WHERE c.parent = t.id LIMIT 9) d) l ORDER BY t.id;
SELECT t.id FROM tree t WHERE t.id = (SELECT MAX(x) FROM (SELECT id x FROM tree LIMIT 3) d) + t.id - 3 ORDER BY t.id;
SELECT SUM(1 / (x - 1)) FROM (SELECT 1 x UNION ALL SELECT 2) d;
DROP TABLE tree;

-- A nested query that assigns is there before who reads what it assigned; names in messages; orders that are forced.
CREATE TABLE t (id INT PRIMARY KEY); INSERT INTO t VALUES (1), (2), (3), (4), (5), (6), (7);
SET @n = 100;
SELECT SUM(@n) FROM (SELECT @n := id AS n FROM t) d;
SELECT COUNT(*), SUM(@n) FROM (SELECT @n := id AS n FROM t) d;
SELECT n, @n FROM (SELECT @n := id AS n FROM t) d;
SELECT COUNT(*) FROM (SELECT @n := id AS n FROM t) d WHERE @n <= 5;
SET @r = 0;
SELECT * FROM (SELECT @r := @r + 1 AS r, id FROM t ORDER BY id DESC) a LIMIT 2;
SELECT @r;
SET @r = 0;
SELECT t.id, (SELECT MAX(r) FROM (SELECT @r := @r + 1 AS r FROM t LIMIT 3) d) m FROM t WHERE id < 3 ORDER BY id;
SELECT SUM(y + 1) FROM (SELECT x AS y FROM (SELECT 9223372036854775807 x UNION SELECT 1) e) d;
SELECT SUM(a + 1) FROM (SELECT 9223372036854775807 x UNION SELECT 1) d (a);
SELECT * FROM (SELECT id FROM t LIMIT 3) d WHERE id > 1/0;
WITH RECURSIVE below AS (SELECT 1 id UNION ALL SELECT STRAIGHT_JOIN b.id + 1 FROM t, below b WHERE t.id = b.id AND b.id < 3) SELECT * FROM below;
WITH RECURSIVE below AS (SELECT 1 id UNION ALL SELECT STRAIGHT_JOIN b.id + 1 FROM below b, t WHERE t.id = b.id AND b.id < 3) SELECT * FROM below;
DROP TABLE t;
