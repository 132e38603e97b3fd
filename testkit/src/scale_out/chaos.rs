//! Transfers between shards while the proxy and the servers are killed and started again.
//!
//! Tellers go on through everything: who loses the connection comes back. A transfer counts as acknowledged when the answer to
//! its COMMIT arrived; of others nobody knows, and the audit holds them to be whole or not there.

use super::bank::{self, Transfer};
use super::{Cluster, proxy};
use std::collections::HashSet;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use stdx::rng::Rng;

const TELLERS: u64 = 6;
/// Of one teller.
const TRANSFERS_MAX: u64 = 1_000_000_000;
/// After so many rounds branches without a decision get the time to go: a proxy that is killed begins to wait anew, and their
/// locks let hardly anybody transfer.
const ROUNDS_TO_REST: u64 = 4;
/// How long branches may stay in doubt when everything runs again.
const SETTLED: Duration = Duration::from_secs(180);

/// What a run did.
#[derive(Debug, Default)]
pub struct Report {
    /// Transfers whose COMMIT was answered.
    pub acknowledged: usize,
    /// Lines in the ledger at the end: also those of whose COMMIT nobody knew.
    pub made: usize,
    /// How often the proxy was killed.
    pub proxies: u64,
    /// How often a server was.
    pub servers: u64,
    /// Branches in doubt that were seen after kills, added up.
    pub in_doubt: usize,
    /// How long it took until the last one was settled.
    pub settled: Duration,
}

/// Kills at random for so many rounds, then lets everything run and audits.
///
/// # Errors
/// What is wrong with the accounts, or what does not start again.
pub fn run(cluster: &mut Cluster, rounds: u64, seed: u64) -> Result<Report, String> {
    bank::open(&mut cluster.client())?;
    let (stop, acknowledged) = (AtomicBool::new(false), Mutex::new(HashSet::new()));
    let (socket, shards) = (cluster.socket().to_path_buf(), cluster.shards() as u64);
    let (mut rng, mut report) = (Rng::new(seed), Report::default());
    let went = std::thread::scope(|scope| {
        for n in 0..TELLERS {
            let (socket, stop, acknowledged) = (&socket, &stop, &acknowledged);
            scope.spawn(move || tell(socket, shards, seed * TELLERS + n, stop, acknowledged));
        }
        let _stopped = Stopped(&stop);
        (1..=rounds).try_for_each(|round| -> Result<(), String> {
            one_round(cluster, &mut rng, &mut report)?;
            if round % ROUNDS_TO_REST == 0 {
                bank::settled(cluster, SETTLED)?;
            }
            let so_far = acknowledged.lock().map_or(0, |set| set.len());
            println!("round {round} of {rounds}: {so_far} transfers acknowledged");
            Ok(())
        })
    });
    went?;
    report.settled = bank::settled(cluster, SETTLED)?;
    let acknowledged = acknowledged.into_inner().map_err(|_| "a teller failed".to_string())?;
    report.acknowledged = acknowledged.len();
    report.made = bank::audit(cluster, &acknowledged)?;
    Ok(report)
}

/// Tells the tellers to stop when it goes, also when a round panics.
struct Stopped<'a>(&'a AtomicBool);

impl Drop for Stopped<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Lets the tellers work, kills the proxy, a server, or both, and starts them again.
fn one_round(cluster: &mut Cluster, rng: &mut Rng, report: &mut Report) -> Result<(), String> {
    crate::pause(300 + rng.below(1_500));
    let (with_proxy, with_shard) =
        [(true, false), (false, true), (true, true)][rng.below(3) as usize];
    let victim = rng.below(cluster.shards() as u64) as usize;
    let proxy_first = rng.below(2) == 0;
    if with_proxy && proxy_first {
        cluster.kill_proxy();
        crate::pause(rng.below(20));
    }
    if with_shard {
        cluster.kill_shard(victim);
        crate::pause(rng.below(300));
        report.servers += 1;
    }
    if with_proxy && !proxy_first {
        cluster.kill_proxy();
    }
    if with_shard {
        cluster.start_shard(victim)?;
    }
    report.in_doubt += bank::in_doubt(cluster);
    if with_proxy {
        report.proxies += 1;
        cluster.start_proxy()?;
    }
    Ok(())
}

/// Transfers until it is told to stop. No other teller, of this run or another, has its seed.
fn tell(
    socket: &Path,
    shards: u64,
    seed: u64,
    stop: &AtomicBool,
    acknowledged: &Mutex<HashSet<u64>>,
) {
    let mut rng = Rng::new(seed);
    let mut client = None;
    for id in seed * TRANSFERS_MAX + 1.. {
        if stop.load(Ordering::Relaxed) {
            return;
        }
        if client.is_none() {
            client = proxy::session(socket);
        }
        let Some(session) = &mut client else {
            crate::pause(100);
            continue;
        };
        match Transfer::random(&mut rng, id, shards).make(session) {
            Some(Ok(())) => {
                acknowledged.lock().expect("no teller fails").insert(id);
            }
            // A wait that was too long, a server that is not there: the client's part is to give up the transaction.
            Some(Err(_)) if matches!(session.attempt("ROLLBACK"), Some(Ok(_))) => {}
            _ => client = None,
        }
    }
}
