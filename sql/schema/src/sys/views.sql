# statement_analysis
SELECT {statement:d.DIGEST_TEXT} AS query, d.SCHEMA_NAME AS db,
 IF(d.SUM_NO_GOOD_INDEX_USED > 0 OR d.SUM_NO_INDEX_USED > 0, '*', '') AS full_scan,
 d.COUNT_STAR AS exec_count, {raw:d.COUNT_SECONDARY AS exec_secondary_count,}
 d.SUM_ERRORS AS err_count, d.SUM_WARNINGS AS warn_count,
 {time:d.SUM_TIMER_WAIT} AS total_latency, {time:d.MAX_TIMER_WAIT} AS max_latency, {time:d.AVG_TIMER_WAIT} AS avg_latency,
 {time:d.SUM_LOCK_TIME} AS lock_latency, {time:d.SUM_CPU_TIME} AS cpu_latency,
 d.SUM_ROWS_SENT AS rows_sent, ROUND(IFNULL(d.SUM_ROWS_SENT / NULLIF(d.COUNT_STAR, 0), 0)) AS rows_sent_avg,
 d.SUM_ROWS_EXAMINED AS rows_examined, ROUND(IFNULL(d.SUM_ROWS_EXAMINED / NULLIF(d.COUNT_STAR, 0), 0)) AS rows_examined_avg,
 d.SUM_ROWS_AFFECTED AS rows_affected, ROUND(IFNULL(d.SUM_ROWS_AFFECTED / NULLIF(d.COUNT_STAR, 0), 0)) AS rows_affected_avg,
 d.SUM_CREATED_TMP_TABLES AS tmp_tables, d.SUM_CREATED_TMP_DISK_TABLES AS tmp_disk_tables,
 d.SUM_SORT_ROWS AS rows_sorted, d.SUM_SORT_MERGE_PASSES AS sort_merge_passes,
 {bytes:d.MAX_CONTROLLED_MEMORY} AS max_controlled_memory, {bytes:d.MAX_TOTAL_MEMORY} AS max_total_memory,
 d.DIGEST AS digest, d.FIRST_SEEN AS first_seen, d.LAST_SEEN AS last_seen
FROM performance_schema.events_statements_summary_by_digest AS d
ORDER BY d.SUM_TIMER_WAIT DESC

# statements_with_errors_or_warnings
SELECT {statement:d.DIGEST_TEXT} AS query, d.SCHEMA_NAME AS db, d.COUNT_STAR AS exec_count,
 d.SUM_ERRORS AS errors, IFNULL(d.SUM_ERRORS / NULLIF(d.COUNT_STAR, 0), 0) * 100 AS error_pct,
 d.SUM_WARNINGS AS warnings, IFNULL(d.SUM_WARNINGS / NULLIF(d.COUNT_STAR, 0), 0) * 100 AS warning_pct,
 d.FIRST_SEEN AS first_seen, d.LAST_SEEN AS last_seen, d.DIGEST AS digest
FROM performance_schema.events_statements_summary_by_digest AS d
WHERE d.SUM_ERRORS > 0 OR d.SUM_WARNINGS > 0
ORDER BY d.SUM_ERRORS DESC, d.SUM_WARNINGS DESC

# statements_with_full_table_scans
SELECT {statement:d.DIGEST_TEXT} AS query, d.SCHEMA_NAME AS db, d.COUNT_STAR AS exec_count,
 {time:d.SUM_TIMER_WAIT} AS total_latency,
 d.SUM_NO_INDEX_USED AS no_index_used_count, d.SUM_NO_GOOD_INDEX_USED AS no_good_index_used_count,
 ROUND(IFNULL(d.SUM_NO_INDEX_USED / NULLIF(d.COUNT_STAR, 0), 0) * 100) AS no_index_used_pct,
 d.SUM_ROWS_SENT AS rows_sent, d.SUM_ROWS_EXAMINED AS rows_examined,
 ROUND(d.SUM_ROWS_SENT / d.COUNT_STAR) AS rows_sent_avg, ROUND(d.SUM_ROWS_EXAMINED / d.COUNT_STAR) AS rows_examined_avg,
 d.FIRST_SEEN AS first_seen, d.LAST_SEEN AS last_seen, d.DIGEST AS digest
FROM performance_schema.events_statements_summary_by_digest AS d
WHERE (d.SUM_NO_INDEX_USED > 0 OR d.SUM_NO_GOOD_INDEX_USED > 0) AND d.DIGEST_TEXT NOT LIKE 'SHOW%'
ORDER BY no_index_used_pct DESC, d.SUM_TIMER_WAIT DESC

# statements_with_sorting
SELECT {statement:d.DIGEST_TEXT} AS query, d.SCHEMA_NAME AS db, d.COUNT_STAR AS exec_count,
 {time:d.SUM_TIMER_WAIT} AS total_latency, d.SUM_SORT_MERGE_PASSES AS sort_merge_passes,
 ROUND(IFNULL(d.SUM_SORT_MERGE_PASSES / NULLIF(d.COUNT_STAR, 0), 0)) AS avg_sort_merges,
 d.SUM_SORT_SCAN AS sorts_using_scans, d.SUM_SORT_RANGE AS sort_using_range,
 d.SUM_SORT_ROWS AS rows_sorted, ROUND(IFNULL(d.SUM_SORT_ROWS / NULLIF(d.COUNT_STAR, 0), 0)) AS avg_rows_sorted,
 d.FIRST_SEEN AS first_seen, d.LAST_SEEN AS last_seen, d.DIGEST AS digest
FROM performance_schema.events_statements_summary_by_digest AS d
WHERE d.SUM_SORT_ROWS > 0
ORDER BY d.SUM_TIMER_WAIT DESC

