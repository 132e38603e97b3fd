//! A server that runs already: where it listens and who logs in.
//!
//! Tests that compare with a real MySQL find it in `LIMPID_PEER`, written as `cargo xtask bench` writes its peers:
//! `socket=PATH user=NAME password=WORD`.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Where a server listens and who logs in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Peer {
    /// Its Unix socket.
    pub socket: PathBuf,
    /// Account.
    pub user: String,
    /// Its password; often empty.
    pub password: String,
}

impl From<&Path> for Peer {
    /// root without a password.
    fn from(socket: &Path) -> Peer {
        Peer { socket: socket.into(), user: "root".into(), password: String::new() }
    }
}

impl From<&PathBuf> for Peer {
    fn from(socket: &PathBuf) -> Peer {
        Peer::from(socket.as_path())
    }
}

impl From<&Peer> for Peer {
    fn from(peer: &Peer) -> Peer {
        peer.clone()
    }
}

impl Peer {
    /// Reads `socket=PATH user=NAME password=WORD`; root without a password where they are left out.
    ///
    /// # Errors
    /// The field that is missing or unknown.
    pub fn parse(dsn: &str) -> Result<Peer, String> {
        let mut peer = Peer::from(Path::new(""));
        for field in dsn.split_whitespace() {
            match field.split_once('=') {
                Some(("socket", path)) => peer.socket = path.into(),
                Some(("user", user)) => peer.user = user.into(),
                Some(("password", password)) => peer.password = password.into(),
                Some(("name" | "pid" | "host" | "port", _)) => {}
                _ => return Err(format!("{field}: a peer is socket=PATH user=NAME password=WORD")),
            }
        }
        match peer.socket.as_os_str().is_empty() {
            true => Err(format!("{dsn:?} names no socket")),
            false => Ok(peer),
        }
    }

    /// The peer that `LIMPID_PEER` names.
    ///
    /// # Panics
    /// When it names none.
    pub fn of_environment() -> Peer {
        let dsn = std::env::var("LIMPID_PEER").expect("LIMPID_PEER=\"socket=... user=...\"");
        Peer::parse(&dsn).unwrap_or_else(|e| panic!("LIMPID_PEER: {e}"))
    }

    /// The stock client for it.
    pub fn client(&self) -> Command {
        let mut command = crate::client::stock_client();
        command.args(self.client_arguments());
        command
    }

    /// What the stock client needs to reach it, without options of its own.
    pub fn client_arguments(&self) -> Vec<String> {
        let mut arguments = vec![
            "--no-defaults".to_string(),
            format!("--socket={}", self.socket.display()),
            format!("--user={}", self.user),
            "--batch".into(),
            "--skip-column-names".into(),
        ];
        if !self.password.is_empty() {
            arguments.push(format!("--password={}", self.password));
        }
        arguments
    }

    /// Runs statements through the stock client; their output, tab-separated.
    ///
    /// # Errors
    /// What the client printed as an error.
    pub fn sql(&self, statements: &str) -> Result<String, String> {
        let answer = crate::run(self.client().arg("--execute").arg(statements));
        match answer.ok {
            true => Ok(answer.text().to_string()),
            false => Err(format!("{statements}: {}", answer.err.trim())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_is_read_as_it_is_written() {
        let peer = Peer::parse("socket=/s user=probe password=x name=MySQL").unwrap();
        assert_eq!(peer, Peer { socket: "/s".into(), user: "probe".into(), password: "x".into() });
        assert_eq!(Peer::parse("socket=/s").unwrap(), Peer::from(Path::new("/s")));
        assert!(Peer::parse("user=root").is_err() && Peer::parse("socket=/s usr=x").is_err());
    }
}
