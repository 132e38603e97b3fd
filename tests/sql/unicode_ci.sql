-- utf8mb4_unicode_ci and utf8mb3_unicode_ci: weights of UCA 4.0.0, padded with spaces.
set names utf8mb4;
show collation like 'utf8mb%unicode\_ci';
select * from information_schema.collations where collation_name like 'utf8mb_\_unicode\_ci' order by id;
select * from information_schema.collation_character_set_applicability where collation_name like 'utf8mb_\_unicode\_ci' order by 1;

-- Texts.
select 'a' = 'Á  ' collate utf8mb4_unicode_ci, 'ß' = 'SS' collate utf8mb4_unicode_ci, 'ø' = 'o' collate utf8mb4_unicode_ci, _utf8mb4 x'F09F9880' = _utf8mb4 x'F09F90A7' collate utf8mb4_unicode_ci, 'a\t' < 'a' collate utf8mb4_unicode_ci, 'œ' = 'oe' collate utf8mb4_unicode_ci, '가' = _utf8mb4 x'E18480E185A1' collate utf8mb4_unicode_ci;
select hex(weight_string('aß😀' collate utf8mb4_unicode_ci)) w, hex(weight_string('é' collate utf8mb4_unicode_ci as char(3))) padded, hex(weight_string(_utf8mb3'中' collate utf8mb3_unicode_ci)) three;
select upper('àÿßǆⱥ' collate utf8mb4_unicode_ci) u, lower('ÀŸẞǄȺ' collate utf8mb4_unicode_ci) l, upper('ⱥ' collate utf8mb4_unicode_520_ci) newer;
select 'Straße' collate utf8mb4_unicode_ci like 'strasse' a, 'Straße' collate utf8mb4_unicode_ci like 'STRAß_' b, 'ß' collate utf8mb4_unicode_ci like 'ss' c, 'ÉCOLE' collate utf8mb4_unicode_ci like 'e%' d, '😀' collate utf8mb4_unicode_ci like '🐧' e, 'É' collate utf8mb4_unicode_ci regexp 'é' f;
select _utf8mb4 x'CC81' = ' ' collate utf8mb4_unicode_ci a, _utf8mb4 x'CC81' collate utf8mb4_unicode_ci like ' ' b, _utf8mb4 x'CC81' collate utf8mb4_unicode_ci like '\0' c, '⼀' = '一' collate utf8mb4_unicode_ci d, '⼀' collate utf8mb4_unicode_ci like '一' e;
select instr('Straße' collate utf8mb4_unicode_ci, 'É') a, replace('école' collate utf8mb4_unicode_ci, 'É', 'x') b, find_in_set('E', 'a,é' collate utf8mb4_unicode_ci) c, 'É' in ('x', 'e' collate utf8mb4_unicode_ci) d, field('ss', 'ß' collate utf8mb4_unicode_ci) e, instr('Straße' collate utf8mb4_unicode_ci, 'S') f, locate('SS', 'Straße' collate utf8mb4_unicode_ci) g, locate('s', 'Straße' collate utf8mb4_unicode_ci, 2) h, locate('a ', 'a' collate utf8mb4_unicode_ci) i, locate(_utf8mb4 x'CC81', 'xy' collate utf8mb4_unicode_ci, 2) j, locate('o', 'Bøb' collate utf8mb4_0900_as_ci) k, locate('ob', 'Bøb' collate utf8mb4_0900_as_ci) l;
select collation(convert('a' using utf8mb4) collate utf8mb4_unicode_ci) a, coercibility('a' collate utf8mb4_unicode_ci) b, collation(_utf8mb3'a' collate utf8_unicode_ci) c;
select 'a' collate utf8mb3_unicode_ci;
select _latin1'a' collate utf8mb4_unicode_ci;
select 'a' collate utf8mb4_unicode_ci = 'a' collate utf8mb4_unicode_520_ci;
set collation_connection = utf8mb4_unicode_ci;
select @@collation_connection, collation('a'), 'ß' = 'ss', 'a ' = 'a';
set collation_connection = 192;
select @@collation_connection, @@character_set_connection;
set names utf8mb4 collate utf8mb4_unicode_ci;
select @@collation_connection, concat('é', 1) = 'E1';
set names utf8mb4;

