//! What the system tells: the machine, and what processes spend.

use std::path::Path;

/// Linux reports process times in hundredths of a second.
const TICKS_PER_SECOND: f64 = 100.0;
const BYTES_PER_KIB: f64 = 1024.0;

/// The machine, in words.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Machine {
    /// Name and release of the kernel.
    pub kernel: String,
    /// The processor.
    pub processor: String,
    /// Cores that this process may use.
    pub cores: usize,
    /// Memory, in MiB.
    pub memory_mib: u64,
    /// What else runs: load of the last minute, when the run began.
    pub load: String,
}

impl Machine {
    /// This one.
    pub fn here() -> Machine {
        let name = rustix::system::uname();
        let text = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
        let field = |path: &str, key: &str| {
            let text = text(path);
            let line = text.lines().find(|line| line.starts_with(key));
            line.and_then(|l| l.split_once(':')).map(|(_, v)| v.trim().to_string())
        };
        let kib = field("/proc/meminfo", "MemTotal").unwrap_or_default();
        let kib: u64 = kib.split_whitespace().next().and_then(|k| k.parse().ok()).unwrap_or(0);
        Machine {
            kernel: [name.sysname(), name.release(), name.machine()]
                .map(|part| part.to_string_lossy().into_owned())
                .join(" "),
            processor: field("/proc/cpuinfo", "model name").unwrap_or_else(|| "unknown".into()),
            cores: crate::pin::available().len(),
            memory_mib: kib / 1024,
            load: text("/proc/loadavg").split_whitespace().next().unwrap_or("unknown").into(),
        }
    }

    /// Work of others that would be seen in the figures: a load above a fifth of the cores.
    pub fn is_busy(&self) -> bool {
        self.load.parse::<f64>().is_ok_and(|load| load > 0.2 * self.cores as f64)
    }
}

/// What a process has spent since it began.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Spent {
    /// Seconds of processor in its own code.
    pub user_s: f64,
    /// The same in the kernel.
    pub kernel_s: f64,
    /// Bytes read from devices.
    pub bytes_read: f64,
    /// Bytes written to devices.
    pub bytes_written: f64,
}

impl Spent {
    /// What a process has spent; `None` when it is gone, or not to be looked at.
    pub fn of(pid: u32) -> Option<Spent> {
        let folder = Path::new("/proc").join(pid.to_string());
        let stat = std::fs::read_to_string(folder.join("stat")).ok()?;
        // The name in parentheses may have blanks in it.
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        let ticks = |place: usize| fields.get(place)?.parse::<f64>().ok();
        let io = std::fs::read_to_string(folder.join("io")).unwrap_or_default();
        let bytes = |key: &str| {
            let line = io.lines().find_map(|line| line.strip_prefix(key));
            line.and_then(|v| v.trim().parse().ok()).unwrap_or(0.0)
        };
        Some(Spent {
            user_s: ticks(11)? / TICKS_PER_SECOND,
            kernel_s: ticks(12)? / TICKS_PER_SECOND,
            bytes_read: bytes("read_bytes:"),
            bytes_written: bytes("write_bytes:"),
        })
    }

    /// Seconds of processor.
    pub fn cpu_s(&self) -> f64 {
        self.user_s + self.kernel_s
    }
}

/// The server's thread that samples sessions, as the system names it.
const SESSION_SAMPLER: &str = "session_sampler";

/// What those threads of a process have done that are there.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Threads {
    /// Context switches: own wish, and others'.
    pub switches: [f64; 2],
    /// Seconds of processor of the thread that samples sessions; `None` where there is none.
    pub session_sampler_s: Option<f64>,
}

impl Threads {
    /// Looks at each thread of a process; `None` when it is gone.
    pub fn of(pid: u32) -> Option<Threads> {
        let tasks = Path::new("/proc").join(pid.to_string()).join("task");
        let mut threads = Threads::default();
        for task in std::fs::read_dir(tasks).ok()?.flatten() {
            let status = std::fs::read_to_string(task.path().join("status")).unwrap_or_default();
            let field = |key: &str| status.lines().find_map(|line| line.strip_prefix(key));
            let number = |key: &str| field(key).and_then(|v| v.trim().parse::<f64>().ok());
            threads.switches[0] += number("voluntary_ctxt_switches:").unwrap_or(0.0);
            threads.switches[1] += number("nonvoluntary_ctxt_switches:").unwrap_or(0.0);
            if field("Name:").is_some_and(|name| name.trim() == SESSION_SAMPLER) {
                let spent = std::fs::read_to_string(task.path().join("schedstat"));
                let spent_s = spent.ok().as_deref().and_then(processor_s).unwrap_or(0.0);
                *threads.session_sampler_s.get_or_insert(0.0) += spent_s;
            }
        }
        Some(threads)
    }
}

/// Seconds of processor in a `schedstat`, which begins with their nanoseconds.
fn processor_s(schedstat: &str) -> Option<f64> {
    Some(schedstat.split_whitespace().next()?.parse::<f64>().ok()? / 1e9)
}

/// Resident memory of a process, in MiB.
pub fn resident_mib(pid: u32) -> Option<f64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(line.split_whitespace().next()?.parse::<f64>().ok()? / BYTES_PER_KIB)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_and_this_process() {
        let machine = Machine::here();
        assert!(machine.kernel.starts_with("Linux") && machine.cores > 0, "{machine:?}");
        let own = std::process::id();
        assert!(Spent::of(own).is_some_and(|spent| spent.cpu_s() >= 0.0));
        assert!(Threads::of(own).is_some() && resident_mib(own).is_some_and(|m| m > 0.5));
        // No process has number 0.
        assert_eq!((Spent::of(0), Threads::of(0)), (None, None));
    }

    #[test]
    fn a_thread_is_found_by_its_name() {
        let own = std::process::id();
        let sampler_s = || Threads::of(own).and_then(|threads| threads.session_sampler_s);
        assert_eq!(sampler_s(), None);
        let (end, ends) = std::sync::mpsc::channel::<()>();
        let (ready, is_ready) = std::sync::mpsc::channel();
        let thread = host::thread::spawn(SESSION_SAMPLER, move || {
            ready.send(()).is_ok() && ends.recv().is_err()
        });
        assert!(is_ready.recv().is_ok() && sampler_s().is_some());
        drop(end);
        assert!(thread.unwrap().join().unwrap());
        assert_eq!(processor_s("2000000 15 3"), Some(0.002));
    }
}
