-- Accounts, roles and servers of which there are none.
DROP USER IF EXISTS a, b@localhost;
DROP USER a, b@localhost;
-- limpid only: names the peer's own root
DROP USER root@localhost;
DROP ROLE IF EXISTS a;
DROP ROLE a, b;
ALTER USER IF EXISTS nope IDENTIFIED BY 'x';
ALTER USER nope IDENTIFIED BY 'x';
RENAME USER nope TO nope2;
SET PASSWORD FOR nope = 'x';
GRANT SELECT ON *.* TO nope;
-- limpid only: names the peer's own root
GRANT SELECT ON *.* TO root@localhost;
GRANT r TO nope;
REVOKE SELECT ON *.* FROM nope;
REVOKE IF EXISTS SELECT ON *.* FROM nope IGNORE UNKNOWN USER;
REVOKE ALL PRIVILEGES, GRANT OPTION FROM nope;
SHOW GRANTS FOR nope;
SHOW CREATE USER nope@localhost;
SHOW CREATE USER;
SET ROLE NONE;
SET ROLE DEFAULT;
SET ROLE ALL;
SET ROLE ALL EXCEPT nope;
SET ROLE nope;
-- limpid only: names the peer's own root
SET DEFAULT ROLE NONE TO root@localhost;
-- limpid only: names the peer's own root
SET DEFAULT ROLE nope TO root@localhost;
DROP SERVER IF EXISTS s;
DROP SERVER s;
ALTER SERVER s OPTIONS (USER 'x');
DROP TABLESPACE nope ENGINE=InnoDB;
DROP UNDO TABLESPACE nope;
DROP RESOURCE GROUP nope;
SET RESOURCE GROUP nope;
UNINSTALL PLUGIN nope;
SHOW PROFILES;
SHOW PROFILE CPU, BLOCK IO FOR QUERY 3 LIMIT 2;
SHOW BINLOG EVENTS;
RESET PERSIST nope;
RESET PERSIST IF EXISTS nope;
-- limpid only: a peer would keep it in its data folder
SET PERSIST_ONLY version = 'x';
PREPARE s FROM 'DROP USER IF EXISTS nope';
EXECUTE s;
PREPARE s FROM 'DROP ROLE IF EXISTS x';
PREPARE s FROM 'DROP SERVER IF EXISTS nope';
ALTER DATABASE nope CHARSET latin1;
-- limpid only: READ ONLY = 1 is not there yet (1235)
ALTER DATABASE absent_accounts READ ONLY = 1;
ALTER DATABASE absent_accounts READ ONLY = 0;
