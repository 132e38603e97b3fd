-- What EXPLAIN says of how many rows pass: at least one of the table's, and what it knows of changes. Recorded from MySQL, without note 1003.
SET sql_notes = 0; CREATE TABLE t (id INT PRIMARY KEY, g INT, v INT, s VARCHAR(20), KEY g (g)) STATS_AUTO_RECALC=0;
INSERT INTO t SELECT n, n % 3, n, CONCAT('x', n) FROM (WITH RECURSIVE r AS (SELECT 1 n UNION ALL SELECT n+1 FROM r WHERE n < 200) SELECT n FROM r) q;
ANALYZE TABLE t;
EXPLAIN SELECT * FROM t WHERE v = 5;
EXPLAIN SELECT * FROM t WHERE v = 5 AND s = 'x';
EXPLAIN SELECT * FROM t WHERE v = 5 AND s = 'x' AND id > 190;
EXPLAIN SELECT * FROM t WHERE id < 4 AND v = 3;
EXPLAIN DELETE FROM t WHERE v = 5;
EXPLAIN UPDATE t SET v = 1 WHERE v = 5 AND s LIKE 'x%';
EXPLAIN UPDATE t SET v = 1 WHERE id < 5 AND s LIKE 'x%';
