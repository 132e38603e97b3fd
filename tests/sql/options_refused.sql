-- Options of tables and columns that contradict each other, and values for generated columns.
create table s(a int); insert into s values(1),(2);
create table s select * from s;
create table if not exists s select * from s;
create table ns select * from ns;
create table g(a int as (1)) select 1 a;
create table g1(a int as (1), b int) select 1 a, 2 b;
create table g2(a int as (1)) select 2 b;
create table g3(a int, b int as (a+1)) select 1 a;
create table g4(a int, b int as (a+1) stored) select 1 a, 5 b;
create table g5(b int as (1)) select null b;
create table g6(b int as (1)) select * from s;
select * from g2; select * from g3;
create table gt(a int, b int as (a+1));
insert into gt values(1,2);
insert into gt values(1,default);
insert into gt(a,b) values(1,default),(2,3);
insert into gt select 1,2;
insert into gt(b) select 1;
insert into gt select 1, null;
replace into gt values(1,2);
update gt set b=1;
update gt set b=default;
insert into gt(a) values(1) on duplicate key update b=1;
create table x1(a int charset latin1);
create table x2(a varchar(10)) charset latin1 charset utf8mb4;
create table x3(a varchar(10)) charset latin1 charset latin1;
create table x4(a varchar(10)) charset latin1 collate utf8mb4_bin;
create table x5(a varchar(10)) collate latin1_bin collate utf8mb4_bin;
create table x6(a varchar(10)) collate latin1_bin charset utf8mb4;
create table x7(a varchar(10)) default charset default charset latin1;
create table x7b(a varchar(10)) charset latin1 charset default;
alter table s charset latin1 charset utf8mb4;
alter table s charset latin1, charset utf8mb4;
alter table s convert to charset latin1, charset utf8mb4;
alter table s charset utf8mb4, convert to charset latin1;
alter table s charset latin1, convert to charset latin1;
create database tor_q charset latin1 charset utf8mb4;
drop database if exists tor_q;
create database tor_q charset latin1 collate utf8mb4_bin;
drop database if exists tor_q;
create table r1(a int) row_format=fixed;
create table r2(a int) row_format=compressed;
create table r3(a int) row_format=redundant key_block_size=8;
create table r4(a int) key_block_size=8;
create table r5(a int) key_block_size=3;
create table r6(a int) key_block_size=16;
create table r7(a int) key_block_size=32;
create table r8(a int) row_format=dynamic key_block_size=8;
create table r9(a int) row_format=compressed key_block_size=8;
create table r10(a int) row_format=default key_block_size=8;
alter table r1 row_format=fixed;
alter table s row_format=fixed;
alter table s key_block_size=7;
alter table s row_format=compact key_block_size=4;
-- limpid: SHOW WARNINGS lists one error
create temporary table r11(a int) row_format=compressed;
-- limpid: SHOW WARNINGS lists one error
create temporary table r12(a int) key_block_size=8;
create temporary table r13(a int) row_format=fixed;
show create table r4; show create table r9; show create table r6; show create table r10;
set innodb_strict_mode=off;
create table q1(a int) row_format=fixed;
create table q2(a int) key_block_size=3;
create table q3(a int) row_format=dynamic key_block_size=8;
create table q4(a int) key_block_size=32;
create table q5(a int) row_format=redundant key_block_size=8;
create temporary table q6(a int) row_format=compressed;
create temporary table q7(a int) key_block_size=8;
alter table s row_format=fixed;
show create table q1; show create table q2; show create table q3; show create table q5;
-- limpid: rows have one format
select row_format, create_options from information_schema.tables where table_schema=database() and table_name like 'q%';
set innodb_strict_mode=default;
create table sr(a int srid 4326);
create table sr2(a varchar(10) srid 0);
create table i1(a int, key(a) key_block_size=8);
create table i2(a int, key(a) key_block_size=3);
-- limpid: tables of MyISAM and MEMORY are made in InnoDB
create table e1(a int) engine=myisam;
-- limpid: tables of MyISAM and MEMORY are made in InnoDB
create table e2(a int) engine=memory;
-- limpid: tables of MyISAM and MEMORY are made in InnoDB
create table e3(a int) engine=heap;
-- limpid: tables of MyISAM and MEMORY are made in InnoDB
alter table s engine=myisam;
-- limpid: tables of MyISAM and MEMORY are made in InnoDB
show create table e1;
