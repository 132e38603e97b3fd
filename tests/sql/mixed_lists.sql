# Recorded from MySQL 9.7. Lists and BETWEEN of texts, numbers, dates and times together; conditions that constants decide.
SET timestamp = 1709251200, time_zone = '+00:00';
CREATE TABLE m (id INT PRIMARY KEY, t VARCHAR(30), d DATE, tm TIME, n BIGINT, KEY (tm));
INSERT INTO m VALUES (0, '12:34:56', '2024-02-29', '12:34:56', 0), (1, '1', '1999-12-31', '00:00:00', 1), (2, '10', '2000-01-01', '00:00:10', 10);
INSERT INTO m VALUES (3, '1234', '2024-01-01', '838:59:59', 20240229), (5, '00:00:00', NULL, NULL, 20240229123456);
# A text that is no time or date equals only what is none, but in a list of constants.
CREATE TABLE a (tm TIME, t VARCHAR(10), d DATE);
INSERT INTO a VALUES ('00:00:00', 'a', '2024-02-29');
SELECT tm IN (t, '12:34:56') FROM a;
SELECT tm IN (t, t) FROM a;
SELECT tm IN (tm, t) FROM a;
SELECT tm IN ('a', '12:34:56') FROM a;
SELECT tm NOT IN (t, TIME'12:34:56') FROM a;
SELECT t IN (tm, 'b') FROM a;
SELECT t IN (tm, tm) FROM a;
SELECT 'a' IN (tm, tm) FROM a;
SELECT tm IN ('a', 5) FROM a;
# A date makes dates of times and texts (the words of warnings are others there).
SET max_error_count = 0;
SELECT t IN ('b', d) FROM a;
SELECT t IN ('b', DATE'2024-02-29') FROM a;
SELECT t IN ('b', TIMESTAMP'2024-02-29 00:00:00') FROM a;
SELECT id, tm IN (t, TIMESTAMP'2024-03-01 12:34:56') FROM m WHERE id = 0;
SELECT id, tm IN ('12:34:56', DATE'2024-03-02') FROM m WHERE id = 0;
SET max_error_count = DEFAULT;
# A time beside a number is its digits.
SELECT id, tm IN (n, 5), tm IN (20240229123456, t), n IN (tm, 7), n IN (TIME'12:34:56', d) FROM m;
# BETWEEN: constants are stored in a column of times or dates first.
SELECT id, tm BETWEEN '10' AND '12:34:56', tm BETWEEN '10' AND TIME'12:34:56' FROM m;
SELECT id, tm BETWEEN t AND '12:34:56', tm BETWEEN '10' AND t FROM m WHERE id IN (1, 2, 3);
SELECT id, tm BETWEEN n AND '12:34:56', tm BETWEEN n AND DATE'2024-02-29', tm BETWEEN d AND 20240229 FROM m;
SELECT id, tm BETWEEN '2024-02-29' AND 20240229 FROM m WHERE id = 0;
SELECT id, d BETWEEN n AND '2024-02-29', d BETWEEN '2024-02-29' AND n FROM m;
SELECT id FROM m WHERE tm BETWEEN 10 AND 123456 ORDER BY id;
SELECT id FROM m WHERE tm BETWEEN '10' AND 123456 ORDER BY id;
# What stands beside TRUE in an OR is not computed, nor what stands beside FALSE in an AND.
UPDATE m SET t = 'x' WHERE id IN (0, 5);
UPDATE m SET n = n + 1 WHERE t > n OR DATE'2024-02-29' <= DATE'2024-02-29';
UPDATE m SET n = n + 1 WHERE t > n AND 1 > 2;
UPDATE m SET n = n + 1 WHERE 20240315 IS NOT NULL OR t > n;
DELETE FROM m WHERE (t > n OR 2 > 1) AND id = 5;
SELECT id, n FROM m WHERE t > n OR TRUE ORDER BY id;
SELECT COUNT(*) FROM m WHERE t > n AND NULL;
SELECT x.id FROM m AS x LEFT JOIN m AS y ON x.t > y.n AND FALSE ORDER BY x.id;
UPDATE m SET n = n + 1 WHERE t > n XOR TRUE;
UPDATE m SET n = n + 1 WHERE (t > n OR TRUE) IS TRUE;