# statements_with_temp_tables
SELECT {statement:d.DIGEST_TEXT} AS query, d.SCHEMA_NAME AS db, d.COUNT_STAR AS exec_count,
 {time:d.SUM_TIMER_WAIT} AS total_latency,
 d.SUM_CREATED_TMP_TABLES AS memory_tmp_tables, d.SUM_CREATED_TMP_DISK_TABLES AS disk_tmp_tables,
 ROUND(IFNULL(d.SUM_CREATED_TMP_TABLES / NULLIF(d.COUNT_STAR, 0), 0)) AS avg_tmp_tables_per_query,
 ROUND(IFNULL(d.SUM_CREATED_TMP_DISK_TABLES / NULLIF(d.SUM_CREATED_TMP_TABLES, 0), 0) * 100) AS tmp_tables_to_disk_pct,
 d.FIRST_SEEN AS first_seen, d.LAST_SEEN AS last_seen, d.DIGEST AS digest
FROM performance_schema.events_statements_summary_by_digest AS d
WHERE d.SUM_CREATED_TMP_TABLES > 0
ORDER BY d.SUM_CREATED_TMP_DISK_TABLES DESC, d.SUM_CREATED_TMP_TABLES DESC

# statements_with_runtimes_in_95th_percentile
SELECT {statement:d.DIGEST_TEXT} AS query, d.SCHEMA_NAME AS db,
 IF(d.SUM_NO_GOOD_INDEX_USED > 0 OR d.SUM_NO_INDEX_USED > 0, '*', '') AS full_scan,
 d.COUNT_STAR AS exec_count, d.SUM_ERRORS AS err_count, d.SUM_WARNINGS AS warn_count,
 {time:d.SUM_TIMER_WAIT} AS total_latency, {time:d.MAX_TIMER_WAIT} AS max_latency, {time:d.AVG_TIMER_WAIT} AS avg_latency,
 d.SUM_ROWS_SENT AS rows_sent, ROUND(IFNULL(d.SUM_ROWS_SENT / NULLIF(d.COUNT_STAR, 0), 0)) AS rows_sent_avg,
 d.SUM_ROWS_EXAMINED AS rows_examined, ROUND(IFNULL(d.SUM_ROWS_EXAMINED / NULLIF(d.COUNT_STAR, 0), 0)) AS rows_examined_avg,
 d.FIRST_SEEN AS first_seen, d.LAST_SEEN AS last_seen, d.DIGEST AS digest
FROM performance_schema.events_statements_summary_by_digest AS d
JOIN sys.x$ps_digest_95th_percentile_by_avg_us AS p ON ROUND(d.AVG_TIMER_WAIT / 1000000) >= p.avg_us
ORDER BY d.AVG_TIMER_WAIT DESC

# x$ps_digest_avg_latency_distribution
SELECT COUNT(*) AS cnt, ROUND(AVG_TIMER_WAIT / 1000000) AS avg_us
FROM performance_schema.events_statements_summary_by_digest
GROUP BY avg_us

# x$ps_digest_95th_percentile_by_avg_us
SELECT shares.avg_us AS avg_us, shares.percentile AS percentile
FROM (SELECT avg_us, IFNULL(SUM(cnt) OVER (ORDER BY avg_us) / NULLIF(SUM(cnt) OVER (), 0), 0) AS percentile
 FROM sys.x$ps_digest_avg_latency_distribution) AS shares
WHERE shares.percentile > 0.95
ORDER BY shares.percentile
LIMIT 1

# @who_summary_by_statement_latency
SELECT IFNULL(e.@WHO, 'background') AS @who, SUM(e.COUNT_STAR) AS total,
 {time:SUM(e.SUM_TIMER_WAIT)} AS total_latency, {time:MAX(e.MAX_TIMER_WAIT)} AS max_latency,
 {time:SUM(e.SUM_LOCK_TIME)} AS lock_latency, {time:SUM(e.SUM_CPU_TIME)} AS cpu_latency,
 SUM(e.SUM_ROWS_SENT) AS rows_sent, SUM(e.SUM_ROWS_EXAMINED) AS rows_examined, SUM(e.SUM_ROWS_AFFECTED) AS rows_affected,
 SUM(e.SUM_NO_INDEX_USED) + SUM(e.SUM_NO_GOOD_INDEX_USED) AS full_scans
FROM performance_schema.events_statements_summary_by_@who_by_event_name AS e
GROUP BY IFNULL(e.@WHO, 'background')
ORDER BY SUM(e.SUM_TIMER_WAIT) DESC

# @who_summary_by_statement_type
SELECT IFNULL(e.@WHO, 'background') AS @who, SUBSTRING_INDEX(e.EVENT_NAME, '/', -1) AS statement, e.COUNT_STAR AS total,
 {time:e.SUM_TIMER_WAIT} AS total_latency, {time:e.MAX_TIMER_WAIT} AS max_latency,
 {time:e.SUM_LOCK_TIME} AS lock_latency, {time:e.SUM_CPU_TIME} AS cpu_latency,
 e.SUM_ROWS_SENT AS rows_sent, e.SUM_ROWS_EXAMINED AS rows_examined, e.SUM_ROWS_AFFECTED AS rows_affected,
 e.SUM_NO_INDEX_USED + e.SUM_NO_GOOD_INDEX_USED AS full_scans
FROM performance_schema.events_statements_summary_by_@who_by_event_name AS e
WHERE e.SUM_TIMER_WAIT <> 0
ORDER BY @who, e.SUM_TIMER_WAIT DESC

# @who_summary_by_stages
SELECT IFNULL(e.@WHO, 'background') AS @who, e.EVENT_NAME AS event_name, e.COUNT_STAR AS total,
 {time:e.SUM_TIMER_WAIT} AS total_latency, {time:e.AVG_TIMER_WAIT} AS avg_latency
FROM performance_schema.events_stages_summary_by_@who_by_event_name AS e
WHERE e.SUM_TIMER_WAIT <> 0
ORDER BY @who, e.SUM_TIMER_WAIT DESC

# @who_summary_by_file_io
SELECT IFNULL(e.@WHO, 'background') AS @who, SUM(e.COUNT_STAR) AS ios, {time:SUM(e.SUM_TIMER_WAIT)} AS io_latency
FROM performance_schema.events_waits_summary_by_@who_by_event_name AS e
WHERE e.EVENT_NAME LIKE 'wait/io/file/%'
GROUP BY IFNULL(e.@WHO, 'background')
ORDER BY SUM(e.SUM_TIMER_WAIT) DESC

