//! Lists of sessions, KILL, and what they cost.

use super::*;

struct Silent;
impl Wake for Silent {
    fn wake(&self) {}
    fn cut(&self) {}
}

#[test]
fn kill_finds_the_session_and_nobody_else() {
    let slots = SlotTable::new(8, 8);
    let registry = Registry::new(Arc::clone(&slots));
    let sessions: Vec<_> = (0..3)
        .map(|i| {
            let slot = slots.acquire_session().unwrap();
            slot.session_id.store(10 + i, Ordering::Relaxed);
            registry.begin(slot.index(), 10 + i, format!("h{i}"), Arc::new(Silent));
            slot
        })
        .collect();
    assert!(registry.kill(11, sync::KILL_QUERY));
    assert!(!registry.kill(99, sync::KILL_QUERY));
    let killed: Vec<_> = sessions.iter().map(|s| s.killed()).collect();
    assert_eq!(killed, [false, true, false]);
    registry.leave(sessions[2].index());
    assert!(!registry.kill(12, sync::KILL_QUERY), "it has no client any more");
    assert_eq!(registry.processes().iter().filter(|p| p.line.leaves).count(), 1);
    registry.end(sessions[0].index());
    assert_eq!(registry.processes().iter().map(|p| p.line.id).collect::<Vec<_>>(), [11, 12]);
}

/// A registry of so many sessions, and what keeps them.
fn with_sessions(n: usize) -> (Registry, Vec<sync::SessionSlotRef>) {
    let slots = SlotTable::new(n, 1);
    let registry = Registry::new(Arc::clone(&slots));
    let begin = |id: usize| {
        let slot = slots.acquire_session().unwrap();
        slot.session_id.store(id as u64 + 1, Ordering::Relaxed);
        registry.begin(slot.index(), id as u64 + 1, format!("h{id}"), Arc::new(Silent));
        slot
    };
    let sessions = (0..n).map(begin).collect();
    (registry, sessions)
}

/// For [`the_lists_of_sessions_cost_as_much_as_there_are_sessions`], which runs it under callgrind.
#[test]
#[ignore = "run by another test"]
fn lists_of_sessions() {
    let n = std::env::var("LIMPID_SESSIONS").map_or(10, |n| n.parse().unwrap());
    let (registry, sessions) = with_sessions(n);
    every_list(&registry, &sessions);
}

/// Everything that looks through all sessions.
#[inline(never)]
fn every_list(registry: &Registry, sessions: &[sync::SessionSlotRef]) {
    assert_eq!(registry.processes().len(), sessions.len());
    assert_eq!((registry.running(), registry.count_of("nobody", 0)), (0, 0));
    assert!(!registry.kill(u64::MAX, sync::KILL_QUERY));
    assert_eq!(registry.thread_of(u64::MAX), None);
    registry.flush_status();
}

#[test]
fn the_lists_of_sessions_cost_as_much_as_there_are_sessions() {
    let cost = |n: usize| {
        let out = std::env::temp_dir().join(format!("limpid-list-{}-{n}", std::process::id()));
        let run = std::process::Command::new("valgrind")
            .args(["--tool=callgrind", "--toggle-collect=*every_list*", "--quiet"])
            .arg(format!("--callgrind-out-file={}", out.display()))
            .arg(std::env::current_exe().unwrap())
            .args(["--ignored", "--exact", "registry::tests::lists_of_sessions"])
            .env("LIMPID_SESSIONS", n.to_string())
            .output()
            .unwrap();
        assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
        let text = std::fs::read_to_string(&out).unwrap();
        std::fs::remove_file(&out).unwrap();
        let total = text.lines().rfind(|l| l.starts_with("totals:")).unwrap();
        total.split_whitespace().nth(1).unwrap().parse::<f64>().unwrap()
    };
    let (few, many) = (cost(100), cost(1000));
    assert!(few > 10_000.0 && many <= 12.0 * few, "{few} instructions of 100, {many} of 1,000");
}

#[test]
fn the_process_list_shows_what_was_published() {
    let slots = SlotTable::new(2, 2);
    let registry = Registry::new(Arc::clone(&slots));
    let slot = slots.acquire_session().unwrap();
    slot.session_id.store(5, Ordering::Relaxed);
    registry.begin(slot.index(), 5, "localhost".into(), Arc::new(Silent));
    registry.rename(slot.index(), "root", Some("db"));
    let entry = registry.entry(slot.index());
    entry.publish(Activity::Query, sync::now_ns(), b"select 1 from t");
    let p = registry.processes().remove(0);
    assert_eq!((p.line.command, p.line.info.as_deref()), ("Query", Some("select 1 from t")));
    assert_eq!((p.line.client.user.as_str(), p.line.client.db.as_deref()), ("root", Some("db")));
    entry.publish(Activity::Sleep, sync::now_ns(), b"");
    let p = registry.processes().remove(0);
    assert_eq!((p.line.info, p.query_id), (None, (5 << 32) + 2), "Connect and one statement");
}
