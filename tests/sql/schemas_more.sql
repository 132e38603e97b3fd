-- Schemas as Drupal, Magento, Laravel, Flyway, Liquibase and Hibernate make and change them.
-- Drupal
CREATE TABLE `node_field_data` (
`nid` INT unsigned NOT NULL,
`vid` INT unsigned NOT NULL,
`type` VARCHAR(32) CHARACTER SET ascii NOT NULL COMMENT 'The ID of the target entity.',
`langcode` VARCHAR(12) CHARACTER SET ascii NOT NULL,
`status` TINYINT NOT NULL,
`uid` INT unsigned NOT NULL COMMENT 'The ID of the target entity.',
`title` VARCHAR(255) NOT NULL,
`created` INT NOT NULL,
`promote` TINYINT NOT NULL,
`revision_translation_affected` TINYINT NULL DEFAULT NULL,
PRIMARY KEY (`nid`, `langcode`),
INDEX `node__id__default_langcode__langcode` (`nid`, `status`, `langcode`),
INDEX `node__vid` (`vid`),
INDEX `node_field__type__target_id` (`type`),
INDEX `node__title_type` (`title`(191), `type`(4))
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci COMMENT 'The data table for node entities.';
SHOW CREATE TABLE node_field_data;
CREATE TABLE `cache_default` (`cid` VARCHAR(255) BINARY CHARACTER SET ascii NOT NULL DEFAULT '' COMMENT 'Primary Key: Unique cache ID.', `data` LONGBLOB DEFAULT NULL COMMENT 'A collection of data to cache.', `expire` BIGINT NOT NULL DEFAULT 0, `created` DECIMAL(14, 3) NOT NULL DEFAULT 0, `serialized` SMALLINT NOT NULL DEFAULT 0, `tags` LONGTEXT DEFAULT NULL, `checksum` VARCHAR(255) CHARACTER SET ascii NOT NULL, PRIMARY KEY (`cid`), INDEX `expire` (`expire`), INDEX `created` (`created`)) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci COMMENT 'Storage for the cache API.';
SHOW CREATE TABLE cache_default;
CREATE TABLE `router` (`name` VARCHAR(255) CHARACTER SET ascii NOT NULL DEFAULT '', `path` VARCHAR(255) NOT NULL DEFAULT '', `pattern_outline` VARCHAR(255) NOT NULL DEFAULT '', `fit` INT NOT NULL DEFAULT 0, `route` LONGBLOB DEFAULT NULL, `number_parts` SMALLINT NOT NULL DEFAULT 0, PRIMARY KEY (`name`), INDEX `pattern_outline_parts` (`pattern_outline`(191), `number_parts`)) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci;
ALTER TABLE `router` ADD `alias` VARCHAR(255) CHARACTER SET ascii NULL DEFAULT NULL COMMENT 'The alias of a route';
ALTER TABLE `router` ADD INDEX `alias` (`alias`);
ALTER TABLE `router` CHANGE `fit` `fit` INT NOT NULL DEFAULT 1;
ALTER TABLE `router` DROP PRIMARY KEY, ADD PRIMARY KEY (`name`, `fit`);
ALTER TABLE `router` RENAME TO `router2`;
SHOW CREATE TABLE router2;
CREATE TABLE sequences (value INT unsigned NOT NULL auto_increment PRIMARY KEY);
INSERT INTO sequences () VALUES ();
INSERT INTO sequences (value) VALUES (5) ON DUPLICATE KEY UPDATE value = value;
-- Magento
CREATE TABLE IF NOT EXISTS `catalog_product_entity` (
`entity_id` int UNSIGNED NOT NULL  AUTO_INCREMENT COMMENT "Entity ID",
`attribute_set_id` smallint UNSIGNED NOT NULL DEFAULT 0 COMMENT "Attribute Set ID",
`type_id` varchar(32) NOT NULL DEFAULT "simple" COMMENT "Type ID",
`sku` varchar(64) NOT NULL COMMENT "SKU",
`has_options` smallint NOT NULL DEFAULT 0 COMMENT "Has Options",
`created_at` timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP COMMENT "Creation Time",
`updated_at` timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP COMMENT "Update Time",
`price` decimal(20, 6) NULL DEFAULT 0 COMMENT "Price",
CONSTRAINT  PRIMARY KEY (`entity_id`),
INDEX `CATALOG_PRODUCT_ENTITY_ATTRIBUTE_SET_ID` (`attribute_set_id`),
INDEX `CATALOG_PRODUCT_ENTITY_SKU` (`sku`)
) ENGINE=innodb DEFAULT CHARSET=utf8mb4 DEFAULT COLLATE=utf8mb4_general_ci COMMENT="Catalog Product Table";
SHOW CREATE TABLE catalog_product_entity;
CREATE TABLE `catalog_product_entity_datetime` (
`value_id` int  NOT NULL  AUTO_INCREMENT COMMENT 'Value ID',
`attribute_id` smallint UNSIGNED NOT NULL DEFAULT 0 COMMENT 'Attribute ID',
`store_id` smallint UNSIGNED NOT NULL DEFAULT 0 COMMENT 'Store ID',
`entity_id` int UNSIGNED NOT NULL DEFAULT 0 COMMENT 'Entity ID',
`value` datetime NULL COMMENT 'Value',
CONSTRAINT  PRIMARY KEY (`value_id`),
CONSTRAINT `CAT_PRD_ENTT_DTIME_ENTT_ID_CAT_PRD_ENTT_ENTT_ID` FOREIGN KEY (`entity_id`) REFERENCES `catalog_product_entity` (`entity_id`)  ON DELETE CASCADE,
CONSTRAINT `CATALOG_PRODUCT_ENTITY_DATETIME_ENTITY_ID_ATTRIBUTE_ID_STORE_ID` UNIQUE KEY (`entity_id`,`attribute_id`,`store_id`),
INDEX `A` (`attribute_id`)
) ENGINE=innodb DEFAULT CHARSET=utf8mb4 COMMENT='Catalog Product Datetime Attribute Backend Table';
SHOW CREATE TABLE catalog_product_entity_datetime;
ALTER TABLE `catalog_product_entity` MODIFY COLUMN `sku` varchar(128) NULL COMMENT 'SKU2', ADD COLUMN `gift` smallint(5) unsigned DEFAULT '0' COMMENT 'Gift' AFTER `sku`, ADD INDEX `G` (`gift`), COMMENT='x', DROP INDEX CATALOG_PRODUCT_ENTITY_SKU;
SHOW CREATE TABLE catalog_product_entity;
CREATE TABLE `session` (`session_id` varchar(255) NOT NULL, `session_expires` int unsigned NOT NULL DEFAULT '0', `session_data` mediumblob NOT NULL, PRIMARY KEY (`session_id`)) ENGINE=InnoDB DEFAULT CHARSET=utf8mb3;
SHOW CREATE TABLE session;
CREATE TEMPORARY TABLE tmp_select AS SELECT e.entity_id, e.sku, IFNULL(e.price, 0) AS price, COUNT(*) AS c FROM catalog_product_entity e GROUP BY e.entity_id, e.sku, e.price;
SHOW CREATE TABLE tmp_select;
-- Laravel
create table `users` (`id` bigint unsigned not null auto_increment primary key, `name` varchar(255) not null, `email` varchar(255) not null, `email_verified_at` timestamp null, `password` varchar(255) not null, `remember_token` varchar(100) null, `created_at` timestamp null, `updated_at` timestamp null) default character set utf8mb4 collate 'utf8mb4_general_ci';
alter table `users` add unique `users_email_unique`(`email`);
create table `jobs` (`id` bigint unsigned not null auto_increment primary key, `queue` varchar(255) not null, `payload` longtext not null, `attempts` tinyint unsigned not null, `reserved_at` int unsigned null, `available_at` int unsigned not null, `flags` set('a','b') not null default 'a', `kind` enum('x','y') not null default 'x', `uuid` char(36) not null, `ip` varchar(45), `dt` datetime(0) default current_timestamp) default character set utf8mb4 collate 'utf8mb4_general_ci';
alter table `jobs` add index `jobs_queue_index`(`queue`);
alter table `jobs` add `user_id` bigint unsigned null after `queue`;
alter table `jobs` add constraint `jobs_user_id_foreign` foreign key (`user_id`) references `users` (`id`) on delete set null on update cascade;
alter table `jobs` modify `attempts` smallint not null default '3', modify `ip` varchar(45) not null default '';
alter table `jobs` drop foreign key `jobs_user_id_foreign`;
alter table `jobs` drop `user_id`;
alter table `jobs` rename column `ip` to `addr`;
alter table `jobs` rename index `jobs_queue_index` to `q`;
show create table jobs;
select table_name as `name`, (data_length + index_length) > 0 as `size`, table_comment as `comment`, engine as `engine`, table_collation as `collation` from information_schema.tables where table_schema = database() and table_type in ('BASE TABLE', 'SYSTEM VERSIONED') order by table_name;
select column_name as `name`, data_type as `type_name`, column_type as `type`, collation_name as `collation`, is_nullable as `nullable`, column_default as `default`, column_comment as `comment`, generation_expression as `expression`, extra as `extra` from information_schema.columns where table_schema = database() and table_name = 'jobs' order by ordinal_position asc;
select index_name as `name`, group_concat(column_name order by seq_in_index) as `columns`, index_type as `type`, not non_unique as `unique` from information_schema.statistics where table_schema = database() and table_name = 'jobs' group by index_name, index_type, non_unique order by 1;
drop table if exists `jobs`, `nope`;
-- Flyway, Liquibase
CREATE TABLE `flyway_schema_history` (`installed_rank` INT NOT NULL, `version` VARCHAR(50), `description` VARCHAR(200) NOT NULL, `type` VARCHAR(20) NOT NULL, `script` VARCHAR(1000) NOT NULL, `checksum` INT, `installed_by` VARCHAR(100) NOT NULL, `installed_on` TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP, `execution_time` INT NOT NULL, `success` BOOL NOT NULL, CONSTRAINT `flyway_schema_history_pk` PRIMARY KEY (`installed_rank`)) ENGINE=InnoDB AS SELECT 1 as "installed_rank", '1' as "version", '<< Flyway Baseline >>' as "description", 'BASELINE' as "type", 'x' as "script", NULL as "checksum", 'root' as "installed_by", CURRENT_TIMESTAMP as "installed_on", 0 as "execution_time", TRUE as "success";
SHOW CREATE TABLE flyway_schema_history;
SELECT installed_rank, version, description, success FROM flyway_schema_history;
CREATE INDEX `flyway_schema_history_s_idx` ON `flyway_schema_history` (`success`);
CREATE TABLE DATABASECHANGELOG (ID VARCHAR(255) NOT NULL, AUTHOR VARCHAR(255) NOT NULL, FILENAME VARCHAR(255) NOT NULL, DATEEXECUTED datetime NOT NULL, ORDEREXECUTED INT NOT NULL, EXECTYPE VARCHAR(10) NOT NULL, MD5SUM VARCHAR(35) NULL, LIQUIBASE VARCHAR(20) NULL);
CREATE TABLE DATABASECHANGELOGLOCK (ID INT NOT NULL, `LOCKED` TINYINT NOT NULL, LOCKGRANTED datetime NULL, LOCKEDBY VARCHAR(255) NULL, CONSTRAINT PK_DATABASECHANGELOGLOCK PRIMARY KEY (ID));
SHOW CREATE TABLE DATABASECHANGELOGLOCK;
CREATE TABLE hib (id BIGINT NOT NULL, amount DECIMAL(19,2), flag BIT, ts DATETIME(6), bin VARBINARY(255), lob LONGTEXT, gender ENUM ('F','M'), v INTEGER NOT NULL, t TIME(6), PRIMARY KEY (id)) ENGINE=InnoDB;
ALTER TABLE hib ADD CONSTRAINT UK_abc UNIQUE (amount);
CREATE TABLE hib_seq (next_val BIGINT) ENGINE=InnoDB;
INSERT INTO hib_seq VALUES ( 1 );
SELECT next_val AS id_val FROM hib_seq FOR UPDATE;
UPDATE hib_seq SET next_val= 51 WHERE next_val=1;
ALTER TABLE hib DROP INDEX UK_abc;
SHOW CREATE TABLE hib;