# host_summary_by_file_io_type
SELECT IFNULL(e.HOST, 'background') AS host, e.EVENT_NAME AS event_name, e.COUNT_STAR AS total,
 {time:e.SUM_TIMER_WAIT} AS total_latency, {time:e.MAX_TIMER_WAIT} AS max_latency
FROM performance_schema.events_waits_summary_by_host_by_event_name AS e
WHERE e.EVENT_NAME LIKE 'wait/io/file%' AND e.COUNT_STAR > 0
ORDER BY host, e.SUM_TIMER_WAIT DESC

# user_summary_by_file_io_type
SELECT IFNULL(e.USER, 'background') AS user, e.EVENT_NAME AS event_name, e.COUNT_STAR AS total,
 {time:e.SUM_TIMER_WAIT} AS latency, {time:e.MAX_TIMER_WAIT} AS max_latency
FROM performance_schema.events_waits_summary_by_user_by_event_name AS e
WHERE e.EVENT_NAME LIKE 'wait/io/file%' AND e.COUNT_STAR > 0
ORDER BY user, e.SUM_TIMER_WAIT DESC

# @who_summary
SELECT IFNULL(a.@WHO, 'background') AS @who, SUM(s.total) AS statements,
 {time:SUM(s.total_latency)} AS statement_latency,
 {time:IFNULL(SUM(s.total_latency) / NULLIF(SUM(s.total), 0), 0)} AS statement_avg_latency,
 SUM(s.full_scans) AS table_scans, SUM(i.ios) AS file_ios, {time:SUM(i.io_latency)} AS file_io_latency,
 SUM(a.CURRENT_CONNECTIONS) AS current_connections, SUM(a.TOTAL_CONNECTIONS) AS total_connections,
 COUNT(DISTINCT a.@OTHER) AS unique_@others,
 {bytes:SUM(m.current_allocated)} AS current_memory, {bytes:SUM(m.total_allocated)} AS total_memory_allocated
FROM performance_schema.accounts AS a
LEFT JOIN sys.x$@who_summary_by_statement_latency AS s ON s.@who = IFNULL(a.@WHO, 'background')
LEFT JOIN sys.x$@who_summary_by_file_io AS i ON i.@who = IFNULL(a.@WHO, 'background')
LEFT JOIN sys.x$memory_by_@who_by_current_bytes AS m ON m.@who = IFNULL(a.@WHO, 'background')
GROUP BY IFNULL(a.@WHO, 'background')
ORDER BY SUM(s.total_latency) DESC

# memory_by_@who_by_current_bytes
SELECT IFNULL(e.@WHO, 'background') AS @who, SUM(e.CURRENT_COUNT_USED) AS current_count_used,
 {bytes:SUM(e.CURRENT_NUMBER_OF_BYTES_USED)} AS current_allocated,
 {bytes:IFNULL(SUM(e.CURRENT_NUMBER_OF_BYTES_USED) / NULLIF(SUM(e.CURRENT_COUNT_USED), 0), 0)} AS current_avg_alloc,
 {bytes:MAX(e.CURRENT_NUMBER_OF_BYTES_USED)} AS current_max_alloc,
 {bytes:SUM(e.SUM_NUMBER_OF_BYTES_ALLOC)} AS total_allocated
FROM performance_schema.memory_summary_by_@who_by_event_name AS e
GROUP BY IFNULL(e.@WHO, 'background')
ORDER BY SUM(e.CURRENT_NUMBER_OF_BYTES_USED) DESC

# memory_by_thread_by_current_bytes
SELECT t.THREAD_ID AS thread_id,
 IF(t.NAME = 'thread/sql/one_connection', CONCAT(t.PROCESSLIST_USER, '@', t.PROCESSLIST_HOST), REPLACE(t.NAME, 'thread/', '')) AS user,
 SUM(e.CURRENT_COUNT_USED) AS current_count_used,
 {bytes:SUM(e.CURRENT_NUMBER_OF_BYTES_USED)} AS current_allocated,
 {bytes:IFNULL(SUM(e.CURRENT_NUMBER_OF_BYTES_USED) / NULLIF(SUM(e.CURRENT_COUNT_USED), 0), 0)} AS current_avg_alloc,
 {bytes:MAX(e.CURRENT_NUMBER_OF_BYTES_USED)} AS current_max_alloc,
 {bytes:SUM(e.SUM_NUMBER_OF_BYTES_ALLOC)} AS total_allocated
FROM performance_schema.memory_summary_by_thread_by_event_name AS e
JOIN performance_schema.threads AS t ON t.THREAD_ID = e.THREAD_ID
GROUP BY t.THREAD_ID, user
ORDER BY SUM(e.CURRENT_NUMBER_OF_BYTES_USED) DESC

# memory_global_by_current_bytes
SELECT e.EVENT_NAME AS event_name, e.CURRENT_COUNT_USED AS current_count,
 {bytes:e.CURRENT_NUMBER_OF_BYTES_USED} AS current_alloc,
 {bytes:IFNULL(e.CURRENT_NUMBER_OF_BYTES_USED / NULLIF(e.CURRENT_COUNT_USED, 0), 0)} AS current_avg_alloc,
 e.HIGH_COUNT_USED AS high_count, {bytes:e.HIGH_NUMBER_OF_BYTES_USED} AS high_alloc,
 {bytes:IFNULL(e.HIGH_NUMBER_OF_BYTES_USED / NULLIF(e.HIGH_COUNT_USED, 0), 0)} AS high_avg_alloc
FROM performance_schema.memory_summary_global_by_event_name AS e
WHERE e.CURRENT_NUMBER_OF_BYTES_USED > 0
ORDER BY e.CURRENT_NUMBER_OF_BYTES_USED DESC

# memory_global_total
SELECT {bytes:SUM(CURRENT_NUMBER_OF_BYTES_USED)} AS total_allocated
FROM performance_schema.memory_summary_global_by_event_name

# waits_global_by_latency
SELECT e.EVENT_NAME AS events, e.COUNT_STAR AS total, {time:e.SUM_TIMER_WAIT} AS total_latency,
 {time:e.AVG_TIMER_WAIT} AS avg_latency, {time:e.MAX_TIMER_WAIT} AS max_latency
