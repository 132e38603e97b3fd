-- Schemas as WordPress, Django and Rails make and change them.
-- WordPress
CREATE TABLE wp_users (
  ID bigint(20) unsigned NOT NULL auto_increment,
  user_login varchar(60) NOT NULL default '',
  user_pass varchar(255) NOT NULL default '',
  user_nicename varchar(50) NOT NULL default '',
  user_email varchar(100) NOT NULL default '',
  user_url varchar(100) NOT NULL default '',
  user_registered datetime NOT NULL default '0000-00-00 00:00:00',
  user_activation_key varchar(255) NOT NULL default '',
  user_status int(11) NOT NULL default '0',
  display_name varchar(250) NOT NULL default '',
  PRIMARY KEY  (ID),
  KEY user_login_key (user_login),
  KEY user_nicename (user_nicename),
  KEY user_email (user_email)
) DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci;
SET SESSION sql_mode='';
CREATE TABLE wp_users (
  ID bigint(20) unsigned NOT NULL auto_increment,
  user_login varchar(60) NOT NULL default '',
  user_registered datetime NOT NULL default '0000-00-00 00:00:00',
  user_status int(11) NOT NULL default '0',
  PRIMARY KEY  (ID),
  KEY user_login_key (user_login)
) DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci;
CREATE TABLE wp_posts (
	ID bigint(20) unsigned NOT NULL auto_increment,
	post_author bigint(20) unsigned NOT NULL default '0',
	post_date datetime NOT NULL default '0000-00-00 00:00:00',
	post_content longtext NOT NULL,
	post_title text NOT NULL,
	post_status varchar(20) NOT NULL default 'publish',
	post_name varchar(200) NOT NULL default '',
	post_parent bigint(20) unsigned NOT NULL default '0',
	menu_order int(11) NOT NULL default '0',
	post_type varchar(20) NOT NULL default 'post',
	PRIMARY KEY  (ID),
	KEY post_name (post_name(191)),
	KEY type_status_date (post_type,post_status,post_date,ID),
	KEY post_parent (post_parent),
	KEY post_author (post_author)
) DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci;
SHOW CREATE TABLE wp_posts;
CREATE TABLE wp_postmeta (
	meta_id bigint(20) unsigned NOT NULL auto_increment,
	post_id bigint(20) unsigned NOT NULL default '0',
	meta_key varchar(255) default NULL,
	meta_value longtext,
	PRIMARY KEY  (meta_id),
	KEY post_id (post_id),
	KEY meta_key (meta_key(191))
) DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci;
CREATE TABLE wp_options (option_id bigint(20) unsigned NOT NULL auto_increment, option_name varchar(191) NOT NULL default '', option_value longtext NOT NULL, autoload varchar(20) NOT NULL default 'yes', PRIMARY KEY  (option_id), UNIQUE KEY option_name (option_name), KEY autoload (autoload));
DESCRIBE wp_options;
SHOW FULL COLUMNS FROM wp_posts;
SHOW INDEX FROM wp_posts;
SHOW TABLES LIKE 'wp\_%';
INSERT INTO `wp_options` (`option_name`, `option_value`, `autoload`) VALUES ('siteurl', 'x', 'yes') ON DUPLICATE KEY UPDATE `option_name` = VALUES(`option_name`), `option_value` = VALUES(`option_value`), `autoload` = VALUES(`autoload`);
ALTER TABLE wp_options ADD COLUMN `newcol` tinyint(1) NOT NULL DEFAULT 0 AFTER autoload;
ALTER TABLE wp_options CHANGE COLUMN `autoload` autoload varchar(20) NOT NULL default 'no';
ALTER TABLE wp_options DROP INDEX autoload, ADD KEY al (autoload(5));
SHOW CREATE TABLE wp_options;
SELECT SQL_CALC_FOUND_ROWS ID FROM wp_posts WHERE 1=1 ORDER BY post_date DESC LIMIT 0, 10;
SELECT FOUND_ROWS();
SET SESSION sql_mode=DEFAULT;
-- Django
CREATE TABLE `django_migrations` (`id` bigint AUTO_INCREMENT NOT NULL PRIMARY KEY, `app` varchar(255) NOT NULL, `name` varchar(255) NOT NULL, `applied` datetime(6) NOT NULL);
CREATE TABLE `django_content_type` (`id` integer AUTO_INCREMENT NOT NULL PRIMARY KEY, `name` varchar(100) NOT NULL, `app_label` varchar(100) NOT NULL, `model` varchar(100) NOT NULL);
ALTER TABLE `django_content_type` ADD CONSTRAINT `django_content_type_app_label_model_76bd3d3b_uniq` UNIQUE (`app_label`, `model`);
ALTER TABLE `django_content_type` MODIFY `name` varchar(100) NULL;
ALTER TABLE `django_content_type` DROP COLUMN `name`;
CREATE TABLE `auth_permission` (`id` integer AUTO_INCREMENT NOT NULL PRIMARY KEY, `name` varchar(50) NOT NULL, `content_type_id` integer NOT NULL, `codename` varchar(100) NOT NULL);
CREATE TABLE `auth_user` (`id` integer AUTO_INCREMENT NOT NULL PRIMARY KEY, `password` varchar(128) NOT NULL, `last_login` datetime(6) NULL, `is_superuser` bool NOT NULL, `username` varchar(150) NOT NULL UNIQUE, `date_joined` datetime(6) NOT NULL, `price` numeric(10, 2) NOT NULL, `d` double precision NULL, `data` json NULL, `u` char(32) NOT NULL, `pos` smallint UNSIGNED NOT NULL CHECK (`pos` >= 0));
ALTER TABLE `auth_permission` ADD CONSTRAINT `auth_permission_content_type_id_2f476e4b_fk_django_co` FOREIGN KEY (`content_type_id`) REFERENCES `django_content_type` (`id`);
ALTER TABLE `auth_permission` ADD CONSTRAINT `auth_permission_content_type_id_codename_01ab375a_uniq` UNIQUE (`content_type_id`, `codename`);
ALTER TABLE `auth_permission` MODIFY `name` varchar(255) NOT NULL;
ALTER TABLE `auth_user` ADD COLUMN `x` integer DEFAULT 5 NOT NULL;
ALTER TABLE `auth_user` ALTER COLUMN `x` DROP DEFAULT;
CREATE INDEX `auth_user_x_idx` ON `auth_user` (`x` DESC, `date_joined`);
ALTER TABLE `auth_user` RENAME COLUMN `x` TO `y`;
RENAME TABLE `auth_user` TO `accounts_user`;
ALTER TABLE `accounts_user` CHANGE `y` `z` integer NULL;
SHOW CREATE TABLE accounts_user;
SHOW CREATE TABLE auth_permission;
SELECT kc.`constraint_name`, kc.`column_name`, kc.`referenced_table_name`, kc.`referenced_column_name`, c.`constraint_type` FROM information_schema.key_column_usage AS kc, information_schema.table_constraints AS c WHERE kc.table_schema = DATABASE() AND (c.table_schema = DATABASE() OR c.table_schema = kc.table_schema) AND c.constraint_name = kc.constraint_name AND c.constraint_type != 'CHECK' AND kc.table_name = 'auth_permission' ORDER BY 1,2;
SELECT cc.constraint_name, cc.check_clause FROM information_schema.check_constraints AS cc, information_schema.table_constraints AS tc WHERE cc.constraint_schema = DATABASE() AND tc.table_schema = cc.constraint_schema AND cc.constraint_name = tc.constraint_name AND tc.constraint_type = 'CHECK' AND tc.table_name = 'accounts_user';
SELECT column_name, data_type, character_maximum_length, numeric_precision, numeric_scale, extra, column_default, CASE WHEN collation_name = 'utf8mb4_0900_ai_ci' THEN NULL ELSE collation_name END AS collation_name, CASE WHEN column_type LIKE '%unsigned' THEN 1 ELSE 0 END AS is_unsigned, column_comment FROM information_schema.columns WHERE table_name = 'accounts_user' AND table_schema = DATABASE() ORDER BY ordinal_position;
-- Rails
CREATE TABLE `schema_migrations` (`version` varchar(255) NOT NULL PRIMARY KEY);
CREATE TABLE `ar_internal_metadata` (`key` varchar(255) NOT NULL PRIMARY KEY, `value` varchar(255), `created_at` datetime(6) NOT NULL, `updated_at` datetime(6) NOT NULL);
CREATE TABLE `articles` (`id` bigint NOT NULL AUTO_INCREMENT PRIMARY KEY, `title` varchar(255) DEFAULT 'x' NOT NULL COMMENT 'the title', `body` text, `views` int DEFAULT 0, `published` tinyint(1) DEFAULT FALSE, `price` decimal(10,2), `meta` json, `author_id` bigint NOT NULL, `bin` blob, `created_at` datetime(6) NOT NULL, `updated_at` datetime(6) NOT NULL, INDEX `index_articles_on_author_id` (`author_id`), UNIQUE INDEX `ix` (`title`(10))) CHARSET=utf8mb4;
CREATE TABLE `authors` (`id` bigint NOT NULL AUTO_INCREMENT PRIMARY KEY, `email` varchar(255)) ENGINE=InnoDB ROW_FORMAT=DYNAMIC;
ALTER TABLE `articles` ADD CONSTRAINT `fk_rails_e74ce85cbc` FOREIGN KEY (`author_id`) REFERENCES `authors` (`id`) ON DELETE CASCADE;
ALTER TABLE `articles` ADD `slug` varchar(255) AFTER `title`, ADD INDEX `index_articles_on_slug` USING btree (`slug`);
CREATE UNIQUE INDEX `index_authors_on_email` USING btree ON `authors` (`email`);
ALTER TABLE `articles` ALTER COLUMN `views` SET DEFAULT 10;
ALTER TABLE `articles` CHANGE `views` `view_count` int DEFAULT 10 NOT NULL;
ALTER TABLE `articles` MODIFY `body` mediumtext;
ALTER TABLE `articles` DROP INDEX `index_articles_on_slug`, DROP COLUMN `slug`;
ALTER TABLE `articles` RENAME INDEX `ix` TO `ix2`;
ALTER TABLE `articles` ADD CONSTRAINT chk CHECK (view_count >= 0);
ALTER TABLE `articles` COMMENT 'c';
ALTER TABLE `articles` ADD CONSTRAINT `fk2` FOREIGN KEY (`author_id`) REFERENCES `authors` (`id`), ADD v INT AS (view_count * 2) STORED, ADD w VARCHAR(10) AS (UPPER(title)) VIRTUAL NULL;
ALTER TABLE `articles` DROP FOREIGN KEY `fk2`;
SHOW CREATE TABLE articles;
SHOW KEYS FROM articles;
SHOW FULL FIELDS FROM `articles`;
SELECT fk.referenced_table_name AS 'to_table', fk.referenced_column_name AS 'primary_key', fk.column_name AS 'column', fk.constraint_name AS 'name', fk.ordinal_position AS 'position', rc.update_rule AS 'on_update', rc.delete_rule AS 'on_delete' FROM information_schema.referential_constraints rc JOIN information_schema.key_column_usage fk USING (constraint_schema, constraint_name) WHERE fk.referenced_column_name IS NOT NULL AND fk.table_schema = database() AND fk.table_name = 'articles' AND rc.constraint_schema = database() AND rc.table_name = 'articles';
SELECT GET_LOCK('123', 0); SELECT RELEASE_LOCK('123');
