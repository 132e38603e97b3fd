-- Columns of several character sets.
set names utf8mb4;
-- Text of a latin1 column comes and goes in the client's character set.
create table s (id int primary key, a varchar(20) character set latin1, b varchar(20) character set utf8mb3, c varchar(20)) character set utf8mb4;
insert into s values (1, 'é€', 'ж', '😀');
insert into s values (2, 'ж', 'a', 'a');
insert into s values (2, 'a', '😀', 'a');
select * from s;
select id from s where a = 'é€';
select id from s where a = 'É€';
select id from s where a like '%€';
select id from s where b = 'Ж';
set character_set_results = ascii;
select a from s where id = 1;
set names utf8mb4;
drop table s;