FROM performance_schema.events_waits_summary_global_by_event_name AS e
WHERE e.EVENT_NAME <> 'idle' AND e.SUM_TIMER_WAIT > 0
ORDER BY e.SUM_TIMER_WAIT DESC

# waits_by_@who_by_latency
SELECT IFNULL(e.@WHO, 'background') AS @who, e.EVENT_NAME AS event, e.COUNT_STAR AS total,
 {time:e.SUM_TIMER_WAIT} AS total_latency, {time:e.AVG_TIMER_WAIT} AS avg_latency, {time:e.MAX_TIMER_WAIT} AS max_latency
FROM performance_schema.events_waits_summary_by_@who_by_event_name AS e
WHERE e.EVENT_NAME <> 'idle' AND e.@WHO IS NOT NULL AND e.SUM_TIMER_WAIT > 0
ORDER BY e.@WHO, e.SUM_TIMER_WAIT DESC

# wait_classes_global_by_latency
SELECT SUBSTRING_INDEX(e.EVENT_NAME, '/', 3) AS event_class, SUM(e.COUNT_STAR) AS total,
 {time:SUM(e.SUM_TIMER_WAIT)} AS total_latency, {time:MIN(e.MIN_TIMER_WAIT)} AS min_latency,
 {time:IFNULL(SUM(e.SUM_TIMER_WAIT) / NULLIF(SUM(e.COUNT_STAR), 0), 0)} AS avg_latency, {time:MAX(e.MAX_TIMER_WAIT)} AS max_latency
FROM performance_schema.events_waits_summary_global_by_event_name AS e
WHERE e.SUM_TIMER_WAIT > 0 AND e.EVENT_NAME <> 'idle'
GROUP BY event_class
ORDER BY SUM(e.SUM_TIMER_WAIT) DESC

# wait_classes_global_by_avg_latency
SELECT c.event_class AS event_class, c.total AS total, {time:c.total_latency} AS total_latency, {time:c.min_latency} AS min_latency,
 {time:c.avg_latency} AS avg_latency, {time:c.max_latency} AS max_latency
FROM sys.x$wait_classes_global_by_latency AS c
ORDER BY c.avg_latency DESC

# io_by_thread_by_latency
SELECT IF(t.PROCESSLIST_ID IS NULL, SUBSTRING_INDEX(t.NAME, '/', -1), CONCAT(t.PROCESSLIST_USER, '@', t.PROCESSLIST_HOST)) AS user,
 SUM(e.COUNT_STAR) AS total, {time:SUM(e.SUM_TIMER_WAIT)} AS total_latency, {time:MIN(e.MIN_TIMER_WAIT)} AS min_latency,
 {time:AVG(e.AVG_TIMER_WAIT)} AS avg_latency, {time:MAX(e.MAX_TIMER_WAIT)} AS max_latency,
 t.THREAD_ID AS thread_id, t.PROCESSLIST_ID AS processlist_id
FROM performance_schema.events_waits_summary_by_thread_by_event_name AS e
JOIN performance_schema.threads AS t ON t.THREAD_ID = e.THREAD_ID
WHERE e.EVENT_NAME LIKE 'wait/io/file/%' AND e.SUM_TIMER_WAIT > 0
GROUP BY t.THREAD_ID, t.PROCESSLIST_ID, user
ORDER BY SUM(e.SUM_TIMER_WAIT) DESC

# io_global_by_file_by_bytes
SELECT {path:f.FILE_NAME} AS file, f.COUNT_READ AS count_read, {bytes:f.SUM_NUMBER_OF_BYTES_READ} AS total_read,
 {bytes:IFNULL(f.SUM_NUMBER_OF_BYTES_READ / NULLIF(f.COUNT_READ, 0), 0)} AS avg_read,
 f.COUNT_WRITE AS count_write, {bytes:f.SUM_NUMBER_OF_BYTES_WRITE} AS total_written,
 {bytes:IFNULL(f.SUM_NUMBER_OF_BYTES_WRITE / NULLIF(f.COUNT_WRITE, 0), 0)} AS avg_write,
 {bytes:f.SUM_NUMBER_OF_BYTES_READ + f.SUM_NUMBER_OF_BYTES_WRITE} AS total,
 IFNULL(ROUND(100 - f.SUM_NUMBER_OF_BYTES_READ / NULLIF(f.SUM_NUMBER_OF_BYTES_READ + f.SUM_NUMBER_OF_BYTES_WRITE, 0) * 100, 2), 0.00) AS write_pct
FROM performance_schema.file_summary_by_instance AS f
ORDER BY f.SUM_NUMBER_OF_BYTES_READ + f.SUM_NUMBER_OF_BYTES_WRITE DESC

# io_global_by_file_by_latency
SELECT {path:f.FILE_NAME} AS file, f.COUNT_STAR AS total, {time:f.SUM_TIMER_WAIT} AS total_latency,
 f.COUNT_READ AS count_read, {time:f.SUM_TIMER_READ} AS read_latency,
 f.COUNT_WRITE AS count_write, {time:f.SUM_TIMER_WRITE} AS write_latency,
 f.COUNT_MISC AS count_misc, {time:f.SUM_TIMER_MISC} AS misc_latency
FROM performance_schema.file_summary_by_instance AS f
ORDER BY f.SUM_TIMER_WAIT DESC

# io_global_by_wait_by_bytes
SELECT SUBSTRING(f.EVENT_NAME, 14) AS event_name, f.COUNT_STAR AS total,
 {time:f.SUM_TIMER_WAIT} AS total_latency, {time:f.MIN_TIMER_WAIT} AS min_latency,
 {time:f.AVG_TIMER_WAIT} AS avg_latency, {time:f.MAX_TIMER_WAIT} AS max_latency,
 f.COUNT_READ AS count_read, {bytes:f.SUM_NUMBER_OF_BYTES_READ} AS total_read,
 {bytes:IFNULL(f.SUM_NUMBER_OF_BYTES_READ / NULLIF(f.COUNT_READ, 0), 0)} AS avg_read,
 f.COUNT_WRITE AS count_write, {bytes:f.SUM_NUMBER_OF_BYTES_WRITE} AS total_written,
 {bytes:IFNULL(f.SUM_NUMBER_OF_BYTES_WRITE / NULLIF(f.COUNT_WRITE, 0), 0)} AS avg_written,
 {bytes:f.SUM_NUMBER_OF_BYTES_WRITE + f.SUM_NUMBER_OF_BYTES_READ} AS total_requested
