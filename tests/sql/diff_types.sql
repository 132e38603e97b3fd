# Types of what is computed: intervals of days on times, numbers of years and bits, NULL in a list; doubles in short texts.
CREATE TABLE a (id INT PRIMARY KEY, b BIT(9), t TIME(2), d DATE, si SMALLINT UNSIGNED, mi MEDIUMINT, ti TINYINT, y YEAR);
INSERT INTO a VALUES (1, b'101', '10:00:00', '2024-01-01', 1, 2, 3, 2024), (2, NULL, '-30:00:00', NULL, NULL, NULL, NULL, NULL);
SET timestamp = 1709251200, time_zone = '+00:00';
SELECT t + INTERVAL 1 DAY, t + INTERVAL '1 2' DAY_HOUR, DATE_ADD(t, INTERVAL '1 2:3:4.5' DAY_MICROSECOND), t + INTERVAL 1 HOUR, t + INTERVAL '1:1' HOUR_MINUTE, DATE_ADD(t, INTERVAL 1 MONTH), t + INTERVAL 1 WEEK, t + INTERVAL '1 1' DAY_SECOND, DATE_SUB(t, INTERVAL 1 DAY), DATE_ADD(t, INTERVAL '1:1' MINUTE_SECOND), DATE_ADD(t, INTERVAL 1 MICROSECOND) FROM a ORDER BY id;
SELECT DATE_ADD(TIME'10:00:00', INTERVAL '1 2' DAY_HOUR), TIME'10:00:00' + INTERVAL 1 DAY, ADDDATE(TIME'10:00:00', 2), TIME'10:00:00' + INTERVAL 25 HOUR, (TIME'10:00:00' + INTERVAL 1 DAY) + 0;
CREATE TABLE r SELECT t + INTERVAL 1 DAY a, t + INTERVAL '1 2' DAY_HOUR b, t + INTERVAL 1 HOUR c, t + INTERVAL '1 1.5' DAY_MICROSECOND d, ABS(b) e, ABS(y) f, COALESCE(si, YEAR(d)) g, COALESCE(y, mi) h, COALESCE(y, ti) i, IF(id, mi, y) j, (NULL IN (255, 7)) k, NULL IN ('a', 'b') l, LEAST(CASE WHEN id THEN NULL ELSE NULLIF(NULL, 1.5) END, 100.001) m FROM a;
SELECT column_name, data_type FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = 'r' ORDER BY ordinal_position;
SELECT * FROM r;
DROP TABLE r;
SELECT ABS(b), ABS(y), ABS(b) + 1, ABS(y) * 1.5, NULL IN (255, 7), NULL IN ('a') FROM a ORDER BY id;
DROP TABLE a;
# A double is cut to as many digits as a column has room for, but not to one digit of several.
CREATE TABLE c (id INT, c CHAR(5), v VARCHAR(3));
CREATE TABLE s (id INT PRIMARY KEY, d DOUBLE, f FLOAT);
INSERT INTO s VALUES (1, -22500000000, 1.5), (2, 123456.789, -225e8), (3, 20000000000, NULL), (4, 0.00001, 1e-5), (5, -1.5e-7, 3);
INSERT INTO c (c) SELECT d FROM s WHERE id = 1;
INSERT INTO c (c) SELECT d FROM s WHERE id = 2;
INSERT INTO c (c) SELECT d FROM s WHERE id = 3;
INSERT INTO c (c) SELECT d FROM s WHERE id = 4;
INSERT INTO c (c) SELECT d FROM s WHERE id = 5;
INSERT INTO c (c) SELECT f FROM s WHERE id = 2;
INSERT INTO c (c) VALUES (-22500000000e0);
INSERT INTO c (v) VALUES (12.5), (1e5), (1e9);
INSERT INTO c (v) SELECT d * 1 FROM s WHERE id = 1;
INSERT INTO c (v) SELECT IF(id, d, f) FROM s WHERE id = 1;
SELECT c, v FROM c ORDER BY c, v;
DROP TABLE c, s;
# A FLOAT column in a short text shows the digits of its double, in TEXT its own.
CREATE TABLE f (id INT PRIMARY KEY, f FLOAT, f2 FLOAT(7,3), v VARCHAR(30), c CHAR(20), b VARBINARY(30), t TEXT);
INSERT INTO f (id, f, f2) VALUES (1, 0.1, 0.1), (2, -2.25e10, 12.3456), (3, 16777217, 1e-7);
UPDATE f SET v = f, c = f, b = f, t = f;
SELECT id, v, c, b, t FROM f ORDER BY id;
UPDATE f SET v = f2, c = f2;
SELECT id, v, c FROM f ORDER BY id;
INSERT INTO f (id, v, t) SELECT id + 10, f, f FROM f WHERE id < 5;
INSERT IGNORE INTO f (id, v) SELECT id + 20, f FROM f WHERE id < 5 ORDER BY id;
SELECT id, v, t FROM f WHERE id > 10 ORDER BY id;
DROP TABLE f;
