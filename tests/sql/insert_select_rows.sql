-- Rows of INSERT ... SELECT are inserted as they are read: numbers, counts, what is left out.
CREATE TABLE src (id INT PRIMARY KEY, v INT, w VARCHAR(10));
INSERT INTO src VALUES (1, 10, 'a'), (2, 20, 'b'), (3, 10, 'c'), (4, 40, '5x'), (5, 50, '6');
CREATE TABLE dst (n INT PRIMARY KEY AUTO_INCREMENT, v INT UNIQUE, w INT);
INSERT INTO dst (v) SELECT v FROM src;
SELECT LAST_INSERT_ID(), ROW_COUNT();
SELECT * FROM dst;
INSERT INTO dst (v) VALUES (1000);
SELECT n FROM dst;
TRUNCATE dst;
INSERT IGNORE INTO dst (v) SELECT v FROM src;
SELECT LAST_INSERT_ID(), ROW_COUNT();
SELECT * FROM dst;
INSERT INTO dst (v) VALUES (1000);
SELECT n FROM dst ORDER BY n;
TRUNCATE dst;
INSERT INTO dst (v, w) SELECT v, w FROM src WHERE id > 3;
SELECT * FROM dst;
INSERT IGNORE INTO dst (v, w) SELECT v, w FROM src WHERE id > 2;
SELECT * FROM dst;
TRUNCATE dst;
REPLACE INTO dst (v) SELECT v FROM src;
SELECT LAST_INSERT_ID(), ROW_COUNT();
SELECT * FROM dst;
TRUNCATE dst;
INSERT INTO dst (v) SELECT v FROM src ON DUPLICATE KEY UPDATE w = IFNULL(dst.w, 0) + src.id;
SELECT LAST_INSERT_ID(), ROW_COUNT();
SELECT * FROM dst;
-- What is read of the target does not see what is inserted.
INSERT INTO dst (v) SELECT v + 1000 FROM dst;
SELECT ROW_COUNT();
SELECT n, v FROM dst ORDER BY n;
INSERT INTO dst (v) SELECT src.v + 5000 + (SELECT COUNT(*) FROM dst) FROM src WHERE id < 3;
SELECT v FROM dst WHERE v > 5000 ORDER BY v;
INSERT INTO dst (v) SELECT v FROM src WHERE id = 5 ON DUPLICATE KEY UPDATE w = (SELECT COUNT(*) FROM src);
INSERT INTO dst (v) SELECT v + 7000 FROM src UNION ALL SELECT v + 8000 FROM src;
SELECT ROW_COUNT();
-- A common table expression, a derived table, grouping, a window, a limit, no rows.
TRUNCATE dst;
INSERT INTO dst (v, w) WITH c AS (SELECT v, COUNT(*) AS n FROM src GROUP BY v) SELECT a.v, b.n FROM c a JOIN c b ON a.v = b.v ORDER BY a.v;
INSERT INTO dst (v, w) SELECT * FROM (SELECT id + 100, v FROM src ORDER BY id DESC LIMIT 2) d;
INSERT INTO dst (v, w) SELECT id + 200, SUM(v) OVER (ORDER BY id) FROM src;
INSERT INTO dst (v, w) SELECT id + 300, v FROM src ORDER BY id DESC LIMIT 1, 2;
INSERT INTO dst (v, w) WITH RECURSIVE r AS (SELECT 400 AS i UNION ALL SELECT i + 1 FROM r WHERE i < 404) SELECT i, (SELECT MAX(id) FROM src WHERE id < i - 399) FROM r;
INSERT INTO dst (v, w) SELECT id, id FROM src WHERE id > 100;
SELECT ROW_COUNT(), LAST_INSERT_ID();
SELECT * FROM dst ORDER BY n;
-- A statement that fails takes its rows with it.
START TRANSACTION;
INSERT INTO dst (n, v) SELECT id + 1000, id FROM src;
INSERT INTO dst (n, v) SELECT id + 2000, IF(id = 4, 1, id + 500) FROM src;
SELECT COUNT(*) FROM dst WHERE n > 1000;
COMMIT;
SELECT COUNT(*) FROM dst WHERE n > 1000;
-- Numbers of a query that names its rows as VALUES does.
TRUNCATE dst;
INSERT INTO dst (v) VALUES ((SELECT MAX(id) FROM src)), ((SELECT MIN(id) FROM src));
INSERT INTO dst (v) VALUES (77);
SELECT n, v FROM dst ORDER BY n;