FROM performance_schema.file_summary_by_event_name AS f
WHERE f.EVENT_NAME LIKE 'wait/io/file/%' AND f.COUNT_STAR > 0
ORDER BY f.SUM_NUMBER_OF_BYTES_WRITE + f.SUM_NUMBER_OF_BYTES_READ DESC

# io_global_by_wait_by_latency
SELECT SUBSTRING(f.EVENT_NAME, 14) AS event_name, f.COUNT_STAR AS total,
 {time:f.SUM_TIMER_WAIT} AS total_latency, {time:f.AVG_TIMER_WAIT} AS avg_latency, {time:f.MAX_TIMER_WAIT} AS max_latency,
 {time:f.SUM_TIMER_READ} AS read_latency, {time:f.SUM_TIMER_WRITE} AS write_latency, {time:f.SUM_TIMER_MISC} AS misc_latency,
 f.COUNT_READ AS count_read, {bytes:f.SUM_NUMBER_OF_BYTES_READ} AS total_read,
 {bytes:IFNULL(f.SUM_NUMBER_OF_BYTES_READ / NULLIF(f.COUNT_READ, 0), 0)} AS avg_read,
 f.COUNT_WRITE AS count_write, {bytes:f.SUM_NUMBER_OF_BYTES_WRITE} AS total_written,
 {bytes:IFNULL(f.SUM_NUMBER_OF_BYTES_WRITE / NULLIF(f.COUNT_WRITE, 0), 0)} AS avg_written
FROM performance_schema.file_summary_by_event_name AS f
WHERE f.EVENT_NAME LIKE 'wait/io/file/%' AND f.COUNT_STAR > 0
ORDER BY f.SUM_TIMER_WAIT DESC

# latest_file_io
SELECT IF(t.PROCESSLIST_ID IS NULL, CONCAT(SUBSTRING_INDEX(t.NAME, '/', -1), ':', w.THREAD_ID),
  CONCAT(t.PROCESSLIST_USER, '@', t.PROCESSLIST_HOST, ':', t.PROCESSLIST_ID)) AS thread,
 {path:w.OBJECT_NAME} AS file, {time:w.TIMER_WAIT} AS latency, w.OPERATION AS operation, {bytes:w.NUMBER_OF_BYTES} AS requested
FROM performance_schema.events_waits_history_long AS w
JOIN performance_schema.threads AS t ON t.THREAD_ID = w.THREAD_ID
WHERE w.OBJECT_NAME IS NOT NULL AND w.EVENT_NAME LIKE 'wait/io/file/%'
ORDER BY w.TIMER_START

# schema_index_statistics
SELECT i.OBJECT_SCHEMA AS table_schema, i.OBJECT_NAME AS table_name, i.INDEX_NAME AS index_name,
 i.COUNT_FETCH AS rows_selected, {time:i.SUM_TIMER_FETCH} AS select_latency,
 i.COUNT_INSERT AS rows_inserted, {time:i.SUM_TIMER_INSERT} AS insert_latency,
 i.COUNT_UPDATE AS rows_updated, {time:i.SUM_TIMER_UPDATE} AS update_latency,
 i.COUNT_DELETE AS rows_deleted, {time:i.SUM_TIMER_DELETE} AS delete_latency
FROM performance_schema.table_io_waits_summary_by_index_usage AS i
WHERE i.INDEX_NAME IS NOT NULL
ORDER BY i.SUM_TIMER_WAIT DESC

# schema_unused_indexes
SELECT i.OBJECT_SCHEMA AS object_schema, i.OBJECT_NAME AS object_name, i.INDEX_NAME AS index_name
FROM performance_schema.table_io_waits_summary_by_index_usage AS i
JOIN information_schema.STATISTICS AS s ON s.TABLE_SCHEMA = i.OBJECT_SCHEMA AND s.TABLE_NAME = i.OBJECT_NAME
 AND s.INDEX_NAME = i.INDEX_NAME
WHERE i.INDEX_NAME IS NOT NULL AND i.INDEX_NAME <> 'PRIMARY' AND i.COUNT_STAR = 0 AND i.OBJECT_SCHEMA <> 'mysql'
 AND s.NON_UNIQUE = 1 AND s.SEQ_IN_INDEX = 1
ORDER BY i.OBJECT_SCHEMA, i.OBJECT_NAME

# schema_tables_with_full_table_scans
SELECT i.OBJECT_SCHEMA AS object_schema, i.OBJECT_NAME AS object_name, i.COUNT_READ AS rows_full_scanned,
 {time:i.SUM_TIMER_WAIT} AS latency
FROM performance_schema.table_io_waits_summary_by_index_usage AS i
WHERE i.INDEX_NAME IS NULL AND i.COUNT_READ > 0
ORDER BY i.COUNT_READ DESC

# x$ps_schema_table_statistics_io
SELECT SUBSTRING_INDEX(s.NAME, '/', 1) AS table_schema, SUBSTRING_INDEX(s.NAME, '/', -1) AS table_name,
 SUM(f.COUNT_READ) AS count_read, SUM(f.SUM_NUMBER_OF_BYTES_READ) AS sum_number_of_bytes_read, SUM(f.SUM_TIMER_READ) AS sum_timer_read,
 SUM(f.COUNT_WRITE) AS count_write, SUM(f.SUM_NUMBER_OF_BYTES_WRITE) AS sum_number_of_bytes_write, SUM(f.SUM_TIMER_WRITE) AS sum_timer_write,
 SUM(f.COUNT_MISC) AS count_misc, SUM(f.SUM_TIMER_MISC) AS sum_timer_misc
FROM performance_schema.file_summary_by_instance AS f
JOIN information_schema.INNODB_DATAFILES AS d ON SUBSTRING_INDEX(f.FILE_NAME, '/', -1) = SUBSTRING_INDEX(d.PATH, '/', -1)
JOIN information_schema.INNODB_TABLESPACES AS s ON s.SPACE = d.SPACE
GROUP BY table_schema, table_name

