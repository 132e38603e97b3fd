-- Groups by a subquery of the select list, by position and by name; the subquery looks at another key.
CREATE TABLE b (id INT PRIMARY KEY AUTO_INCREMENT, pages INT, rating DOUBLE, pubdate DATE);
INSERT INTO b (pages, rating, pubdate) VALUES (447, 4.5, '2007-12-06'), (528, 3.0, '2008-03-03'), (300, 4.0, '2008-06-23'),
  (350, 4.0, '2008-11-03'), (1132, 4.0, '1995-01-15'), (946, 5.0, '1991-10-15');
SELECT YEAR(b.pubdate) AS y, (SELECT u.rating FROM b u WHERE YEAR(u.pubdate) = YEAR(b.pubdate) ORDER BY u.rating DESC LIMIT 1) AS top, SUM(b.pages) FROM b GROUP BY 1, 2 ORDER BY y;
SELECT YEAR(b.pubdate) AS y, (SELECT MAX(u.rating) FROM b u WHERE YEAR(u.pubdate) = YEAR(b.pubdate)) AS top, SUM(b.pages) FROM b GROUP BY y, top ORDER BY y;
SELECT (SELECT MAX(u.rating) FROM b u WHERE YEAR(u.pubdate) = YEAR(b.pubdate)) AS top, YEAR(b.pubdate) AS y, COUNT(*) FROM b GROUP BY 1, 2 ORDER BY y;
SELECT b.rating AS r, (SELECT COUNT(*) FROM b u WHERE u.rating = b.rating) AS n, MAX(b.pages) FROM b GROUP BY r, n ORDER BY r;
SELECT b.rating AS r, (SELECT COUNT(*) FROM b u WHERE u.rating = b.rating) + 1 AS n, MAX(b.pages) FROM b GROUP BY r, n HAVING n > 2 ORDER BY n;
SELECT b.rating AS r, EXISTS (SELECT 1 FROM b u WHERE u.rating = b.rating AND u.id <> b.id) AS e, COUNT(*) FROM b GROUP BY 1, 2 ORDER BY r;
SELECT b.rating AS r, b.rating IN (SELECT u.rating FROM b u WHERE u.id > b.rating) AS e, COUNT(*) FROM b GROUP BY 1, 2 ORDER BY r;
SELECT b.rating AS r, (SELECT COUNT(*) FROM b u WHERE u.rating = b.rating) AS n, (SELECT COUNT(*) FROM b v WHERE v.rating < b.rating) AS m FROM b GROUP BY 1, 2 ORDER BY r;
SELECT b.rating AS r, (SELECT COUNT(*) FROM b u WHERE u.rating = b.rating) AS n, COUNT(*) FROM b GROUP BY 1, 2 WITH ROLLUP;
DROP TABLE b;
