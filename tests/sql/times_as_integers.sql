-- Times and moments that become integers: rounded as times (10:59:59.5 is 11:00:00), and under TIME_TRUNCATE_FRACTIONAL cut
-- off, but by ALTER TABLE, which rounds whatever the mode.
create table s(id int primary key, a time(6), b datetime(6), c timestamp(6));
insert into s values (1, '10:11:12.987654', '2021-01-01 10:11:12.987654', '2021-01-01 10:11:12.987654'),
  (2, '10:59:59.5', '2021-12-31 23:59:59.5', '2021-12-31 23:59:59.5'),
  (3, '-10:59:59.5', '2021-12-31 23:59:59.4999999', '2021-12-31 23:59:59.499999'),
  (4, '23:59:59.999999', '2021-02-28 23:59:59.9', '2024-02-28 23:59:59.9');
create table i(a int, b bigint, c bigint, m mediumint);
insert into i select a, b, c, a from s;
insert into i values (time'10:59:59.9', timestamp'2020-01-01 23:59:59.9', cast('2020-01-01 23:59:59.9' as datetime(1)), cast('10:59:59.9' as time(1)));
select * from i;
update i, s set i.a = s.a, i.b = s.b where s.id = 4;
select * from i;
create table t as select * from s; alter table t modify a int, modify b bigint, modify c bigint; select * from t; drop table t;
create table t as select * from s; alter table t modify a decimal(20,0), modify b decimal(20,0), modify c double; select * from t; drop table t;
create table t(a bit(64), b bit(64)); insert into t select a, b from s; select hex(a), hex(b) from t; drop table t;
select cast(a as signed), cast(b as signed), a + 0, cast(b as time), cast(b as time(2)) from s;
set sql_mode = 'STRICT_TRANS_TABLES,TIME_TRUNCATE_FRACTIONAL';
delete from i;
insert into i select a, b, c, a from s;
select * from i;
update i, s set i.a = s.a, i.b = s.b where s.id = 4;
select * from i;
create table t as select * from s; alter table t modify a int, modify b bigint, modify c bigint; select * from t; drop table t;
create table t as select * from s; alter table t modify a decimal(20,0), modify b decimal(20,0), modify c double; select * from t; drop table t;
create table t as select * from s; alter table t modify a time(1), modify b datetime(1), modify c time(1); select * from t; drop table t;
create table t as select * from s where id < 3; alter table t modify a bit(64), modify b bit(64), modify c varchar(21); select hex(a), hex(b), c from t; drop table t;
create table t(a bit(64), b bit(64)); insert into t select a, b from s; select hex(a), hex(b) from t; drop table t;
select cast(b as time), cast(b as time(2)), cast(c as time(1)), cast(a as time(3)), time(b) from s;
select cast(timestamp'2021-01-01 23:59:59.99' as time), cast(timestamp'2021-01-01 23:59:59.99' as datetime);
select from_unixtime(1.9999999) = '1970-01-01 09:00:01.999999' x, right(from_unixtime(1.9999999), 9), from_unixtime(1.9999999, '%f'), right(from_unixtime('1.99999999'), 9);
select from_unixtime(-0.0000001), from_unixtime(-0.9);
set sql_mode = default;
select right(from_unixtime(1.9999999), 9), from_unixtime(1.9999999, '%f'), from_unixtime(-0.0000001), from_unixtime(-0.9);
