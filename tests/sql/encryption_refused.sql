-- Nothing is encrypted at rest: what asks for it is refused, as by a MySQL without a keyring.
-- limpid: one error is listed where MySQL lists two (docs/limits.md)
CREATE TABLE e (a INT) ENCRYPTION='Y';
-- limpid: one error is listed where MySQL lists two (docs/limits.md)
CREATE TABLE e (a INT) ENCRYPTION='x';
-- limpid: one error is listed where MySQL lists two (docs/limits.md)
CREATE TABLE e (a INT) ENCRYPTION='';
CREATE TABLE e (a INT) ENCRYPTION='N';
-- limpid: one error is listed where MySQL lists two (docs/limits.md)
ALTER TABLE e ENCRYPTION='y';
ALTER TABLE e ENCRYPTION='n';
SHOW CREATE TABLE e;
DROP TABLE e;
