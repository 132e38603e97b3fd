-- Literals and operands that are refused: numbers, dates, escapes, collations, names of variables.
select 'a' like 'b' escape '';
select 'a' like 'b' escape 'xx';
select 'a\\' like 'a\\' escape '';
set sql_mode='no_backslash_escapes';
select 'a' like 'b' escape '';
set sql_mode=default;
select 1 from s where 'a' like a escape '';
select 'a' like 'b' escape null;
select 'a' not like 'b' escape '';
create view vv as select 'a' like 'b' escape '' x;
select 1e+1111111111;
select 1e400;
select -1e400;
select 1.5e309;
select 1e308;
insert into s values(1e400);
create table dd(a double default 1e400);
select 1e-400;
select timestamp'2010-01-01';
select timestamp'2010-01-01 00:00:00';
select timestamp'2010-01-01 1';
select timestamp'2010-01-01 10:10';
select date'2010-01-01 10:10:10';
select date'2010-01-01 00:00:00';
select time'2010-01-01 10:10:10';
-- ODBC's forms of dates and times
-- have a script of their own.
-- ODBC's forms of dates and times
-- have a script of their own.
-- ODBC's forms of dates and times
-- have a script of their own.
select timestamp'20100101';
select timestamp'20100101101010';
select timestamp'2010-01-01T10:10:10';
select timestamp'';
select time'';
select time'10';
select time'1010';
select time'1 10:10';
select @`a``b`;
select @'a`b';
set @`a``b`=1;
set @'a`b'=1;
set @'a\'b'=1;
select @'a\'b';
select @'a"b';
select * from s limit 0 into @`a``b`;
select @```x`;
select @'a b';
select @'';
select @``;
select _utf8mb4'a' collate utf8mb4_bin = _utf8mb4'a' collate utf8mb4_0900_bin;
create table cb(a varchar(10) collate utf8mb4_bin, b varchar(10) collate utf8mb4_0900_bin, c varchar(10) collate utf8mb4_0900_ai_ci, d varchar(10) collate utf8mb4_general_ci, e varchar(10) charset latin1 collate latin1_bin, f varchar(10) charset utf8mb3 collate utf8mb3_bin,g varchar(10) collate utf8mb4_0900_as_cs);
select a=b from cb;
select a=c from cb;
select b=c from cb;
select b=d from cb;
select a=d from cb;
select a=e from cb;
select b=e from cb;
select b=f from cb;
select a=f from cb;
select concat(a,b) from cb;
select concat(a,b)='x' from cb;
select greatest(a,b) from cb;
-- limpid: another name of the operation
select a from cb union select b from cb;
-- limpid: another name of the operation
select case a when b then 1 end from cb;
select a in (b) from cb;
select a like b from cb;
select b=g from cb;
select coalesce(a,b) from cb;
select concat(a,b,c) from cb;
select concat(c,a,b) from cb;
select @`aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa`;
set @`aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa`=1;
select @`a `;
set @'a '=1;
select @'';
set @''=1;
select 1 into @`a `;
