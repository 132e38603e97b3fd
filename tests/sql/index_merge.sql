-- Several indexes of a table read together, as MySQL does it.
set explain_format = traditional, sql_notes = 0;
create table t (id int primary key, n int, k int, l int, m int, key k (k), key l (l), key m (m)) stats_auto_recalc = 0;
insert into t with recursive c as (select 1 i union all select i + 1 from c where i < 1000)
  select i, i * 7 % 1000, if(i % 97 = 0, null, i % 50), i % 40, i % 31 from c;
analyze table t;

-- Unions of equalities.
explain select * from t where k = 1 or l = 2;
select id, k, l from t where k = 1 or l = 2;
select count(*), sum(n) from t where k = 1 or l = 2;
explain select id from t force index (k, l, m) where k = 1 or l = 1 or m = 3;
select count(*), count(distinct id), sum(id) from t where k = 1 or l = 1 or m = 3;
explain select n from t where k is null or l = 3;
select id, k, l from t where (k is null or l = 3) and id < 200;
select id from t where k <=> null or m <=> 5 limit 5;
explain select n from t where n = 3 and (k = 21 or l = 2);
select id from t where n = 63 and (k = 9 or l = 2);
select id from t where (k = 1 or l = 2) order by id desc limit 3;
explain select id from t where (k = 1 or l = 2) order by id;
select id from t where k = 1 or l = 2 limit 2, 3;
select k, count(*) from t where k = 1 or l = 11 group by k order by k;
select id from t where k = 77 or l = 99;
select id from t where (k = 1 or l = 2) and not (k = 1 and l = 1) and id < 60;

-- With the primary key.
explain select * from t where k = 1 or id = 5;
select id, k from t where k = 1 or id = 5 limit 4;
explain select * from t where k = 1 or id between 5 and 10;
select id, k from t where k = 1 or id between 48 and 53 limit 8;
explain select * from t where k between 1 and 2 or id between 99 and 103;
select id, k from t where k between 1 and 2 or id between 99 and 103;

-- Unions of ranges.
explain select * from t where k = 1 or l between 2 and 3;
select id, k, l from t where k = 1 or l between 2 and 3;
explain select * from t where k = 1 or k = 2 or l = 3;
select count(*), sum(id) from t where k = 1 or k = 2 or l = 3;
explain select * from t where k in (1, 5) or l < 1;
select count(*), sum(id) from t where k in (1, 5) or l < 1;
select id from t where k in (1, 5) or l < 1 limit 4;
explain select * from t where k < 1 or l > 38;
select id, k, l from t where k < 1 or l > 38 limit 5;

-- Intersections.
explain select * from t where k = 1 and l = 11;
select id, k, l from t where k = 1 and l = 11;
select id from t where k = 1 and l = 2;
-- limpid: FAULT how many rows pass (filtered) is not estimated from the indexes of an OR and of a rest of an AND
explain select n from t where k = 1 and l = 11 and m = 20;
select id, k, l, m from t where k = 1 and l = 11 and m = 20;
explain select n from t where (k = 1 and l = 11) or m = 3;
select id, k, l, m from t where (k = 1 and l = 11) or m = 3;
select id from t where k = 1 and l = 11 order by id desc;

-- What the switches say.
set optimizer_switch = 'index_merge=off';
-- limpid: FAULT how many rows pass (filtered) is not estimated from the indexes of an OR and of a rest of an AND
explain select * from t where k = 1 or l = 2;
select count(*), sum(n) from t where k = 1 or l = 2;
set optimizer_switch = 'index_merge=on,index_merge_union=off';
explain select * from t where k = 1 or l = 2;
select id from t where k = 1 or l = 2 limit 3;
set optimizer_switch = 'index_merge_sort_union=off';
-- limpid: FAULT how many rows pass (filtered) is not estimated from the indexes of an OR and of a rest of an AND
explain select * from t where k = 1 or l = 2;
-- limpid: FAULT how many rows pass (filtered) is not estimated from the indexes of an OR and of a rest of an AND
explain select * from t where k = 1 or l between 2 and 3;
set optimizer_switch = 'index_merge_union=on,index_merge_intersection=off';
explain select * from t where k = 1 or l = 2;
-- limpid: FAULT how many rows pass (filtered) is not estimated from the indexes of an OR and of a rest of an AND
explain select * from t where k = 1 and l = 11;
select id from t where k = 1 and l = 11;
set optimizer_switch = default;

-- Hints.
prepare s from 'explain select /*+ no_index_merge(t) */ * from t where k = 1 or l = 2';
-- limpid: FAULT how many rows pass (filtered) is not estimated from the indexes of an OR and of a rest of an AND
execute s;
prepare s from 'explain select /*+ no_index_merge(t l) */ * from t where k = 1 or l = 2';
-- limpid: FAULT how many rows pass (filtered) is not estimated from the indexes of an OR and of a rest of an AND
execute s;
prepare s from 'explain select /*+ no_index_merge(t m) */ * from t where k = 1 or l = 2';
execute s;
prepare s from 'explain select /*+ no_index_merge(t) */ n from t where k = 1 and m = 2';
-- limpid: FAULT how many rows pass (filtered) is not estimated from the indexes of an OR and of a rest of an AND
execute s;
prepare s from 'explain select /*+ index_merge(t k, l) */ n from t where k = 1 and l = 11 and m = 20';
-- limpid: FAULT how many rows pass (filtered) is not estimated from the indexes of an OR and of a rest of an AND
execute s;
prepare s from 'explain select /*+ set_var(optimizer_switch = ''index_merge=off'') */ n from t where k = 1 or l = 2';
-- limpid: FAULT how many rows pass (filtered) is not estimated from the indexes of an OR and of a rest of an AND
execute s;
deallocate prepare s;
select count(*) from t use index (k) where k = 1 or l = 2;
select count(*) from t ignore index (m) where k = 1 or l = 2 or m = 3;