# schema_table_statistics
SELECT t.OBJECT_SCHEMA AS table_schema, t.OBJECT_NAME AS table_name, {time:t.SUM_TIMER_WAIT} AS total_latency,
 t.COUNT_FETCH AS rows_fetched, {time:t.SUM_TIMER_FETCH} AS fetch_latency,
 t.COUNT_INSERT AS rows_inserted, {time:t.SUM_TIMER_INSERT} AS insert_latency,
 t.COUNT_UPDATE AS rows_updated, {time:t.SUM_TIMER_UPDATE} AS update_latency,
 t.COUNT_DELETE AS rows_deleted, {time:t.SUM_TIMER_DELETE} AS delete_latency,
 io.count_read AS io_read_requests, {bytes:io.sum_number_of_bytes_read} AS io_read, {time:io.sum_timer_read} AS io_read_latency,
 io.count_write AS io_write_requests, {bytes:io.sum_number_of_bytes_write} AS io_write, {time:io.sum_timer_write} AS io_write_latency,
 io.count_misc AS io_misc_requests, {time:io.sum_timer_misc} AS io_misc_latency
FROM performance_schema.table_io_waits_summary_by_table AS t
LEFT JOIN sys.x$ps_schema_table_statistics_io AS io ON io.table_schema = t.OBJECT_SCHEMA AND io.table_name = t.OBJECT_NAME
ORDER BY t.SUM_TIMER_WAIT DESC

# schema_object_overview
SELECT o.db AS db, o.object_type AS object_type, o.count AS count
FROM (SELECT TABLE_SCHEMA AS db, TABLE_TYPE AS object_type, COUNT(*) AS count FROM information_schema.TABLES GROUP BY TABLE_SCHEMA, TABLE_TYPE
 UNION ALL SELECT TABLE_SCHEMA, CONCAT('INDEX (', INDEX_TYPE, ')'), COUNT(*) FROM information_schema.STATISTICS GROUP BY TABLE_SCHEMA, INDEX_TYPE
 UNION ALL SELECT ROUTINE_SCHEMA, ROUTINE_TYPE, COUNT(*) FROM information_schema.ROUTINES GROUP BY ROUTINE_SCHEMA, ROUTINE_TYPE
 UNION ALL SELECT TRIGGER_SCHEMA, 'TRIGGER', COUNT(*) FROM information_schema.TRIGGERS GROUP BY TRIGGER_SCHEMA
 UNION ALL SELECT EVENT_SCHEMA, 'EVENT', COUNT(*) FROM information_schema.EVENTS GROUP BY EVENT_SCHEMA) AS o
ORDER BY o.db, o.object_type

# schema_auto_increment_columns
SELECT a.table_schema AS table_schema, a.table_name AS table_name, a.column_name AS column_name, a.data_type AS data_type,
 a.column_type AS column_type, a.is_signed AS is_signed, a.is_unsigned AS is_unsigned, a.max_value AS max_value,
 a.auto_increment AS auto_increment, a.auto_increment / a.max_value AS auto_increment_ratio
FROM (SELECT t.TABLE_SCHEMA AS table_schema, t.TABLE_NAME AS table_name, c.COLUMN_NAME AS column_name, c.DATA_TYPE AS data_type,
  c.COLUMN_TYPE AS column_type, LOCATE('unsigned', c.COLUMN_TYPE) = 0 AS is_signed, LOCATE('unsigned', c.COLUMN_TYPE) > 0 AS is_unsigned,
  18446744073709551615 >> 64 - CASE c.DATA_TYPE WHEN 'tinyint' THEN 8 WHEN 'smallint' THEN 16 WHEN 'mediumint' THEN 24
   WHEN 'int' THEN 32 ELSE 64 END + (LOCATE('unsigned', c.COLUMN_TYPE) = 0) AS max_value,
  t.AUTO_INCREMENT AS auto_increment
 FROM information_schema.COLUMNS AS c
 JOIN information_schema.TABLES AS t ON t.TABLE_SCHEMA = c.TABLE_SCHEMA AND t.TABLE_NAME = c.TABLE_NAME
 WHERE c.TABLE_SCHEMA NOT IN ('mysql', 'sys', 'information_schema', 'performance_schema') AND t.TABLE_TYPE = 'BASE TABLE'
  AND c.EXTRA = 'auto_increment') AS a
ORDER BY auto_increment_ratio DESC, a.max_value

# x$schema_flattened_keys
SELECT s.TABLE_SCHEMA AS table_schema, s.TABLE_NAME AS table_name, s.INDEX_NAME AS index_name,
 MAX(s.NON_UNIQUE) AS non_unique, MAX(IF(s.SUB_PART IS NULL, 0, 1)) AS subpart_exists,
 GROUP_CONCAT(s.COLUMN_NAME ORDER BY s.SEQ_IN_INDEX SEPARATOR ',') AS index_columns
FROM information_schema.STATISTICS AS s
WHERE s.INDEX_TYPE = 'BTREE' AND s.TABLE_SCHEMA NOT IN ('mysql', 'sys', 'information_schema', 'performance_schema')
GROUP BY s.TABLE_SCHEMA, s.TABLE_NAME, s.INDEX_NAME

# schema_redundant_indexes
SELECT r.table_schema AS table_schema, r.table_name AS table_name, r.index_name AS redundant_index_name,
 r.index_columns AS redundant_index_columns, r.non_unique AS redundant_index_non_unique,
 d.index_name AS dominant_index_name, d.index_columns AS dominant_index_columns, d.non_unique AS dominant_index_non_unique,
 IF(r.subpart_exists OR d.subpart_exists, 1, 0) AS subpart_exists,
 CONCAT('ALTER TABLE `', r.table_schema, '`.`', r.table_name, '` DROP INDEX `', r.index_name, '`') AS sql_drop_index
