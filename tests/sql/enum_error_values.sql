-- An error value of an ENUM is no member, though one is empty.
SET sql_mode = '';
CREATE TABLE en(e ENUM('', 'a'), v INT);
INSERT INTO en VALUES ('', 1), ('zz', 2), ('a', 3), ('zz', 4), ('', 5);
SELECT e + 0, HEX(e), COUNT(*) FROM en GROUP BY e;
SELECT DISTINCT e + 0, e FROM en;
SELECT e + 0, v FROM en ORDER BY e, v;
SELECT e FROM en UNION SELECT e FROM en;
SET sql_mode = DEFAULT;
CREATE TABLE latin(e ENUM('ä', 'b') CHARACTER SET latin1);
INSERT INTO latin VALUES ('ä'), ('b');
SELECT e, HEX(e) FROM (SELECT e FROM latin UNION SELECT 'é') u ORDER BY e;
CREATE TABLE kept AS SELECT e FROM latin UNION ALL SELECT e FROM latin;
SHOW CREATE TABLE kept;
