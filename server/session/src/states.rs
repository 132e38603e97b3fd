//! What the process list calls the state of a session, in MySQL's words: derived by whoever reads the list from what
//! the session publishes anyway.

use mdl::{Namespace, WAIT_CLASS as METADATA};

/// Class of FLUSH TABLES that waits for who uses the tables.
pub const FLUSH: &str = "wait/synch/cond/sql/TABLE_SHARE::cond";
/// Class of SLEEP().
const SLEEP: &str = "wait/synch/cond/host/sleep";
/// Class of waits for the log of a commit.
const COMMIT: &str = "wait/synch/cond/innodb/log_flushed";

/// The state of a session that runs `text`, is in this stage and in a wait of this class, for a lock of this kind.
pub fn state_of(
    wait: Option<&str>,
    lock: Option<Namespace>,
    (stage, text): (Option<&'static str>, &str),
) -> &'static str {
    let verb = verb(text);
    match (wait, lock) {
        (Some(METADATA), Some(Namespace::Table)) if verb == "FLUSH" => "Waiting for table flush",
        (Some(METADATA), lock) => lock.unwrap_or(Namespace::Table).wait_state(),
        (Some(FLUSH), _) => "Waiting for table flush",
        (Some(SLEEP), _) => "User sleep",
        (Some(COMMIT), _) => "waiting for handler commit",
        // The engine's stages are no states of their own.
        _ => match stage.and_then(|stage| stage.strip_prefix("stage/sql/")) {
            Some(stage) => stage,
            None => statement_state(&verb, text),
        },
    }
}

/// Where a statement is most of its time.
fn statement_state(verb: &str, text: &str) -> &'static str {
    match verb {
        "" => "",
        "SELECT" | "WITH" | "TABLE" | "VALUES" | "DO" | "SET" | "EXECUTE" | "EXPLAIN" => {
            "executing"
        }
        "INSERT" | "REPLACE" => "update",
        "UPDATE" | "DELETE" => "updating",
        "ALTER" if second(text) == "TABLE" => "altering table",
        "CREATE" | "DROP" if matches!(&*second(text), "INDEX" | "UNIQUE") => "altering table",
        "CREATE" if second(text) == "TABLE" => "creating table",
        "SHOW" => "init",
        _ => "starting",
    }
}

/// The first word of a statement, in capitals; comments and parentheses before it do not count.
pub fn verb(text: &str) -> String {
    word(text)
}

/// The second word of a statement, in capitals.
pub fn second(text: &str) -> String {
    let text = start(text);
    word(text.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '_'))
}

fn word(text: &str) -> String {
    let letters = start(text).chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_');
    letters.map(|c| c.to_ascii_uppercase()).collect()
}

/// Behind spaces, parentheses and comments.
fn start(mut text: &str) -> &str {
    loop {
        text = text.trim_start_matches(|c: char| c.is_whitespace() || c == '(');
        let rest = match text {
            t if t.starts_with("/*") => t[2..].split_once("*/"),
            t if t.starts_with('#') || t.starts_with("-- ") => t.split_once('\n'),
            _ => return text,
        };
        let Some((_, rest)) = rest else { return "" };
        text = rest;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_have_their_names_and_the_rest_is_told_by_the_verb() {
        let of = |text| state_of(None, None, (None, text));
        assert_eq!(of("/* c */ (select 1)"), "executing");
        assert_eq!(of("-- a\nalter  table t add a int"), "altering table");
        assert_eq!((of("insert t values (1)"), of("Delete from t")), ("update", "updating"));
        assert_eq!((of(""), of("/* open"), of("commit")), ("", "", "starting"));
        let metadata = |lock, text| state_of(Some(METADATA), Some(lock), (None, text));
        assert_eq!(metadata(Namespace::Table, "drop table t"), "Waiting for table metadata lock");
        assert_eq!(metadata(Namespace::Table, "flush tables t"), "Waiting for table flush");
        assert_eq!(metadata(Namespace::BackupLock, "drop table t"), "Waiting for backup lock");
        assert_eq!(state_of(Some(SLEEP), None, (None, "select sleep(1)")), "User sleep");
        let row_lock = Some("wait/lock/innodb/row");
        assert_eq!(state_of(row_lock, None, (None, "update t set a=1")), "updating");
        let copies = (Some("stage/sql/copy to tmp table"), "alter table t add a int");
        assert_eq!(state_of(None, None, copies), "copy to tmp table");
    }
}