FROM sys.x$schema_flattened_keys AS r
JOIN sys.x$schema_flattened_keys AS d ON d.table_schema = r.table_schema AND d.table_name = r.table_name
WHERE r.index_name <> d.index_name
 AND (r.index_columns = d.index_columns
   AND (r.non_unique, r.index_name <> 'PRIMARY', r.index_name) > (d.non_unique, d.index_name <> 'PRIMARY', d.index_name)
  OR r.non_unique = 1 AND LEFT(d.index_columns, CHAR_LENGTH(r.index_columns) + 1) = CONCAT(r.index_columns, ',')
  OR d.non_unique = 0 AND LEFT(r.index_columns, CHAR_LENGTH(d.index_columns) + 1) = CONCAT(d.index_columns, ','))

# innodb_lock_waits
SELECT r.trx_wait_started AS wait_started, TIMEDIFF(NOW(), r.trx_wait_started) AS wait_age,
 TIMESTAMPDIFF(SECOND, r.trx_wait_started, NOW()) AS wait_age_secs,
 CONCAT('`', REPLACE(rl.OBJECT_SCHEMA, '`', '``'), '`.`', REPLACE(rl.OBJECT_NAME, '`', '``'), '`') AS locked_table,
 rl.OBJECT_SCHEMA AS locked_table_schema, rl.OBJECT_NAME AS locked_table_name,
 rl.PARTITION_NAME AS locked_table_partition, rl.SUBPARTITION_NAME AS locked_table_subpartition,
 rl.INDEX_NAME AS locked_index, rl.LOCK_TYPE AS locked_type,
 r.trx_id AS waiting_trx_id, r.trx_started AS waiting_trx_started, TIMEDIFF(NOW(), r.trx_started) AS waiting_trx_age,
 r.trx_rows_locked AS waiting_trx_rows_locked, r.trx_rows_modified AS waiting_trx_rows_modified,
 r.trx_mysql_thread_id AS waiting_pid, {statement:r.trx_query} AS waiting_query,
 rl.ENGINE_LOCK_ID AS waiting_lock_id, rl.LOCK_MODE AS waiting_lock_mode,
 b.trx_id AS blocking_trx_id, b.trx_mysql_thread_id AS blocking_pid, {statement:b.trx_query} AS blocking_query,
 bl.ENGINE_LOCK_ID AS blocking_lock_id, bl.LOCK_MODE AS blocking_lock_mode,
 b.trx_started AS blocking_trx_started, TIMEDIFF(NOW(), b.trx_started) AS blocking_trx_age,
 b.trx_rows_locked AS blocking_trx_rows_locked, b.trx_rows_modified AS blocking_trx_rows_modified,
 CONCAT('KILL QUERY ', b.trx_mysql_thread_id) AS sql_kill_blocking_query,
 CONCAT('KILL ', b.trx_mysql_thread_id) AS sql_kill_blocking_connection
FROM performance_schema.data_lock_waits AS w
JOIN information_schema.INNODB_TRX AS r ON r.trx_id = w.REQUESTING_ENGINE_TRANSACTION_ID
JOIN information_schema.INNODB_TRX AS b ON b.trx_id = w.BLOCKING_ENGINE_TRANSACTION_ID
JOIN performance_schema.data_locks AS rl ON rl.ENGINE_LOCK_ID = w.REQUESTING_ENGINE_LOCK_ID
JOIN performance_schema.data_locks AS bl ON bl.ENGINE_LOCK_ID = w.BLOCKING_ENGINE_LOCK_ID
ORDER BY r.trx_wait_started

# schema_table_lock_waits
SELECT g.OBJECT_SCHEMA AS object_schema, g.OBJECT_NAME AS object_name,
 pt.THREAD_ID AS waiting_thread_id, pt.PROCESSLIST_ID AS waiting_pid,
 CONCAT(pt.PROCESSLIST_USER, '@', pt.PROCESSLIST_HOST) AS waiting_account,
 p.LOCK_TYPE AS waiting_lock_type, p.LOCK_DURATION AS waiting_lock_duration,
 {statement:pt.PROCESSLIST_INFO} AS waiting_query, pt.PROCESSLIST_TIME AS waiting_query_secs,
 ps.ROWS_AFFECTED AS waiting_query_rows_affected, ps.ROWS_EXAMINED AS waiting_query_rows_examined,
 gt.THREAD_ID AS blocking_thread_id, gt.PROCESSLIST_ID AS blocking_pid,
 CONCAT(gt.PROCESSLIST_USER, '@', gt.PROCESSLIST_HOST) AS blocking_account,
 g.LOCK_TYPE AS blocking_lock_type, g.LOCK_DURATION AS blocking_lock_duration,
 CONCAT('KILL QUERY ', gt.PROCESSLIST_ID) AS sql_kill_blocking_query, CONCAT('KILL ', gt.PROCESSLIST_ID) AS sql_kill_blocking_connection,
 IF(gx.STATE = 'ACTIVE', gx.TIMER_WAIT DIV 1000000000000, NULL) AS blocking_trx_age,
 {statement:gs.SQL_TEXT} AS blocking_last_statement
FROM performance_schema.metadata_locks AS p
JOIN performance_schema.metadata_locks AS g ON g.OBJECT_TYPE = p.OBJECT_TYPE AND g.OBJECT_SCHEMA = p.OBJECT_SCHEMA
 AND g.OBJECT_NAME = p.OBJECT_NAME AND g.LOCK_STATUS = 'GRANTED'
JOIN performance_schema.threads AS pt ON pt.THREAD_ID = p.OWNER_THREAD_ID
JOIN performance_schema.threads AS gt ON gt.THREAD_ID = g.OWNER_THREAD_ID
LEFT JOIN performance_schema.events_statements_current AS ps ON ps.THREAD_ID = p.OWNER_THREAD_ID
LEFT JOIN performance_schema.events_statements_current AS gs ON gs.THREAD_ID = g.OWNER_THREAD_ID
LEFT JOIN performance_schema.events_transactions_current AS gx ON gx.THREAD_ID = g.OWNER_THREAD_ID
WHERE p.OBJECT_TYPE = 'TABLE' AND p.LOCK_STATUS = 'PENDING'