-- Tables.
create table t (id int auto_increment primary key, s varchar(10), index (s)) collate utf8mb4_unicode_ci;
create table t3 (id int auto_increment primary key, s varchar(10) character set utf8mb3 collate utf8mb3_unicode_ci, index (s(2)));
create table n (id int auto_increment primary key, s varchar(10), index (s)) collate utf8mb4_0900_ai_ci;
show create table t;
show create table t3;
select table_name, column_name, character_set_name, collation_name from information_schema.columns where table_schema = database() and data_type = 'varchar' order by 1, 2;
insert into t (s) values ('a'), ('A'), ('á'), ('Á'), ('b'), ('B'), ('ä'), ('z'), ('å'), ('ö'), ('o'), ('ß'), ('ss'), ('s'), ('æ'), ('ae'), ('a '), ('a!'), ('ab'), ('ø'), ('ü'), ('u'), ('y'), ('ÿ'), ('Ð'), ('d'), ('þ'), ('l'), ('ł'), ('😀'), ('🐧'), ('中'), ('가'), ('');
insert into t3 (s) select s from t where s <> '😀' order by id;
insert into n (s) select s from t order by id;
select s, id from t order by s, id;
select s, id from t3 order by s desc, id;
select s, id from t where s = 'Á' order by id;
select s, id from t where s = 'ss' order by id;
select s, id from t3 where s = 'ss' order by id;
select s, id from t where s = '😄' order by id;
select s, id from t where s like 'A%' order by id;
select s, id from t3 where s like 'æ%' order by id;
select s, id from t where s > 'b' and s <= 'ss' order by s, id;
select s, id from t3 where s between 'd' and 'ö' order by s, id;
select min(id), count(*) from t group by s order by 1;
select count(distinct s), count(*) from t;
select max(s) from t where s < 'b';
select count(*) from t a join t b on a.s = b.s;
select a.id, group_concat(b.id order by b.id) from t a join t3 b on a.s = b.s where a.id < 20 group by a.id order by a.id;
select count(*) from t join n on t.s = n.s;
select count(*) from t join n on t.s = n.s collate utf8mb4_unicode_ci;
select count(*) from t join n on t.s collate utf8mb4_0900_ai_ci = n.s;
select t.s from t union select n.s from n;
select count(*) from (select s collate utf8mb4_unicode_ci s from n union select s from t) u;
select s, row_number() over (order by s, id) r from t where s in ('ß', 'é', 'O', 'æ') order by r;

-- Unique keys.
create table u (id int primary key, s varchar(10) collate utf8mb4_unicode_ci unique, c char(5) collate utf8mb3_unicode_ci, x text collate utf8mb4_unicode_ci, unique (c), unique (x(3)));
insert into u values (1, 'ß', 'é', 'Straße');
insert into u values (2, 'ss', 'f', 'g');
insert into u values (2, 'SS  ', 'f', 'g');
insert into u values (2, 'sz', 'E', 'g');
insert into u values (2, 'sz', 'f', 'STRudel');
insert into u values (2, 'ø', 'f', 'stRÄhne');
insert into u values (2, 'ø', 'f', 'g');
insert into u values (3, 'o', 'ff', 'ſ');
insert into u values (4, '😀', 'i', 'h');
insert ignore into u values (5, 'ÿ', 'j', 'k'), (10, 'Ÿ', 'n', 'o');
insert into u values (6, 'sS', 'l', 'm') on duplicate key update x = 'updated';
insert into u values (7, 'a\t', 'l', 'm'), (8, 'a', 'm', 'n');
insert into u values (9, 'a ', 'q', 'q');
select * from u order by s;
update u set s = 'Ø' where s = 'ø';
delete from u where s = 'sS';
select * from u order by c;
create table en (e enum('ß', 'ss') collate utf8mb4_unicode_ci);
create table en (e enum('ß', 'é') collate utf8mb4_unicode_ci, f set('x', 'ÿ') collate utf8mb4_unicode_ci);
insert into en values ('E', 'X,Y');
select * from en;

-- Changes of a table's collation.
alter table n convert to character set utf8mb4 collate utf8mb4_unicode_ci;
show create table n;
select count(*) from t join n on t.s = n.s;
select s from n where s = 'ss' order by id;
alter table n modify s varchar(10) collate utf8mb4_0900_as_cs, default collate utf8mb4_unicode_ci;
show create table n;
alter table t3 convert to character set utf8mb4 collate utf8mb4_unicode_ci;
show create table t3;
check table t, t3, n, u;
drop table t, t3, n, u, en;
create table old (a varchar(5) collate utf8_unicode_ci, b varchar(5)) default charset = utf8 collate = utf8_unicode_ci;
show create table old;
drop table old;

-- A database's.
create database unicode_ci_db character set utf8mb4 collate utf8mb4_unicode_ci;
show create database unicode_ci_db;
create table unicode_ci_db.posts (id bigint unsigned not null auto_increment primary key, title varchar(255) not null, body text not null, unique key posts_title_unique (title));
show create table unicode_ci_db.posts;
drop database unicode_ci_db;
