-- Rows wider than any memory are estimated, not added up.
create table wide (a json, b json, c longtext, d longblob);
explain format=json into @plan select a, b from wide group by a, b;
select json_valid(@plan);
drop table wide;
