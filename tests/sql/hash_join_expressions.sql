CREATE DATABASE hash_expressions;
USE hash_expressions;
CREATE TABLE orders (id INT PRIMARY KEY, ref VARCHAR(20), at DATETIME(3), amount DECIMAL(8,2), note TEXT);
CREATE TABLE payments (id INT PRIMARY KEY, order_no BIGINT UNSIGNED, code VARCHAR(20) COLLATE utf8mb4_bin, day DATE, paid DOUBLE, took TIME);
INSERT INTO orders VALUES (1,'A-1','2024-01-01 10:00:00',10,'x'), (2,'a-1','2024-01-01 23:59:59.999',20.5,NULL), (3,'7','2024-01-02',7,'7'), (4,NULL,NULL,NULL,''), (5,'007','2024-02-29 12:00:00.5',0.1,'A-1');
INSERT INTO payments VALUES (1,1,'A-1','2024-01-01',10,'10:00:00'), (2,7,'a-1','2024-01-02',20.5,'23:59:59'), (3,18446744073709551615,'7','2024-02-29',7,NULL), (4,NULL,NULL,NULL,NULL,'00:00:00'), (5,2,'B','2024-03-01',0.1,'12:00:00');
-- A number and a text; two numbers of which one is computed.
SELECT o.id, p.id FROM orders o JOIN payments p ON o.ref = p.order_no ORDER BY 1, 2;
SELECT o.id, p.id FROM orders o JOIN payments p ON o.id + 1 = p.id ORDER BY 1, 2;
SELECT o.id, p.id FROM orders o JOIN payments p ON o.id * 2 = p.order_no + 1 ORDER BY 1, 2;
SELECT o.id, p.id FROM orders o JOIN payments p ON o.amount = p.paid ORDER BY 1, 2;
SELECT o.id, p.id FROM orders o JOIN payments p ON o.amount + 0 = p.paid ORDER BY 1, 2;
SELECT o.id, p.id FROM orders o JOIN payments p ON -o.id = -p.id AND o.id < 3 ORDER BY 1, 2;
-- Texts under either collation.
SELECT o.id, p.id FROM orders o JOIN payments p ON LOWER(o.ref) = LOWER(p.code) ORDER BY 1, 2;
SELECT o.id, p.id FROM orders o JOIN payments p ON o.ref = p.code ORDER BY 1, 2;
SELECT o.id, p.id FROM orders o JOIN payments p ON CONCAT(o.ref, '') = CONVERT(p.code USING utf8mb4) COLLATE utf8mb4_0900_ai_ci ORDER BY 1, 2;
SELECT o.id, p.id FROM orders o JOIN payments p ON LEFT(o.ref, 1) = LEFT(p.code, 1) ORDER BY 1, 2;
SELECT o.id, p.id FROM orders o JOIN payments p ON IFNULL(o.note, 'B') = p.code ORDER BY 1, 2;
-- Moments and times.
SELECT o.id, p.id FROM orders o JOIN payments p ON DATE(o.at) = p.day ORDER BY 1, 2;
SELECT o.id, p.id FROM orders o JOIN payments p ON o.at = p.day ORDER BY 1, 2;
SELECT o.id, p.id FROM orders o JOIN payments p ON TIME(o.at) = p.took ORDER BY 1, 2;
SELECT o.id, p.id FROM orders o JOIN payments p ON YEAR(o.at) = YEAR(p.day) AND MONTH(o.at) = MONTH(p.day) ORDER BY 1, 2;
SELECT o.id, p.id FROM orders o JOIN payments p ON DATE_FORMAT(o.at, '%Y-%m') = DATE_FORMAT(p.day, '%Y-%m') ORDER BY 1, 2;
-- NULL meets NULL, and nothing.
SELECT o.id, p.id FROM orders o JOIN payments p ON o.amount * 1 <=> p.paid * 1 ORDER BY 1, 2;
SELECT o.id, p.id FROM orders o LEFT JOIN payments p ON o.id + 0 = p.order_no + 0 AND p.paid > 5 ORDER BY 1, 2;
SELECT o.id FROM orders o WHERE EXISTS (SELECT 1 FROM payments p WHERE p.order_no + 0 = o.id + 0) ORDER BY 1;
SELECT o.id FROM orders o WHERE NOT EXISTS (SELECT 1 FROM payments p WHERE p.order_no + 0 = o.id + 0) ORDER BY 1;
SELECT o.id FROM orders o WHERE UPPER(o.ref) IN (SELECT UPPER(p.code) FROM payments p) ORDER BY 1;
SELECT o.id FROM orders o WHERE UPPER(o.ref) NOT IN (SELECT UPPER(p.code) FROM payments p WHERE p.code IS NOT NULL) ORDER BY 1;
-- Numbers that a double cannot tell apart.
CREATE TABLE large (n BIGINT UNSIGNED, d DECIMAL(30,0));
INSERT INTO large VALUES (18446744073709551615, 18446744073709551614), (18446744073709551614, 18446744073709551615), (9007199254740993, 9007199254740992);
SELECT a.n, b.d FROM large a JOIN large b ON a.n = b.d ORDER BY 1, 2;
SELECT a.n, b.n FROM large a JOIN large b ON a.n - 1 = b.n + 0 ORDER BY 1, 2;
-- What each row has anew is not hashed.
SET @n = 0;
SELECT COUNT(*) FROM orders o JOIN payments p ON o.id + 0 = p.id + (@n := @n + 0);
SELECT COUNT(*) < 26 FROM orders o JOIN payments p ON o.id = p.id + FLOOR(RAND() * 0);
-- No index serves an equality of expressions: such changes are not safe.
CREATE TABLE texts (id INT PRIMARY KEY, s VARCHAR(20), x INT, KEY (s));
CREATE TABLE numbers (n INT, m INT, KEY (n));
INSERT INTO texts WITH RECURSIVE r (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 400) SELECT n, n, 0 FROM r;
INSERT INTO numbers SELECT id, id FROM texts;
ANALYZE TABLE texts, numbers;
SET sql_safe_updates = 1;
UPDATE texts JOIN numbers ON LOWER(texts.s) = numbers.m SET texts.x = 2;
DELETE texts FROM texts JOIN numbers ON texts.s + 1 = numbers.m;
SET sql_safe_updates = 0;
UPDATE texts JOIN numbers ON texts.s = numbers.m + 1 SET texts.x = 3 WHERE numbers.m < 10;
SELECT x, COUNT(*) FROM texts GROUP BY x ORDER BY x;
DELETE texts FROM texts JOIN numbers ON texts.s + 1 = numbers.m AND numbers.m % 2 = 0;
SELECT COUNT(*), MIN(id), MAX(id) FROM texts;
DROP DATABASE hash_expressions;