-- Statements that are run again.
prepare s from 'select count(*), sum(id) from t where k = ? or l = ?';
set @a = 1, @b = 2, @c = null, @d = '3';
execute s using @a, @b;
execute s using @c, @b;
execute s using @c, @c;
execute s using @d, @a;
deallocate prepare s;
prepare s from 'select id from t where k = ? and l = ?';
set @b = 11;
execute s using @a, @b;
execute s using @c, @b;
set @d = 1.5;
execute s using @d, @b;
deallocate prepare s;

-- In joins, subqueries and groups.
create table o (id int primary key, x int, y int);
insert into o values (1, 1, 2), (2, 3, 4), (3, null, 5), (4, 77, 99);
select o.id, count(t.id), sum(t.n) from o left join t on t.k = o.x or t.l = o.y group by o.id order by o.id;
select o.id, (select sum(t.n) from t where t.k = o.x or t.l = o.y) s from o order by o.id;
select o.id, t.id from o join t on t.id = o.id * 100 + 1 where t.k = 1 or t.l = 1;
select o.id from o where exists (select 1 from t where t.k = o.x and t.l = o.y - 1) order by 1;
select count(*) from t a, t b where (a.k = 1 or a.l = 2) and b.id = a.n and (b.k = 3 or b.l = 4);

-- Text, prefixes, descending parts, several parts, unique keys.
create table s (id int primary key, a varchar(20), b varchar(20) collate utf8mb4_bin, c int, d int, e text, u int,
  key a (a), key b (b), key cd (c, d desc), key e (e(3)), unique key u (u)) stats_auto_recalc = 0;
insert into s with recursive c as (select 1 i union all select i + 1 from c where i < 500)
  select i, elt(i % 20 + 1, 'a', 'B', 'c', 'D', 'é', 'E', 'ß', 'ss', 'x', 'y', 'z', 'q', 'r', 't', 'u', 'v', 'w', 'aa', 'ab', 'ac'),
  concat('k', i % 25), i % 30, i % 7, concat(char(97 + i % 26), 'bcd', i), if(i % 5, i, null) from c;
analyze table s;
explain select id from s force index (a, b) where a = 'E' or b = 'k3';
select id, a, b from s where (a = 'E' or b = 'k3') and id < 60;
select id, a from s where (a = 'SS' or c = 5 and d = 3) and id < 100;
select id, a, c, d from s where c = 4 and d = 4 or a = 'b' limit 6;
select id, a, c from s where (c = 4 or a = 'b') and id < 50;
select id, e, a from s where (e = 'abcd26' or a = 'x') and id < 70;
explain select id from s where u = 7 or a = 'x';
select id, u, a from s where u = 7 or u = 8 or a = 'q' limit 5;
select id from s where u = 7 or b = 'k9' limit 4;
-- limpid: FAULT how many rows pass (filtered) is not estimated from the indexes of an OR and of a rest of an AND
explain select id from s where a like 'a%' or b = 'k9';
select count(*), sum(id) from s where a like 'a%' or b = 'k9';
select id, a, b from s where a = 'e' and b = 'k5';
select id, a, b from s where a = 1 or b = 'k5' limit 3;

-- Without a primary key.
create table h (k int, l int, n int, key (k), key (l)) stats_auto_recalc = 0;
insert into h select k, l, n from t;
analyze table h;
explain select * from h where k = 1 or l = 2;
select count(*), sum(n) from h where k = 1 or l = 2;
select * from h where k = 1 and l = 11;
select count(*), sum(n) from h where k < 3 or l > 37;

-- Changes.
explain update t set n = 1 where k = 1 or l = 2;
explain delete from t where k = 1 or l between 2 and 3;
begin;
update t set n = -1 where k = 1 or l = 2;
select count(*) from t where n = -1;
update t set n = -2 where k = 1 and l = 11;
select id, n from t where n = -2;
update t set k = 2 where k = 1 or l = 2;
select count(*), sum(id) from t where k = 2;
update t set k = k + 1 where k = 2 or l = 5;
select k, count(*) from t where k in (2, 3, 6) group by k order by k;
select id, k, l from t where (k = 3 or l = 5) and id < 30;
delete from t where k = 3 or l = 7;
select count(*), sum(id) from t where k = 3 or l = 7;
select count(*), sum(id) from t;
delete from t where k = 20 or l between 3 and 4;
insert into t values (5001, 0, 20, 3, 0), (5002, 0, 3, 4, 0);
select id, k, l from t where k = 20 or l between 3 and 4 or k = 3;
rollback;
select count(*), sum(id) from t where k = 3 or l = 7;
update t set l = 2 where k = 1 or l = 2 order by id desc limit 3;
select count(*) from t where l = 2;
delete t from t join o on o.id = 1 where t.k = 1 or t.l = 2;
select count(*) from t where k = 1 or l = 2;
