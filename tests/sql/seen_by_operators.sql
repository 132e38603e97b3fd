-- What operators look at: engines, TLS, what clients say of themselves, variables of a binary log that there is not.
-- limpid: MEMORY and MyISAM are served by InnoDB, the other engines are not there
SELECT ENGINE, SUPPORT, COMMENT, TRANSACTIONS, XA, SAVEPOINTS FROM information_schema.ENGINES ORDER BY ENGINE;
-- limpid: there is no TLS
SHOW STATUS LIKE 'Ssl%';
-- limpid: nothing is kept for the tables of the Performance Schema
SHOW ENGINE PERFORMANCE_SCHEMA STATUS;
SELECT ATTR_NAME, ATTR_VALUE FROM performance_schema.session_account_connect_attrs WHERE PROCESSLIST_ID = CONNECTION_ID() AND ATTR_NAME IN ('_os', '_client_name') ORDER BY ATTR_NAME;
SELECT COUNT(*) > 0 FROM performance_schema.session_connect_attrs WHERE PROCESSLIST_ID = CONNECTION_ID();
SHOW CREATE TABLE performance_schema.session_account_connect_attrs;
SHOW CREATE TABLE performance_schema.session_connect_attrs;
SET sql_log_bin = 0;
SELECT @@sql_log_bin;
SET sql_log_bin = 1;
SET SESSION binlog_format = MIXED;
SET SESSION binlog_row_image = MINIMAL;
BEGIN;
SET sql_log_bin = 0;
SET SESSION binlog_format = ROW;
SET SESSION binlog_row_image = FULL;
ROLLBACK;
SET SESSION binlog_format = DEFAULT;
SET gtid_next = 'AUTOMATIC';
SET SESSION gtid_mode = OFF;
SET SESSION gtid_purged = '';
SET SESSION sync_binlog = 1;
CREATE TABLE s (id INT PRIMARY KEY, a TEXT, b BLOB, c VARCHAR(5000));
INSERT INTO s VALUES (1, 'aaaaaaaazzz', 'aaaaaaaazzz', 'aaaaaaaazzz'), (2, 'aaaaaaaab', 'aaaaaaaab', 'aaaaaaaab'), (3, 'aaaaaaaaa', 'aaaaaaaaa', 'aaaaaaaaa');
SET max_sort_length = 4;
SELECT id FROM s ORDER BY a;
SELECT id FROM s ORDER BY b DESC;
SELECT id FROM s ORDER BY c;
SELECT GROUP_CONCAT(id ORDER BY b) FROM s;
SET max_sort_length = DEFAULT;
DROP SERVER IF EXISTS nope;
