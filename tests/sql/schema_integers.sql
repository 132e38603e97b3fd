-- Integers of information_schema have the types of the functions behind them, not the declared ones, where they are used.
CREATE TABLE t (a INT PRIMARY KEY, b DECIMAL(10,2), c VARCHAR(9), KEY (b));
CREATE TABLE n AS SELECT CASE data_type WHEN 'int' THEN 10 ELSE numeric_precision END a,
  IFNULL(numeric_scale, 1) d, numeric_precision + 1 e, COALESCE(NULL, numeric_precision, 0) f, IF(1, ordinal_position, 2) g
  FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = 't' ORDER BY ordinal_position;
SELECT * FROM n;
SHOW CREATE TABLE n;
CREATE TABLE s AS SELECT IFNULL(non_unique, 2) a FROM information_schema.statistics WHERE table_schema = DATABASE();
SELECT * FROM s ORDER BY 1;
SHOW CREATE TABLE s;
SELECT column_name, column_type FROM information_schema.columns WHERE table_schema = 'information_schema' AND table_name = 'COLUMNS' AND column_name LIKE 'NUMERIC%';
SELECT numeric_precision, COUNT(*), MAX(numeric_scale) FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = 't' GROUP BY numeric_precision ORDER BY numeric_precision DESC;
