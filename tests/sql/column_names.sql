-- What result columns are called: as they are written, or as a view or nested query that is merged defines them.
create table t(a int); create view v as select a from t; create view w as select a as b from v; drop table t; check table v,w; create table t(z int); check table v; analyze table v; repair table v; drop table t; create table t (a int); check table v,w; select * from v;
drop table t;
create table t(id int, b int); drop view v, w; create view v as select id, b as Bee from t; insert into t values(1,2);
select ID, B from t; select ID, BEE from v; select v.ID from v; select V.bee+1 from v as V; select bee from (select b as Bee from t) d; with c as (select b as Bee from t) select bEE from c;
create view v2 as select distinct id from t; select ID from v2; 
select table_NAME, engine x, concat(table_name,'') from information_schema.tables where table_schema='column_names'; select table_name from information_schema.tables t where t.table_schema='column_names' group by table_name; 
select distinct Table_Name from information_schema.tables where table_schema='column_names';
select (select table_name from information_schema.tables where table_schema='column_names' limit 1);
select table_name from information_schema.tables where table_schema='column_names' union select 'x';
select a.Id from (select id from t) a;
insert into t select ID,1 from v; 
drop table t; check table v; check table v2; 
