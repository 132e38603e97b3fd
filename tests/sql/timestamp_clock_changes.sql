-- limpid throughout: the peer has no time zones by name
-- Clocks going back and forth: a local time that comes twice finds the rows of both hours, with an index and without.
set time_zone='Europe/Berlin';
create table b(id int primary key, ts timestamp null, key(ts));
set time_zone='+00:00';
insert into b values (1,'2018-10-28 00:30:00'),(2,'2018-10-28 01:30:00'),(3,'2018-10-27 23:30:00'),(4,'2018-10-28 02:30:00'),(5,'2018-03-25 01:10:00'),(6,'2018-03-25 00:59:00');
set time_zone='Europe/Berlin';
select * from b order by id;
select id from b ignore index(ts) where ts = '2018-10-28 02:30:00' order by id;
select id from b force index(ts) where ts = '2018-10-28 02:30:00' order by id;
select id from b force index(ts) where ts > '2018-10-28 02:00:00' order by id;
select id from b force index(ts) where ts < '2018-10-28 02:45:00' order by id;
select id from b force index(ts) where ts = '2018-10-28 01:30:00' order by id;
select id from b force index(ts) where ts = '2018-10-28 03:30:00' order by id;
select id from b force index(ts) where ts >= '2018-03-25 02:30:00' and ts < '2018-03-26' order by id;
select id from b force index(ts) where ts <= '2018-03-25 02:30:00' order by id;
