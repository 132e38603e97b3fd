-- Which operator binds tighter: each line differs in value from the other reading (MySQL 9.7).
select 1 + 2 * 3, (1 + 2) * 3, 7 - 2 - 1, 2 * 3 % 4, 7 DIV 2 * 2, 7 MOD 4 + 1, 8 / 2 / 2;
select -2 ^ 2, 2 ^ 3 * 2, 2 * 3 ^ 1, ~1 & 3, -1 ^ 1;
select 1 | 2 & 3, 1 | 2 << 1, 4 >> 1 + 1, 1 << 2 + 1, 6 & 3 << 1, 5 & 4 = 4, 1 | 0 = 0;
select 1 = 2 = 0, 3 > 2 > 1, 1 <=> NULL <=> 0, 5 = 5 IS NULL, NULL IS NULL = 1, 1 < 2 IN (1), 2 IN (2) = 1;
select NOT 1 = 2, NOT 0 + 1, NOT 1 BETWEEN 0 AND 2, NOT 0 AND 0, NOT NULL IS NULL, - - 1;
select 1 BETWEEN 0 AND 2 = 1, 3 BETWEEN 1 AND 2 + 1, 1 BETWEEN 0 AND 1 AND 0, 'a' LIKE 'a' = 1;
select 1 OR 0 AND 0, 1 XOR 1 AND 0, 1 OR 1 XOR 1, 1 XOR 1 XOR 1, 0 AND 1 OR 1;
select CASE 1 WHEN 1 THEN 2 ELSE 3 END + 1, INTERVAL(2, 1, 2, 3) + 1, DATE'2024-01-31' + INTERVAL 1 MONTH, INTERVAL 1 DAY + DATE'2024-01-31', DATE'2024-03-01' - INTERVAL 1 DAY;
set @a := 1 + 2, @b := 0 OR 1, @c := 3 = 3;
select @a, @b, @c;
select 5 IS NOT NULL + 0, 1 IS TRUE = 1, NOT 1 IS TRUE, 0 IS FALSE AND 0, 2 REGEXP 2 = 1;
select 1 IN (1, 2) AND 0, 3 NOT IN (1, 2) = 1, NOT 1 IN (2), 2 * (SELECT 3) + 1, EXISTS (SELECT 1) + 1;
select 'a' 'b' LIKE 'ab', 10 - 3 + 2, 2 - -2, 2-+-2, 5 DIV 2 DIV 2, 100 % 7 % 3, 3 - 1 BETWEEN 1 AND 2;