# processlist
SELECT t.THREAD_ID AS thd_id, t.PROCESSLIST_ID AS conn_id,
 IF(t.NAME IN ('thread/sql/one_connection', 'thread/thread_pool/tp_one_connection'),
  CONCAT(t.PROCESSLIST_USER, '@', t.PROCESSLIST_HOST), REPLACE(t.NAME, 'thread/', '')) AS user,
 t.PROCESSLIST_DB AS db, t.PROCESSLIST_COMMAND AS command, t.PROCESSLIST_STATE AS state, t.PROCESSLIST_TIME AS time,
 {statement:t.PROCESSLIST_INFO} AS current_statement, t.EXECUTION_ENGINE AS execution_engine,
 IF(s.END_EVENT_ID IS NULL, {time:s.TIMER_WAIT}, NULL) AS statement_latency,
 IF(s.END_EVENT_ID IS NULL, ROUND(100 * g.WORK_COMPLETED / g.WORK_ESTIMATED, 2), NULL) AS progress,
 {time:s.LOCK_TIME} AS lock_latency, {time:s.CPU_TIME} AS cpu_latency,
 s.ROWS_EXAMINED AS rows_examined, s.ROWS_SENT AS rows_sent, s.ROWS_AFFECTED AS rows_affected,
 s.CREATED_TMP_TABLES AS tmp_tables, s.CREATED_TMP_DISK_TABLES AS tmp_disk_tables,
 IF(s.NO_GOOD_INDEX_USED > 0 OR s.NO_INDEX_USED > 0, 'YES', 'NO') AS full_scan,
 IF(s.END_EVENT_ID IS NOT NULL, {statement:s.SQL_TEXT}, NULL) AS last_statement,
 IF(s.END_EVENT_ID IS NOT NULL, {time:s.TIMER_WAIT}, NULL) AS last_statement_latency,
 {bytes:m.current_allocated} AS current_memory, w.EVENT_NAME AS last_wait,
 IF(w.END_EVENT_ID IS NULL AND w.EVENT_NAME IS NOT NULL, 'Still Waiting', {time:w.TIMER_WAIT}) AS last_wait_latency,
 w.SOURCE AS source, {time:x.TIMER_WAIT} AS trx_latency, x.STATE AS trx_state, x.AUTOCOMMIT AS trx_autocommit,
 p.ATTR_VALUE AS pid, n.ATTR_VALUE AS program_name
FROM performance_schema.threads AS t
LEFT JOIN performance_schema.events_waits_current AS w ON w.THREAD_ID = t.THREAD_ID
LEFT JOIN performance_schema.events_stages_current AS g ON g.THREAD_ID = t.THREAD_ID
LEFT JOIN performance_schema.events_statements_current AS s ON s.THREAD_ID = t.THREAD_ID
LEFT JOIN performance_schema.events_transactions_current AS x ON x.THREAD_ID = t.THREAD_ID
LEFT JOIN sys.x$memory_by_thread_by_current_bytes AS m ON m.thread_id = t.THREAD_ID
LEFT JOIN performance_schema.session_connect_attrs AS p ON p.PROCESSLIST_ID = t.PROCESSLIST_ID AND p.ATTR_NAME = '_pid'
LEFT JOIN performance_schema.session_connect_attrs AS n ON n.PROCESSLIST_ID = t.PROCESSLIST_ID AND n.ATTR_NAME = 'program_name'
ORDER BY t.PROCESSLIST_TIME DESC, last_wait_latency DESC

# session
SELECT * FROM sys.{x}processlist WHERE conn_id IS NOT NULL AND command <> 'Daemon'

# session_ssl_status
SELECT v.THREAD_ID AS thread_id, v.VARIABLE_VALUE AS ssl_version, c.VARIABLE_VALUE AS ssl_cipher, r.VARIABLE_VALUE AS ssl_sessions_reused
FROM performance_schema.status_by_thread AS v
LEFT JOIN performance_schema.status_by_thread AS c ON c.THREAD_ID = v.THREAD_ID AND c.VARIABLE_NAME = 'Ssl_cipher'
LEFT JOIN performance_schema.status_by_thread AS r ON r.THREAD_ID = v.THREAD_ID AND r.VARIABLE_NAME = 'Ssl_sessions_reused'
WHERE v.VARIABLE_NAME = 'Ssl_version'

# ps_check_lost_instrumentation
SELECT VARIABLE_NAME AS variable_name, VARIABLE_VALUE AS variable_value
FROM performance_schema.global_status
WHERE VARIABLE_NAME LIKE 'Performance\_schema\_%\_lost' AND VARIABLE_VALUE > 0

# metrics
SELECT LOWER(VARIABLE_NAME) AS Variable_name, VARIABLE_VALUE AS Variable_value, 'Global Status' AS Type, 'YES' AS Enabled
FROM performance_schema.global_status
UNION ALL SELECT NAME, COUNT, CONCAT('InnoDB Metrics - ', SUBSYSTEM), IF(STATUS = 'enabled', 'YES', 'NO')
FROM information_schema.INNODB_METRICS
WHERE CONCAT('innodb_', NAME) NOT IN (SELECT LOWER(VARIABLE_NAME) FROM performance_schema.global_status)
UNION ALL SELECT 'memory_current_allocated', SUM(CURRENT_NUMBER_OF_BYTES_USED), 'Performance Schema',
 (SELECT IF(MIN(ENABLED) = MAX(ENABLED), MIN(ENABLED), 'PARTIAL') FROM performance_schema.setup_instruments WHERE NAME LIKE 'memory/%')
FROM performance_schema.memory_summary_global_by_event_name
UNION ALL SELECT 'memory_total_allocated', SUM(SUM_NUMBER_OF_BYTES_ALLOC), 'Performance Schema',
 (SELECT IF(MIN(ENABLED) = MAX(ENABLED), MIN(ENABLED), 'PARTIAL') FROM performance_schema.setup_instruments WHERE NAME LIKE 'memory/%')
FROM performance_schema.memory_summary_global_by_event_name
UNION ALL SELECT 'NOW()', NOW(3), 'System Time', 'YES'
UNION ALL SELECT 'UNIX_TIMESTAMP()', ROUND(UNIX_TIMESTAMP(NOW(3)), 3), 'System Time', 'YES'
ORDER BY Type, Variable_name

# version
SELECT '2.1.3' AS sys_version, VERSION() AS mysql_version
