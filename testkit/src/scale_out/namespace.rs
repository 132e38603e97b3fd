//! A network of its own, with loopback alone: who listens there on every address is reached by nobody outside.
//!
//! ShardingSphere-Proxy 5.1.0 binds every address and has no option for another one. Here it runs in a network namespace; the
//! one way in is a Unix socket, which the file system guards, and what is relayed to it.
//!
//! 1. The namespace lives as long as its keeper, the relay from the socket to the port inside.
//! 2. Root makes it as it is; others in a user namespace of their own, where the system lets them.

use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// A namespace and the way in.
#[derive(Debug)]
pub struct Namespace {
    keeper: Running,
    /// Made with a user namespace around it.
    is_users: bool,
    entrance: PathBuf,
}

impl Namespace {
    /// A namespace with a socket that leads to a TCP port on its loopback.
    ///
    /// # Errors
    /// When this system allows none, or a program is missing.
    pub fn with_entrance(entrance: &Path, port: u16) -> Result<Namespace, String> {
        let is_users = match (makes(&["--net"]), makes(&["--user", "--map-root-user", "--net"])) {
            (true, _) => false,
            (false, true) => true,
            _ => return Err("this system allows no network namespace (unshare --net)".into()),
        };
        let _ = std::fs::remove_file(entrance);
        let socket = entrance.display();
        // The keeper becomes the relay, so that its process is the namespace's.
        let script = format!(
            "ip link set lo up && exec socat UNIX-LISTEN:{socket},fork,mode=600 TCP:127.0.0.1:{port}"
        );
        let mut command = Command::new("setsid");
        command.arg("unshare").args(if is_users {
            &["--user", "--map-root-user"][..]
        } else {
            &[]
        });
        command.args(["--net", "sh", "-c", &script]);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let keeper = Running::start(&mut command, "the relay into the namespace")?;
        let namespace = Namespace { keeper, is_users, entrance: entrance.into() };
        for _ in 0..500 {
            if entrance.exists() {
                return Ok(namespace);
            }
            crate::pause(10);
        }
        Err("no relay into the namespace: are ip (iproute2) and socat there?".into())
    }

    /// The socket that leads in.
    pub fn entrance(&self) -> &Path {
        &self.entrance
    }

    /// The keeper's process.
    pub fn pid(&self) -> u32 {
        self.keeper.pid()
    }

    /// What stands before a program so that it runs inside, in a session of its own.
    pub fn inside(&self) -> Vec<String> {
        let keeper = self.keeper.pid().to_string();
        let mut words = vec!["setsid", "nsenter", "--target", &keeper];
        if self.is_users {
            words.extend(["--user", "--preserve-credentials"]);
        }
        words.push("--net");
        words.into_iter().map(String::from).collect()
    }

    /// A program that runs inside.
    pub fn command(&self, program: &str) -> Command {
        let words = self.inside();
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).arg(program);
        command
    }

    /// Relays a TCP port of this machine's loopback to the entrance. It listens on return.
    ///
    /// # Errors
    /// When there is no relay, or the port is in use.
    pub fn published(&self, port: u16) -> Result<Running, String> {
        let listen = format!("TCP-LISTEN:{port},bind=127.0.0.1,reuseaddr,fork");
        let mut command = Command::new("setsid");
        command.args(["socat", &listen, &format!("UNIX-CONNECT:{}", self.entrance.display())]);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        is_free(port)?;
        let mut relay = Running::start(&mut command, "the relay to the namespace")?;
        for _ in 0..500 {
            let listens = TcpStream::connect(("127.0.0.1", port)).is_ok();
            // Somebody may have come between.
            if relay.is_over() {
                break;
            }
            if listens {
                return Ok(relay);
            }
            crate::pause(10);
        }
        Err(format!("no relay listens on port {port}"))
    }
}

/// Whether nobody listens on a port of this machine's loopback.
///
/// # Errors
/// When somebody does.
pub fn is_free(port: u16) -> Result<(), String> {
    let listened = TcpListener::bind(("127.0.0.1", port));
    listened.map(drop).map_err(|e| format!("port {port} of 127.0.0.1: {e}"))
}

/// Whether `unshare` with these options runs a program.
fn makes(options: &[&str]) -> bool {
    let mut command = Command::new("unshare");
    command.args(options).arg("true").stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// A process that ends with its owner.
#[derive(Debug)]
pub struct Running(Child);

impl Running {
    /// Starts it, without input.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn start(command: &mut Command, what: &str) -> Result<Running, String> {
        command.stdin(Stdio::null()).spawn().map(Running).map_err(|e| format!("{what}: {e}"))
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.0.id()
    }

    /// Whether it has ended by itself.
    pub fn is_over(&mut self) -> bool {
        !matches!(self.0.try_wait(), Ok(None))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_that_somebody_listens_on_is_not_free() {
        let taken = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = taken.local_addr().unwrap().port();
        assert!(is_free(port).unwrap_err().contains(&port.to_string()));
        drop(taken);
        is_free(port).unwrap();
    }
}
