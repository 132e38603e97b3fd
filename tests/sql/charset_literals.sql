-- Literals of a client of latin1: they are read in the client's character set and become the connection's.
SET NAMES latin1;
SELECT HEX('é'), LENGTH('é'), CHAR_LENGTH('é'), 'é' = 'É', HEX(UPPER('é')), HEX(CONCAT('é', 'x'));
SELECT HEX(_utf8mb4'é'), HEX(_latin1'é'), HEX(N'é');
CREATE TABLE client(
    l VARCHAR(3) CHARACTER SET latin1 DEFAULT 'é', u VARCHAR(3) CHARACTER SET utf8mb4 DEFAULT 'é',
    e ENUM('é', 'b') CHARACTER SET latin1, c CHAR(2) CHARACTER SET utf8mb4 DEFAULT 'é');
INSERT INTO client() VALUES ();
INSERT INTO client(l, u, e, c) VALUES ('é', 'é', 'é', 'é');
SELECT HEX(l), HEX(u), HEX(e), HEX(c) FROM client;
SELECT COUNT(*) FROM client WHERE l = 'é';
SELECT COUNT(*) FROM client WHERE u = 'é';
SELECT COUNT(*) FROM client WHERE e = 'é';
SELECT COUNT(*) FROM client WHERE u LIKE '%é%';
PREPARE p FROM 'SELECT HEX(?)';
SET @e = 'é';
EXECUTE p USING @e;
CREATE VIEW text_of_client AS SELECT HEX('é') h, 'é' t;
SELECT h, HEX(t) FROM text_of_client;
SELECT HEX(DATE_FORMAT('2020-01-02', '%dé%m')), HEX(CONCAT_WS('é', 1, 2)), HEX(LPAD('a', 3, 'é')), LOCATE('é', 'aé');
SELECT HEX(JSON_UNQUOTE(JSON_EXTRACT(JSON_OBJECT('é', 'é'), '$."é"')));
SELECT HEX(GROUP_CONCAT(a SEPARATOR 'é')) FROM (SELECT 1 a UNION SELECT 2) t;
SET NAMES utf8mb4;
SELECT h, HEX(t) FROM text_of_client;
SELECT HEX(l), HEX(u), HEX(e), HEX(c) FROM client;
SELECT column_name, column_default FROM information_schema.columns
    WHERE table_schema = DATABASE() AND table_name = 'client' ORDER BY ordinal_position;
-- Text of other character sets than the column's.
CREATE TABLE defaults(
    l VARCHAR(3) CHARACTER SET latin1 DEFAULT 'é', u VARCHAR(3) CHARACTER SET utf8mb4 DEFAULT 'é',
    e ENUM('é', 'b') CHARACTER SET latin1 DEFAULT 'é', s SET('é', 'ä') CHARACTER SET latin1 DEFAULT 'é,ä',
    d ENUM(0xE4, 'b') CHARACTER SET latin1 DEFAULT 0xE4, i VARCHAR(3) CHARACTER SET utf8mb4 DEFAULT _latin1 0xE9)
    CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci;
SHOW CREATE TABLE defaults;
DESCRIBE defaults;
INSERT INTO defaults() VALUES ();
INSERT INTO defaults(l, e, d) VALUES ('ä', 'é', 'ä');
SELECT HEX(l), HEX(u), HEX(e), HEX(s), HEX(d), HEX(i) FROM defaults;
ALTER TABLE defaults ALTER l SET DEFAULT 'ö';
INSERT INTO defaults() VALUES ();
SELECT HEX(l) FROM defaults;
CREATE TABLE none(l VARCHAR(3) CHARACTER SET latin1 DEFAULT '日');
-- Bytes behind an introducer, in definitions.
CREATE VIEW introduced AS SELECT _latin1 0xC5 x, _latin1'A' y, _utf8mb4 0xC385 z;
SELECT HEX(x), HEX(y), HEX(z), x, z FROM introduced;
-- limpid: MySQL shows a byte that is none of the statement's, Limpid digits that can be read again
SELECT view_definition FROM information_schema.views WHERE table_schema = DATABASE() AND table_name = 'introduced';
CREATE TABLE computed(
    a INT, g VARCHAR(10) CHARACTER SET latin1 AS (CONCAT(_latin1 0xC5, a)),
    d VARCHAR(10) CHARACTER SET latin1 DEFAULT (_latin1 0xC5), CHECK (d <> _latin1 0xC6))
    CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci;
INSERT INTO computed(a) VALUES (1);
SELECT HEX(g), HEX(d), g FROM computed;
INSERT INTO computed(a, d) VALUES (2, _latin1 0xC6);
-- limpid: MySQL shows `?`, which no dump can bring back
SHOW CREATE TABLE computed;
-- limpid: MySQL names the columns by other bytes
SELECT HEX(_ascii 0xFF) h, _ascii 0xFF;
SELECT HEX(_ascii 0xFF) h, _ascii 0xFF v;
SELECT HEX(_utf8mb4 0xFF);
SELECT HEX(_utf8mb3 0xF09F9880);
-- A client of utf8mb3 that sends characters of four bytes.
SET NAMES utf8mb3;
SELECT HEX('😀') h, LENGTH('😀') l;
CREATE TABLE wide(a VARCHAR(10) CHARACTER SET utf8mb4, b VARCHAR(10) CHARACTER SET utf8mb3);
INSERT INTO wide VALUES ('😀', 'x');
INSERT INTO wide VALUES ('x', 'a😀');
INSERT IGNORE INTO wide VALUES ('a😀b', 'a😀b');
SET NAMES utf8mb4;
INSERT INTO wide VALUES ('y', 'a😀');
INSERT INTO wide VALUES ('😀', 'y');
SELECT HEX(a), HEX(b) FROM wide;
SET NAMES utf8mb3;
SELECT a, b, HEX(a) FROM wide;
SET NAMES utf8mb4;
SET character_set_connection = latin1;
SELECT HEX('日本é') h;
SET NAMES utf8mb4;
