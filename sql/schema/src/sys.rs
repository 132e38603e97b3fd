//! `sys`: views over `performance_schema` that operators ask first. Those of MySQL that are not here are not found.

use crate::information::{Cell, Information, Rows, cells, definition};
use catalog::{ProcessRow, ReadContext, SYS_SCHEMA, VirtualTable};
use mdl::{LockRow, Namespace, Status};
use std::collections::HashMap;
use std::sync::Arc;

const COLUMNS: &str = "\
schema_table_lock_waits\tobject_schema\tvarchar(64)\tYES\tutf8mb4_0900_ai_ci\t-
schema_table_lock_waits\tobject_name\tvarchar(64)\tYES\tutf8mb4_0900_ai_ci\t-
schema_table_lock_waits\twaiting_thread_id\tbigint unsigned\tNO\t-\t-
schema_table_lock_waits\twaiting_pid\tbigint unsigned\tYES\t-\t-
schema_table_lock_waits\twaiting_account\ttext\tYES\tutf8mb4_0900_ai_ci\t-
schema_table_lock_waits\twaiting_lock_type\tvarchar(32)\tNO\tutf8mb4_0900_ai_ci\t-
schema_table_lock_waits\twaiting_lock_duration\tvarchar(32)\tNO\tutf8mb4_0900_ai_ci\t-
schema_table_lock_waits\twaiting_query\tlongtext\tYES\tutf8mb4_0900_ai_ci\t-
schema_table_lock_waits\twaiting_query_secs\tbigint\tYES\t-\t-
schema_table_lock_waits\twaiting_query_rows_affected\tbigint unsigned\tYES\t-\t-
schema_table_lock_waits\twaiting_query_rows_examined\tbigint unsigned\tYES\t-\t-
schema_table_lock_waits\tblocking_thread_id\tbigint unsigned\tNO\t-\t-
schema_table_lock_waits\tblocking_pid\tbigint unsigned\tYES\t-\t-
schema_table_lock_waits\tblocking_account\ttext\tYES\tutf8mb4_0900_ai_ci\t-
schema_table_lock_waits\tblocking_lock_type\tvarchar(32)\tNO\tutf8mb4_0900_ai_ci\t-
schema_table_lock_waits\tblocking_lock_duration\tvarchar(32)\tNO\tutf8mb4_0900_ai_ci\t-
schema_table_lock_waits\tsql_kill_blocking_query\tvarchar(31)\tYES\tutf8mb4_0900_ai_ci\t-
schema_table_lock_waits\tsql_kill_blocking_connection\tvarchar(25)\tYES\tutf8mb4_0900_ai_ci\t-";

/// The views.
pub(crate) fn tables() -> Vec<Arc<dyn VirtualTable>> {
    let views = definition::parse(COLUMNS, SYS_SCHEMA).into_iter();
    views.map(|def| Arc::new(Information::new(def, table_lock_waits)) as _).collect()
}

/// Characters of a statement that is shown whole; of a longer one its begin and its end are.
const STATEMENT_CHARS_MAX: usize = 64;

/// A statement as `sys` formats it: on one line, in the middle of a long one dots.
fn shortened(text: &str) -> String {
    let chars: Vec<char> = text.chars().map(|c| if c == '\n' { ' ' } else { c }).collect();
    if chars.len() <= STATEMENT_CHARS_MAX {
        return chars.into_iter().collect();
    }
    let end = STATEMENT_CHARS_MAX / 2 - 2;
    let (first, last) = (chars[..end].iter(), chars[chars.len() - end..].iter());
    first.chain(" ... ".chars().collect::<Vec<_>>().iter()).chain(last).collect()
}

/// User and host, without a port.
fn account(p: &ProcessRow) -> String {
    let host = p.host.rsplit_once(':').map_or(p.host.as_str(), |(host, _)| host);
    format!("{}@{host}", p.user)
}

/// `schema_table_lock_waits`: every request for a table that waits, with every grant of that table.
fn table_lock_waits(context: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    let sessions = context.viewer.processes().into_iter();
    let sessions: HashMap<usize, ProcessRow> = sessions.map(|p| (p.slot, p)).collect();
    let mut granted: HashMap<(String, String), Vec<LockRow>> = HashMap::new();
    let mut pending = Vec::new();
    for lock in context.catalog.mdl().locks() {
        match lock.status {
            _ if lock.namespace != Namespace::Table => {}
            Status::Granted => {
                let name = (lock.schema.clone(), lock.name.clone());
                granted.entry(name).or_default().push(lock);
            }
            Status::Pending => pending.push(lock),
            Status::Victim => {}
        }
    }
    for waiting in &pending {
        let Some(waiter) = sessions.get(&waiting.slot) else { continue };
        let name = (waiting.schema.clone(), waiting.name.clone());
        for blocking in granted.get(&name).into_iter().flatten() {
            let Some(blocker) = sessions.get(&blocking.slot) else { continue };
            rows.push(&cells![
                &waiting.schema,
                &waiting.name,
                waiter.thread_id,
                waiter.id,
                account(waiter),
                waiting.mode.lock_type(),
                waiting.duration(),
                waiter.info.as_deref().map(shortened),
                i64::try_from(waiter.time_s).unwrap_or(i64::MAX),
                Cell::Null,
                Cell::Null,
                blocker.thread_id,
                blocker.id,
                account(blocker),
                blocking.mode.lock_type(),
                blocking.duration(),
                format!("KILL QUERY {}", blocker.id),
                format!("KILL {}", blocker.id),
            ]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_statements_lose_their_middle() {
        assert_eq!(shortened("select\n1"), "select 1");
        let long = shortened(&("a".repeat(40) + &"b".repeat(40)));
        assert_eq!(long, format!("{} ... {}", "a".repeat(30), "b".repeat(30)));
    }
}
