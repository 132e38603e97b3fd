//! Lists of sessions, KILL, and what they cost.

use super::*;
use catalog::SessionOrder;

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
    assert_eq!((p.line.who.user(), p.line.who.db()), (&b"root"[..], Some(&b"db"[..])));
    assert_eq!(p.line.who.host(), b"localhost");
    entry.publish(Activity::Sleep, sync::now_ns(), b"");
    let p = registry.processes().remove(0);
    assert_eq!((p.line.info, p.query_id), (None, (5 << 32) + 2), "Connect and one statement");
}

/// What each session of the list does.
fn commands(registry: &Registry) -> Vec<&'static str> {
    registry.processes().iter().map(|p| p.line.command).collect()
}

#[test]
fn who_is_killed_while_idle_is_shown_as_that_and_the_next_in_the_slot_is_not() {
    let (registry, sessions) = with_sessions(2);
    let idles = || {
        let entry = registry.entry(sessions[0].index());
        entry.publish(Activity::Sleep, sync::now_ns(), b"");
    };
    idles();
    assert!(registry.kill(1, sync::KILL_QUERY));
    assert_eq!(commands(&registry), ["Sleep", "Connect"]);
    assert!(registry.kill(1, sync::KILL_CONNECTION));
    assert_eq!(commands(&registry), ["Killed", "Connect"]);
    registry.end(sessions[0].index());
    assert_eq!(commands(&registry), ["Connect"]);
    sessions[0].session_id.store(9, Ordering::Relaxed);
    registry.begin(sessions[0].index(), 9, "h".into(), Arc::new(Silent));
    idles();
    assert_eq!(commands(&registry), ["Connect", "Sleep"]);
}

#[test]
fn lists_are_ordered_by_connection_or_thread_whatever_the_slots_are() {
    let slots = SlotTable::new(2, 1);
    let registry = Registry::new(Arc::clone(&slots));
    let _sessions = [20, 10].map(|id| {
        let slot = slots.acquire_session().unwrap();
        slot.session_id.store(id, Ordering::Relaxed);
        registry.begin(slot.index(), id, "h".into(), Arc::new(Silent));
        slot
    });
    let ids = |order| {
        let mut ids = Vec::new();
        registry.each_process(order, |p| ids.push(p.line.id));
        ids
    };
    assert_eq!(ids(SessionOrder::Connection), [10, 20]);
    assert_eq!(ids(SessionOrder::Thread), [20, 10]);
}

/// A list that took the mutex would never end here.
#[test]
fn a_list_waits_for_nobody_who_comes_or_goes() {
    let (registry, sessions) = with_sessions(3);
    let goes = registry.entry(sessions[1].index()).identity.lock();
    assert_eq!(registry.processes().len(), 3);
    drop(goes);
}

#[test]
fn user_and_schema_of_a_row_are_of_one_moment_however_long_they_are() {
    const TIMES: usize = 3_000;
    let (registry, sessions) = with_sessions(1);
    let slot = sessions[0].index();
    let long = "x".repeat(badge::BADGE_BYTES_MAX);
    let users = ["a", "a_longer_one", long.as_str()];
    registry.rename(slot, users[0], Some(users[0]));
    std::thread::scope(|scope| {
        let renames = scope.spawn(|| {
            for &user in users.iter().cycle().take(TIMES) {
                registry.rename(slot, user, Some(user));
            }
        });
        let mut is_over = false;
        while !is_over {
            is_over = renames.is_finished();
            registry.each_process(SessionOrder::Connection, |p| {
                let who = &p.line.who;
                assert_eq!(who.db(), Some(who.user()));
                assert_eq!(who.host(), b"h0");
                assert!(users.iter().any(|user| user.as_bytes() == who.user()));
            });
        }
    });
}
