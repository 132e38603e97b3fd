-- What JSON refuses: keys and nesting beyond its limits, paths of bytes, documents that are no number where one is stored.
select json_type(json_object(repeat('k',65535),1));
select json_type(json_object(repeat('k',65536),1));
select json_length(concat('{"',repeat('k',65536),'":1}'));
create table j(a json);
insert into j values(concat('{"',repeat('k',65536),'":1}'));
-- limpid: SHOW WARNINGS lists one error
insert into j values(concat(repeat('[',101),repeat(']',101)));
insert into j values(concat(repeat('[',100),repeat(']',100)));
select json_depth(a) from j;
-- limpid: a document that is nested too deeply is refused where it is made, not where it is stored
select json_depth(json_array(a)) from j;
-- limpid: a document that is nested too deeply is refused where it is made, not where it is stored
select json_depth(json_object('a',a)) from j;
insert into j select json_array(a) from j;
-- limpid: a document that is nested too deeply is refused where it is made, not where it is stored
select json_depth(json_array_append(a,'$[0]',a)) from j;
-- limpid: a document that is nested too deeply is refused where it is made, not where it is stored
select json_depth(json_set(a,'$[0]',a)) from j;
-- limpid: a document that is nested too deeply is refused where it is made, not where it is stored
select json_depth(json_insert(a,'$[1]',a)) from j;
select json_depth(json_merge_preserve(a,a)) from j;
-- limpid: a document that is nested too deeply is refused where it is made, not where it is stored
select json_depth(json_merge_patch(a,json_object('a',a))) from j;
select json_depth(json_arrayagg(a)) from j;
select json_depth(json_objectagg('a',a)) from j;
select json_length(json_objectagg(repeat('k',65536),1)) from j;
-- limpid: SHOW WARNINGS lists one error
select json_depth(cast(concat(repeat('[',101),repeat(']',101)) as json));
select json_valid(concat(repeat('[',101),repeat(']',101)));
select json_valid(concat('{"',repeat('k',65536),'":1}'));
select json_set('{}',concat('$.',repeat('k',65536)),1)='x';
create table js(a json, b int as (a) stored);
insert into js(a) values('{}');
insert into js(a) values('[1]');
insert into js(a) values('1');
insert into js(a) values('"x"');
insert into js(a) values('"7"');
-- limpid: the row is not counted
insert into js(a) values('true'),('null'),('1.5');
select * from js;
create table jv(a json, b int as (a->'$.x') virtual, c double as (a->'$.x') stored, d decimal(10,2) as (a->'$.x') stored, e date as (a->'$.x') stored, f varchar(10) as (a->'$.x') stored);
insert into jv(a) values('{"x":{}}');
insert ignore into jv(a) values('{"x":{}}');
-- limpid: warns once
select * from jv;
create table ji(a int);
insert into ji select cast('{}' as json);
insert into ji values(cast('{}' as json));
insert into ji values(cast('[1]' as json));
select json_extract('{}', x'242e61');
select json_extract('{}', cast('$.a' as binary));
select json_extract('{}', _binary'$.a');
select json_set('{}', _binary'$.a', 1);
select json_contains_path('{}', 'one', _binary'$.a');
select json_contains_path('{}', _binary'one', '$.a');
select json_search('{}', 'one', _binary'$.a');
select json_search('{}', 'one', 'a', null, _binary'$.a');
select json_keys('{}', _binary'$');
select json_length('{}', _binary'$');
select json_remove('{}', _binary'$.a');
-- limpid: the path of JSON_VALUE is read without its character set
select json_value('{}', _binary'$.a');
select json_contains('{}', '1', _binary'$.a');
select json_array_insert('[]', _binary'$[0]',1);
select json_extract(_binary'{}', '$.a');
select json_pretty(_binary'{}');
select json_valid(_binary'{}');
select json_object(_binary'a',1);
create table bp(p varbinary(10), q blob);
insert into bp values('$.a','$.a');
select json_extract('{}', p) from bp;
select json_extract('{}', q) from bp;
select json_array_append('[]',_binary'$',1);
-- limpid: bytes are no JSON for any function
select json_schema_valid(_binary'{}','{}');
