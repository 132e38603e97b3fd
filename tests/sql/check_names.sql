-- Names of CHECK constraints in a schema, ANALYZE in READ ONLY sessions, locking clauses beside tables without rows to lock.
set names utf8mb4;
create table a (x int check (x > 0), constraint named check (x < 9));
create table b (x int);
-- one that is written
create table c (x int, constraint named check (x > 0));
create table c (x int, constraint NAMED check (x > 0));
create table c (x int, constraint námed check (x > 0));
drop table if exists c;
create table c (x int, constraint a_chk_1 check (x > 0));
create table b (x int, constraint named check (x > 0));
create table if not exists b (x int, constraint named check (x > 0));
create table c (x int, constraint k check (x > 0), constraint K check (x > 1));
alter table b add constraint named check (x > 0);
alter table b add constraint Named check (x > 0), add column y int;
create temporary table t (x int, constraint named check (x > 0));
drop temporary table t;
-- another one of the same name, in one statement
alter table a drop check named, add constraint named check (x < 8);
alter table a add constraint named check (x < 7), drop check named;
show create table a;
-- one that the server makes
create table taken (x int, constraint c_chk_1 check (x > 0), constraint l_chk_2 check (x > 0));
create table c (x int check (x > 0));
create table c (x int check (x > 0)) select 1 as x;
create table l like a;
rename table a to c;
alter table a rename to c;
alter table a rename to c, add check (x > 2);
create table l (x int, constraint l_chk_1 check (x > 0), check (x > 1));
drop table if exists l, c;
-- tables that exchange their names
create table p (x int primary key);
create table q (x int check (x > 0), foreign key (x) references p (x));
create table r (x int check (x > 0), foreign key (x) references p (x));
rename table q to s, r to q, s to r;
select table_name, constraint_name from information_schema.table_constraints where table_schema = database() and table_name in ('q', 'r') order by 1, 2;
-- another schema
create database check_names_2;
create table check_names_2.named (x int, constraint named check (x > 0));
rename table check_names_2.named to d;
alter table check_names_2.named rename to check_names.d;
rename table a to check_names_2.a;
drop table a, b;
rename table check_names_2.named to d;
drop database check_names_2;
drop table if exists c, d, q, r, p, taken;
-- READ ONLY
create table t (id int primary key);
insert into t values (1), (2);
set session transaction read only;
check table t;
checksum table t;
optimize table t;
set session transaction read write;
start transaction read only;
analyze table t;
start transaction read only;
check table t;
commit;
-- locking clauses
select t.id from t, information_schema.schemata s where s.schema_name = 'check_names' and id = 1 for update of t;
select t.id from t, information_schema.schemata s where s.schema_name = 'check_names' and id = 1 for share of t;
select t.id from t, information_schema.schemata s where s.schema_name = 'check_names' and id = 1 for update of s;
select t.id from t, information_schema.schemata s where s.schema_name = 'check_names' and id = 1 for share of s for update of t;
select d.id from (select 1 as id from performance_schema.performance_timers limit 1) d for update;
select count(*) > 0 from (select timer_name from performance_schema.performance_timers) d for update;
select count(*) > 0 from (select schema_name from information_schema.schemata) d for share;
select id from t where id = (select min(1) from performance_schema.performance_timers) for update;
select 1 from (select 1 from performance_schema.performance_timers for update) d;
select (select min(1) from performance_schema.performance_timers for update);
select count(*) from sys.version for update;
select count(*) > 0 from sys.session for update;
create view v as select timer_name from performance_schema.performance_timers;
-- limpid: a view over a table that has no locks is judged by its owner's right to lock it, which nobody has
select count(*) > 0 from v for update;
-- limpid: as above
select count(*) > 0 from v for share;
drop view v;
-- low_priority_updates
set low_priority_updates = 1;
begin;
update t set id = 3 where id = 1;
-- limpid: the variable means nothing here
select lock_type from performance_schema.metadata_locks where object_schema = 'check_names' and object_name = 't';
rollback;
begin;
update low_priority t set id = 3 where id = 1;
select lock_type from performance_schema.metadata_locks where object_schema = 'check_names' and object_name = 't';
rollback;
set low_priority_updates = 0;
drop table t;
