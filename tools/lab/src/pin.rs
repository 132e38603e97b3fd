//! Which cores server and client run on.
//!
//! A process is pinned thread by thread; threads that it starts later inherit the cores of who starts them.

use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::path::Path;

/// A way to share the cores.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Pin {
    /// Both on all cores.
    All,
    /// Both on the first half of the cores.
    Same,
    /// The server on the first half, the client on the others.
    Apart,
    /// The server on the first half, the client on all.
    Half,
    /// The server on the first so many, the client on all.
    #[value(skip)]
    First(u32),
}

/// Cores of server and client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cores {
    /// Numbers of the server's.
    pub server: Vec<usize>,
    /// Numbers of the client's.
    pub client: Vec<usize>,
}

/// The cores that this process may use.
pub fn available() -> Vec<usize> {
    let set = sched_getaffinity(None).unwrap_or_else(|_| CpuSet::new());
    (0..CpuSet::MAX_CPU).filter(|core| set.is_set(*core)).collect()
}

impl Pin {
    /// The cores of each.
    ///
    /// # Errors
    /// There are too few for this way.
    pub fn cores(self, all: &[usize]) -> Result<Cores, String> {
        let half = all.len().div_ceil(2);
        let of = |server: &[usize], client: &[usize]| Cores {
            server: server.to_vec(),
            client: client.to_vec(),
        };
        match self {
            Pin::All => Ok(of(all, all)),
            Pin::Same => Ok(of(&all[..half], &all[..half])),
            Pin::Apart if all.len() < 2 => {
                Err("client and server apart takes two cores, there is one".into())
            }
            Pin::Apart => Ok(of(&all[..half], &all[half..])),
            Pin::Half => Ok(of(&all[..half], all)),
            Pin::First(count) if all.len() < count as usize => {
                Err(format!("it takes {count} cores, this machine has {}", all.len()))
            }
            Pin::First(count) => Ok(of(&all[..count as usize], all)),
        }
    }

    /// Words for tables.
    pub fn words(self) -> String {
        match self {
            Pin::All => "all cores".into(),
            Pin::Same => "client and server on the first half of the cores".into(),
            Pin::Apart => "server on the first half of the cores, client on the others".into(),
            Pin::Half => "server on the first half of the cores, client on all".into(),
            Pin::First(count) => format!("server on {count} of the cores, client on all"),
        }
    }
}

fn set_of(cores: &[usize]) -> CpuSet {
    let mut set = CpuSet::new();
    cores.iter().for_each(|core| set.set(*core));
    set
}

/// Pins the calling thread; what it starts inherits it.
pub fn pin_thread(cores: &[usize]) {
    // Cores that were there a moment ago; where one is gone the thread stays where it is.
    let _unpinned = sched_setaffinity(None, &set_of(cores));
}

/// Pins all threads of a process.
///
/// # Errors
/// The system's: the process belongs to another user, or has ended.
pub fn pin_process(pid: u32, cores: &[usize]) -> Result<(), String> {
    let set = set_of(cores);
    let tasks = Path::new("/proc").join(pid.to_string()).join("task");
    let tasks = std::fs::read_dir(&tasks).map_err(|e| format!("{}: {e}", tasks.display()))?;
    for task in tasks.flatten() {
        let number = task.file_name().to_string_lossy().parse().ok();
        match sched_setaffinity(number.and_then(Pid::from_raw), &set) {
            // A thread that ended meanwhile.
            Ok(()) | Err(rustix::io::Errno::SRCH) => {}
            Err(e) => return Err(format!("cores of process {pid}: {e}")),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_core_refuses_what_takes_two() {
        assert!(Pin::Apart.cores(&[3]).unwrap_err().contains("two cores"));
        assert!(Pin::First(2).cores(&[3]).unwrap_err().contains("takes 2 cores"));
        assert_eq!(Pin::Same.cores(&[3]).unwrap().client, [3]);
        let apart = Pin::Apart.cores(&[0, 1, 2]).unwrap();
        assert_eq!((apart.server, apart.client), (vec![0, 1], vec![2]));
        let half = Pin::Half.cores(&[0, 1, 2]).unwrap();
        assert_eq!((half.server, half.client), (vec![0, 1], vec![0, 1, 2]));
        assert_eq!(Pin::First(1).cores(&[0, 1]).unwrap().server, [0]);
    }
}
