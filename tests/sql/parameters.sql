# A parameter's collation yields to a column's, whatever the connection's is.
SET NAMES utf8mb4 COLLATE utf8mb4_general_ci;
CREATE TABLE cc (s VARCHAR(30) COLLATE utf8mb4_0900_ai_ci, b VARCHAR(30) COLLATE utf8mb4_bin, KEY (s));
INSERT INTO cc VALUES ('a', 'a'), ('B', 'B'), ('c', 'c');
SET @a = 'A', @b = 'b', @p = 'B%';
PREPARE p FROM 'SELECT s FROM cc WHERE s = ? ORDER BY s'; EXECUTE p USING @a;
PREPARE p FROM 'SELECT s FROM cc WHERE s IN (?, ?) ORDER BY s'; EXECUTE p USING @a, @b;
PREPARE p FROM 'SELECT s FROM cc WHERE s LIKE ? ORDER BY s'; EXECUTE p USING @p;
PREPARE p FROM 'SELECT s FROM cc WHERE s BETWEEN ? AND ? ORDER BY s'; EXECUTE p USING @a, @b;
PREPARE p FROM 'SELECT s FROM cc WHERE b = ? OR ? < b ORDER BY s'; EXECUTE p USING @a, @b;
PREPARE p FROM 'UPDATE cc SET s = CONCAT(s, ?) WHERE s = ?'; EXECUTE p USING @p, @b;
PREPARE p FROM 'SELECT s FROM cc WHERE (s, b) = (?, ?)'; EXECUTE p USING @a, @a;
SELECT s FROM cc ORDER BY s;
SET NAMES utf8mb4;
# A number keeps its digits as text.
SET @f = 2.5e0, @d = 2.50, @i = 7, @u = 18446744073709551615, @s = 'xyz', @big = 1e30, @small = 0.1e0;
PREPARE p FROM 'SELECT CONCAT(?, 1), UPPER(?), LEFT(?, 2), LENGTH(?)'; EXECUTE p USING @f, @f, @f, @f;
EXECUTE p USING @d, @d, @d, @d;
EXECUTE p USING @s, @s, @s, @s;
EXECUTE p USING @i, @u, @big, @small;
PREPARE p FROM 'SELECT REPLACE(?, ".", ","), LPAD(?, 6, "*"), TRIM(?), CAST(? AS CHAR), HEX(?)';
EXECUTE p USING @f, @f, @f, @f, @f;
PREPARE p FROM 'SELECT GROUP_CONCAT(?), ? LIKE "2.5", INSTR(?, ".")'; EXECUTE p USING @f, @f, @f;
CREATE TABLE kept (s VARCHAR(40), i INT, f DOUBLE, d DECIMAL(10, 3), t DATETIME, j JSON);
PREPARE p FROM 'INSERT INTO kept (s) VALUES (?), (CONCAT(?, "")), (UPPER(?))'; EXECUTE p USING @f, @f, @f;
SELECT s FROM kept;
PREPARE p FROM 'UPDATE kept SET s = ?, i = ?, f = ?, d = ?'; EXECUTE p USING @f, @i, @f, @d;
SELECT DISTINCT s, i, f, d FROM kept;
# WITH does not count its parameters twice.
SET @one = 1, @two = 2;
PREPARE p FROM 'WITH c AS (SELECT ? x) SELECT x FROM c'; EXECUTE p USING @one;
PREPARE p FROM 'WITH c AS (SELECT ? x), e AS (SELECT ? y) SELECT x, y, ? FROM c, e WHERE x = ?';
EXECUTE p USING @one, @two, @s, @one;
PREPARE p FROM 'WITH c AS (SELECT ? x) SELECT x FROM c'; EXECUTE p USING @one, @two;
# Types come from what stands beside the parameter, and from the values.
SET @m = 18446744073709551614, @neg = -5, @t = '2.5', @n = NULL;
PREPARE p FROM 'SELECT ? + 1'; EXECUTE p USING @i; EXECUTE p USING @m; EXECUTE p USING @f; EXECUTE p USING @i;
PREPARE p FROM 'SELECT ? + 1'; EXECUTE p USING @t; EXECUTE p USING @i;
PREPARE p FROM 'SELECT ? + 1'; EXECUTE p USING @s; EXECUTE p USING @n;
PREPARE p FROM 'SELECT ? * 2.5'; EXECUTE p USING @i; EXECUTE p USING @f;
PREPARE p FROM 'SELECT -?'; EXECUTE p USING @neg; EXECUTE p USING @i;
PREPARE p FROM 'SELECT ? + 1'; EXECUTE p USING @u;
PREPARE p FROM 'SELECT ?'; EXECUTE p USING @s; EXECUTE p USING @i; EXECUTE p USING @s; EXECUTE p USING @f;
PREPARE p FROM 'SELECT IFNULL(?, 7), IF(1, ?, 0), LEAST(?, 3), MAX(?)'; EXECUTE p USING @i, @i, @i, @i;
EXECUTE p USING @f, @n, @f, @f;
PREPARE p FROM 'SELECT ? UNION SELECT 2'; EXECUTE p USING @i; EXECUTE p USING @f;
SET @day = '2020-01-31', @moment = '2020-01-31 10:11:12', @number = 20200131, @none = 'none';
PREPARE p FROM 'SELECT DATE_ADD(?, INTERVAL 1 DAY), ? + INTERVAL ? MONTH';
EXECUTE p USING @day, @day, @one; EXECUTE p USING @moment, @day, @two; EXECUTE p USING @none, @number, @one;
# Text that is compared with numbers is read as a number.
CREATE TABLE ids (id INT PRIMARY KEY, s VARCHAR(10), t DATETIME, KEY (t));
INSERT INTO ids VALUES (1, '1', '2020-01-31 10:11:12'), (2, 'two', '2020-02-01'), (3, '3.5', NULL);
SET @text = '2', @cut = '2x', @half = '1.5';
PREPARE p FROM 'SELECT id FROM ids WHERE id = ?';
EXECUTE p USING @text; EXECUTE p USING @half; EXECUTE p USING @two; EXECUTE p USING @n;
PREPARE p FROM 'SELECT id FROM ids WHERE id IN (?, ?)'; EXECUTE p USING @text, @one;
PREPARE p FROM 'SELECT id FROM ids WHERE s = ?'; EXECUTE p USING @half; EXECUTE p USING @one;
PREPARE p FROM 'SELECT id FROM ids WHERE t >= ? ORDER BY id';
EXECUTE p USING @moment; EXECUTE p USING @number; EXECUTE p USING @day;
PREPARE p FROM 'SELECT id FROM ids ORDER BY id LIMIT ?'; EXECUTE p USING @two;
# One parameter's type hangs on another's.
SET @three = 3;
PREPARE p FROM 'SELECT id * ? / ?, ? DIV ?, ? + 1.5 + ? FROM ids WHERE id = 2';
EXECUTE p USING @two, @three, @i, @two, @one, @two;
PREPARE p FROM 'SELECT TIMESTAMPADD(DAY, ?, ?), LEAD(id, ?, ?) OVER (ORDER BY id) FROM ids LIMIT 2';
EXECUTE p USING @two, @day, @one, @three;
# What is selected to be stored is of the column's type, whatever came before.
PREPARE p FROM 'INSERT INTO kept (s, f) SELECT ?, ?';
EXECUTE p USING @f, @one; EXECUTE p USING @s, @f; EXECUTE p USING @i, @half; EXECUTE p USING @d, @d;
PREPARE p FROM 'INSERT INTO kept (i, s) VALUES (?, ?) ON DUPLICATE KEY UPDATE s = ?';
EXECUTE p USING @i, @f, @f; EXECUTE p USING @text, @i, @one;
SELECT s, f, i FROM kept;
PREPARE p FROM 'SELECT ?, JSON_ARRAY(?)'; EXECUTE p USING @d, @d;
# Documents.
CREATE TABLE docs (id INT PRIMARY KEY, j JSON);
INSERT INTO docs VALUES (1, '1'), (2, '"x"'), (3, '{"a": 1}'), (4, '2.5');
SET @x = 'x', @doc = '{"a": 1}';
PREPARE p FROM 'SELECT id FROM docs WHERE j = ?'; EXECUTE p USING @x; EXECUTE p USING @one;
PREPARE p FROM 'SELECT id FROM docs WHERE j IN (?, ?) ORDER BY id'; EXECUTE p USING @one, @x;
PREPARE p FROM 'SELECT CAST(? AS JSON)';
EXECUTE p USING @one; EXECUTE p USING @doc; EXECUTE p USING @f; EXECUTE p USING @x;
PREPARE p FROM 'SELECT id FROM docs WHERE j = CAST(? AS JSON)'; EXECUTE p USING @doc;
DEALLOCATE PREPARE p;
