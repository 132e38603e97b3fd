//! Which cores servers and clients run on while they are measured.

use super::{LONGEST, SHORT, lab, servers};
use std::collections::BTreeSet;
use std::process::Stdio;
use std::time::Instant;
use testkit::TempDir;

/// The numbers of a list of cores, as `/proc` has it.
fn cores(list: &str) -> BTreeSet<u32> {
    let range = |range: &str| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        first.parse::<u32>().unwrap()..=last.parse().unwrap()
    };
    list.trim().split(',').flat_map(range).collect()
}

/// What cores the threads of a process may use, of each that is another set.
fn cores_of(process: &str) -> BTreeSet<BTreeSet<u32>> {
    let tasks = std::fs::read_dir(format!("/proc/{process}/task"));
    let status = tasks.into_iter().flatten().flatten();
    let status = status.filter_map(|task| std::fs::read_to_string(task.path().join("status")).ok());
    status
        .filter_map(|text| {
            let line = text.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
            line.map(cores)
        })
        .collect()
}

/// What cores the threads of the server, and of the lab, had while words ran: each set of sets that was seen.
fn pinned(words: &[&str]) -> [BTreeSet<BTreeSet<BTreeSet<u32>>>; 2] {
    let folder = TempDir::new();
    let mut child = lab(folder.path(), words).stdout(Stdio::null()).spawn().unwrap();
    let (begin, mut seen) = (Instant::now(), [BTreeSet::new(), BTreeSet::new()]);
    while child.try_wait().unwrap().is_none() {
        assert!(begin.elapsed() < LONGEST, "the run does not end");
        seen[0].extend(servers(folder.path()).iter().map(|pid| cores_of(&pid.to_string())));
        seen[1].insert(cores_of(&child.id().to_string()));
        testkit::pause(20);
    }
    seen
}

#[test]
fn servers_and_clients_run_on_the_cores_of_their_setting() {
    let all = cores_of("self").pop_first().unwrap();
    if all.len() < 2 {
        testkit::skip("takes two cores");
        return;
    }
    let first = |count: usize| -> BTreeSet<u32> { all.iter().copied().take(count).collect() };
    let whole = |cores: BTreeSet<u32>| BTreeSet::from([cores]);
    let [server, _] = pinned(&[&["run", "cores", "--users=2"], &SHORT[..]].concat());
    for cores in [all.clone(), first(1), first(2)] {
        assert!(server.contains(&whole(cores.clone())), "{cores:?}: {server:?}");
    }
    let apart = [&["run", "hot-table", "--users=2", "--pin=apart"], &SHORT[..]].concat();
    let [server, client] = pinned(&apart);
    let half = first(all.len().div_ceil(2));
    let others: BTreeSet<u32> = all.difference(&half).copied().collect();
    assert!(server.contains(&whole(half)), "{server:?}");
    assert!(client.iter().flatten().any(|cores| *cores == others), "{client:?}");
}
