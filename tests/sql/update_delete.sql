SET time_zone = '+00:00';
SET timestamp = 1700000000;
CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT NOT NULL, c VARCHAR(10), UNIQUE KEY a (a), KEY c (c));
INSERT INTO t VALUES (1,10,1,'one'),(2,20,2,'two'),(3,30,3,'three'),(4,40,4,'four'),(5,NULL,5,NULL);
-- counts
UPDATE t SET b = b + 1;
UPDATE t SET b = b;
UPDATE t SET b = 100 WHERE id = 3;
UPDATE t SET b = 100 WHERE id = 3;
UPDATE t SET b = 0 WHERE id = 99;
UPDATE t SET b = 7 WHERE a > 15 AND a < 35;
SELECT * FROM t ORDER BY id;
-- left to right
UPDATE t SET b = b + 1, a = b, c = a WHERE id = 1;
SELECT * FROM t WHERE id = 1;
UPDATE t SET a = 10, a = 11 WHERE id = 1;
SELECT * FROM t WHERE id = 1;
-- ORDER BY and LIMIT
UPDATE t SET c = 'x' ORDER BY id DESC LIMIT 2;
UPDATE t SET c = 'y' LIMIT 0;
UPDATE t SET c = 'z' ORDER BY a, id LIMIT 1;
SELECT * FROM t ORDER BY id;
-- primary keys move
UPDATE t SET id = id + 1;
UPDATE t SET id = id + 1 ORDER BY id DESC;
UPDATE t SET id = id + 10 WHERE id > 3;
SELECT id FROM t ORDER BY id;
UPDATE t SET a = a + 10;
UPDATE t SET a = a + 10 ORDER BY a DESC;
SELECT id, a FROM t ORDER BY id;
-- aliases and qualified names
UPDATE t AS x SET x.b = x.b + 1 WHERE x.id = 2;
UPDATE t x SET b = 3 WHERE t.id = 2;
UPDATE t SET t.b = 4 WHERE t.id = 2;
UPDATE update_delete.t SET update_delete.t.b = 5 WHERE id = 2;
UPDATE t SET other.b = 4;
-- NULL and defaults
UPDATE t SET b = NULL;
UPDATE t SET b = NULL WHERE id = 2;
UPDATE IGNORE t SET b = NULL WHERE id = 2;
SELECT b FROM t WHERE id = 2;
SET sql_mode = '';
UPDATE t SET b = NULL WHERE id = 3;
UPDATE t SET b = 'abc' WHERE id = 3;
UPDATE t SET c = 'much too long for it' WHERE id = 3;
UPDATE t SET b = 99999999999 WHERE id = 3;
SELECT * FROM t WHERE id = 3;
SET sql_mode = DEFAULT;
UPDATE t SET b = 'abc' WHERE id = 3;
UPDATE t SET c = 'much too long for it' WHERE id = 3;
UPDATE t SET b = 99999999999 WHERE id = 3;
UPDATE t SET b = DEFAULT WHERE id = 3;
UPDATE t SET a = DEFAULT WHERE id = 3;
SELECT * FROM t WHERE id = 3;
-- duplicates
UPDATE t SET a = 60 WHERE id = 2;
UPDATE t SET a = 50 WHERE id = 2;
UPDATE IGNORE t SET a = 50 WHERE id = 2;
UPDATE IGNORE t SET id = 2;
SELECT id, a FROM t ORDER BY id;
-- names that are not there
UPDATE t SET nope = 1;
UPDATE t SET nope = 1 WHERE nope2 = 1;
UPDATE t SET b = nope;
UPDATE t SET b = 1 ORDER BY nope;
UPDATE nope SET b = 1;
UPDATE t SET b = SUM(a);
UPDATE t SET b = 1 WHERE SUM(a) > 1;
UPDATE t SET b = (1, 2);
DELETE FROM t WHERE nope = 1;
DELETE FROM t ORDER BY nope;
DELETE FROM nope;
-- subqueries
CREATE TABLE s (id INT PRIMARY KEY, n INT);
INSERT INTO s VALUES (2, 200), (3, 300), (13, 1300);
UPDATE t SET b = (SELECT n FROM s WHERE s.id = t.id) WHERE id IN (SELECT id FROM s);
SELECT id, b FROM t ORDER BY id;
UPDATE t SET b = (SELECT MAX(n) FROM s), c = (SELECT COUNT(*) FROM s) WHERE id = 2;
UPDATE t SET c = (SELECT n FROM s);
UPDATE t SET b = 0 WHERE EXISTS (SELECT * FROM s WHERE s.id = t.id AND n > 250);
UPDATE t SET b = 1 WHERE NOT EXISTS (SELECT * FROM s WHERE s.id = t.id);
SELECT id, b, c FROM t ORDER BY id;
UPDATE t SET b = (SELECT MAX(b) FROM t);
UPDATE t SET b = 1 WHERE id IN (SELECT id FROM t);
DELETE FROM t WHERE id = (SELECT MAX(id) FROM t);
UPDATE t x SET b = 1 WHERE id IN (SELECT id FROM t);
UPDATE t SET b = (SELECT MAX(b) + 1 FROM (SELECT b FROM t) d) WHERE id = 2;
SELECT id, b FROM t WHERE id = 2;
DELETE FROM t WHERE id IN (SELECT d.id FROM (SELECT id FROM t WHERE b = 1) d) LIMIT 1;
SELECT id FROM t ORDER BY id;
-- WITH
WITH d AS (SELECT id FROM s WHERE n > 250) UPDATE t SET b = 77 WHERE id IN (SELECT id FROM d);
WITH d AS (SELECT id FROM s WHERE n > 250) DELETE FROM t WHERE id IN (SELECT id FROM d);
SELECT id, b FROM t ORDER BY id;
-- DELETE
INSERT INTO t (id, a, b) VALUES (101, 101, 1), (102, 102, 1), (103, 103, 2), (104, 104, 2);
DELETE FROM t WHERE id = 101;
DELETE FROM t WHERE id = 101;
DELETE FROM t WHERE b = 1 AND id > 100;
DELETE LOW_PRIORITY QUICK IGNORE FROM t WHERE id = 103;
DELETE FROM t AS x WHERE x.id = 104;
DELETE FROM t ORDER BY id DESC LIMIT 1;
SELECT id FROM t ORDER BY id;
DELETE FROM t LIMIT 0;
DELETE FROM t;
DELETE FROM t;
SELECT COUNT(*) FROM t;
-- generated columns and checks
CREATE TABLE g (id INT PRIMARY KEY, n INT, d INT AS (n * 2), e INT AS (n + 1) STORED, CHECK (n < 100), KEY e (e));
INSERT INTO g (id, n) VALUES (1, 1), (2, 2), (3, NULL);
UPDATE g SET n = n + 1;
SELECT * FROM g ORDER BY id;
UPDATE g SET n = 100 WHERE id = 1;
UPDATE IGNORE g SET n = n * 40;
SELECT * FROM g ORDER BY id;
UPDATE g SET d = 5;
UPDATE g SET d = DEFAULT, n = 5 WHERE id = 1;
SELECT * FROM g WHERE e = 6;
DELETE FROM g WHERE d = 10;
SELECT * FROM g ORDER BY id;
-- ON UPDATE
CREATE TABLE u (id INT PRIMARY KEY, n INT, ts TIMESTAMP NULL ON UPDATE CURRENT_TIMESTAMP, dt DATETIME(3) ON UPDATE CURRENT_TIMESTAMP(3), x INT DEFAULT (3 + 4));
INSERT INTO u (id, n) VALUES (1, 1), (2, 2);
UPDATE u SET n = 1;
SELECT * FROM u ORDER BY id;
UPDATE u SET n = 9, ts = '2001-01-01 00:00:00' WHERE id = 1;
SELECT * FROM u ORDER BY id;
UPDATE u SET x = 1;
UPDATE u SET x = DEFAULT WHERE id = 2;
SELECT id, x FROM u ORDER BY id;
-- a table without a key
CREATE TABLE k (a INT, b TEXT);
INSERT INTO k VALUES (1, REPEAT('x', 20000)), (1, 'y'), (2, 'z'), (NULL, NULL);
UPDATE k SET a = a + 1 WHERE LENGTH(b) = 1;
UPDATE k SET b = CONCAT(b, '!') ORDER BY a DESC LIMIT 2;
SELECT a, LENGTH(b), RIGHT(b, 2) FROM k ORDER BY a, LENGTH(b);
DELETE FROM k WHERE a IS NULL OR a = 3;
SELECT a, LENGTH(b) FROM k ORDER BY a, LENGTH(b);
-- AUTO_INCREMENT
CREATE TABLE i (id INT AUTO_INCREMENT PRIMARY KEY, n INT);
INSERT INTO i (n) VALUES (1), (2);
UPDATE i SET id = 50 WHERE id = 2;
INSERT INTO i (n) VALUES (3);
SELECT * FROM i ORDER BY id;
-- user variables and LIMIT
SET @n = 0;
UPDATE i SET n = @n + 10 ORDER BY id DESC;
SELECT * FROM i ORDER BY id;
UPDATE i SET n = 1 LIMIT 1, 2;
UPDATE i SET n = 1 LIMIT -1;
PREPARE p FROM 'UPDATE i SET n = ? WHERE id > ? ORDER BY id LIMIT ?';
SET @a = 5, @b = 1, @c = 1;
EXECUTE p USING @a, @b, @c;
SELECT * FROM i ORDER BY id;
PREPARE p FROM 'DELETE FROM i WHERE id IN (SELECT id FROM s WHERE n > ?) OR id = ?';
EXECUTE p USING @a, @b;
SELECT * FROM i ORDER BY id;
-- transactions
START TRANSACTION;
UPDATE i SET n = 0;
DELETE FROM i WHERE id = 50;
ROLLBACK;
SELECT * FROM i ORDER BY id;
UPDATE information_schema.tables SET table_name = 'x';
DELETE FROM information_schema.tables;
