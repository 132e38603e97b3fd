SET timestamp = 1795258800;
-- Dates, times, bits and members as numbers; fractions of results whose arguments have different ones.
create table x (id int primary key, dt datetime(3), ts timestamp(2) null, t time(2), d date, y year, bt bit(9), e enum('b','a'), s set('x','y'));
insert into x values (1,'2024-02-29 12:34:56.789','2024-02-29 12:34:56.78','12:34:56.78','2024-02-29',2024,97,'a','x,y'),(2,null,null,null,null,null,null,null,null),(3,'1999-12-31 23:59:59','1999-12-31 23:59:59','-01:00:00','1000-01-01',1999,511,'b','');
select cast(dt as decimal(20,4)), cast(ts as decimal(20,2)), cast(t as decimal(20,2)), cast(d as decimal(20,2)) from x;
select cast(y as decimal), cast(bt as decimal), cast(e as decimal), cast(s as decimal(5,2)) from x;
select sum(cast(dt as decimal(20,4))) from x;
select coalesce(t, dt), ifnull(maketime(id, 0, 0), t), if(id = 1, sec_to_time(id), t), greatest(sec_to_time(id), t), coalesce(ts, dt) from x;
select extract(day_hour from time'27:00:00'), extract(day_minute from time'-27:10:00'), extract(day_hour from '2024-02-29 12:34:56');
select id from x order by -1, id;
select id from x union select 7 order by -1;
select id from x order by 0;
create table n (a nchar(3), b nvarchar(20), c national char varying(4), d nchar, e national varchar(10) collate utf8mb3_bin);
show create table n;
create table bytes (a varbinary(5), b binary(2), c blob);
insert into bytes values ('a', 'a', 'a');
select a regexp 'a' from bytes;
select 'a' regexp a from bytes;
select b regexp '^a', c regexp '^a' from bytes;
