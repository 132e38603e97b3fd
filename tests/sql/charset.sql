-- Character sets of the connection, of databases, tables and columns.
set names utf8mb4;
show character set where charset in ('ascii', 'binary', 'latin1', 'utf8mb3', 'utf8mb4');
show collation like 'utf8mb4_0900_a%';
show collation where collation in ('ascii_bin', 'latin1_swedish_ci', 'utf8mb3_general_ci', 'utf8mb4_unicode_520_ci', 'binary');

-- Variables.
set names latin1;
select @@character_set_client, @@character_set_connection, @@character_set_results, @@collation_connection;
set names utf8mb4 collate utf8mb4_0900_as_cs;
select @@character_set_client, @@character_set_connection, @@character_set_results, @@collation_connection;
set names utf8;
select @@character_set_client, @@character_set_connection, @@character_set_results, @@collation_connection;
set names utf8mb3 collate utf8mb3_bin;
select @@character_set_client, @@collation_connection;
set names binary;
select @@character_set_client, @@character_set_connection, @@character_set_results, @@collation_connection;
set names 'utf8mb4';
select @@character_set_client, @@collation_connection;
set character set latin1;
select @@character_set_client, @@character_set_connection, @@character_set_results, @@collation_connection;
set names default;
set character_set_connection = ascii;
select @@character_set_connection, @@collation_connection;
set collation_connection = latin1_bin;
select @@character_set_connection, @@collation_connection;
set collation_connection = 33;
select @@character_set_connection, @@collation_connection;
set character_set_client = 8;
select @@character_set_client;
set names utf8mb4;
set character_set_results = null;
select @@character_set_results;
set names utf8mb4;
set names nosuch;
set names utf8mb4 collate latin1_bin;
set names utf8mb4 collate nosuch;
set character_set_results = nosuch;
set collation_connection = nosuch;

-- Definitions.
create database charset_l character set latin1;
show create database charset_l;
use charset_l;
select @@character_set_database, @@collation_database;
create table t (a varchar(10), b char(3) character set utf8mb4, c text collate latin1_bin, d varchar(5) character set ascii,
  e varchar(7) collate utf8mb4_bin, f varchar(4) character set latin1, g varbinary(3));
show create table t;
create table u (a varchar(10)) character set utf8mb4;
show create table u;
create table v (a varchar(10), b varchar(3) collate latin1_general_cs) collate latin1_german1_ci;
show create table v;
create table w (a varchar(10) character set latin1 collate latin1_swedish_ci, b varchar(3) collate utf8mb4_0900_ai_ci) collate utf8mb4_general_ci;
show create table w;
create table x (a varchar(3) character set utf8mb3, b varchar(3) collate utf8mb3_unicode_520_ci) default charset = utf8mb4;
show create table x;
create table y (a varchar(3) character set nosuch);
create table y (a varchar(3) collate nosuch);
create table y (a varchar(3) character set latin1 collate utf8mb4_bin);
create table y (a varchar(3)) character set latin1 collate utf8mb4_bin;
create table y (a varchar(65535)) character set latin1;
create table y (a varchar(65532)) character set latin1;
create table z (a varchar(65532) character set latin1 not null);
create table k (a varchar(3072) character set latin1 primary key, b varchar(1024) character set utf8mb3, c varchar(768), index (b), index (c)) character set utf8mb4;
create table l (a varchar(3073) character set latin1 primary key);
create table l (a varchar(1025) character set utf8mb3, index (a));
drop database charset_l;
use charset;
create database charset_l collate utf8mb4_0900_bin;
show create database charset_l;
drop database charset_l;
create database charset_l character set utf8mb4 collate latin1_bin;

select _latin1'a', _utf8mb4'é', _binary'x', _utf8mb4 x'c3a9' as h;
select _utf8mb4 x'ff';
select _nosuch'a';
select 'a' collate nosuch;
select 'a' collate latin1_bin;
select _latin1'a' collate utf8mb4_bin;
