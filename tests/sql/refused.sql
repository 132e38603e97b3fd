SELECT FROM;
SELEC 1;
SELECT 1 FROM nope;
SELECT nope;
SELECT * FROM no_such_database.t;
CREATE TABLE t (id INT PRIMARY KEY, c INT);
SELECT nope FROM t;
SELECT * FROM t WHERE nope = 1;
SELECT * FROM t ORDER BY nope;
SELECT c, COUNT(*) FROM t;
SELECT c, COUNT(*) FROM t GROUP BY id;
SELECT id, COUNT(*) FROM t GROUP BY c;
SELECT COUNT(*) FROM t WHERE COUNT(*) > 1;
SELECT id FROM t FORCE INDEX (nope) WHERE id = 1;
SET no_such_variable = 1;
SELECT @@no_such_variable;
-- limpid: not there yet (1235)
SET lc_time_names = 'de_DE';
-- limpid: not there yet (1235)
SET SESSION sql_auto_is_null = 1;
-- limpid only: not there yet (1235)
SET GLOBAL sync_binlog = 0;
-- limpid: not there yet (1235)
SET sql_generate_invisible_primary_key = 1;
SET lc_time_names = 'en_US';
