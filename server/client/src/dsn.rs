//! Where a server listens and who logs in, as one line of text.

use std::path::PathBuf;
use std::time::Duration;

/// The port of a server that is named by its host alone.
const PORT: u16 = 3306;

/// How long a server of another machine may take to accept a connection, unless the caller says otherwise.
const CONNECT_WAIT: Duration = Duration::from_secs(10);

/// `socket=PATH` or `host=NAME port=N`, then `user=`, `password=`, `name=`, `pid=` where they are not the usual, and
/// `get-server-public-key`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dsn {
    /// Its Unix socket; it goes before the host.
    pub socket: Option<PathBuf>,
    /// Host and port of a server without a socket.
    pub host: Option<(String, u16)>,
    /// Account.
    pub user: String,
    /// Its password; often empty.
    pub password: String,
    /// The key that seals the password may come from another machine.
    pub takes_key: bool,
    /// How long to wait for a connection over a network.
    pub connect_wait: Duration,
    /// What the server is called in tables.
    pub name: Option<String>,
    /// Its process, where it is on this machine.
    pub pid: Option<u32>,
}

impl Dsn {
    /// root without a password, at a socket.
    pub fn at(socket: impl Into<PathBuf>) -> Dsn {
        Dsn {
            socket: Some(socket.into()),
            host: None,
            user: "root".into(),
            password: String::new(),
            takes_key: false,
            connect_wait: CONNECT_WAIT,
            name: None,
            pid: None,
        }
    }

    /// Reads fields with blanks between them.
    ///
    /// # Errors
    /// The field that is unknown or no number, or that no place is named.
    pub fn parse(text: &str) -> Result<Dsn, String> {
        let mut dsn = Dsn { socket: None, ..Dsn::at("") };
        let (mut host, mut port) = (None, PORT);
        for field in text.split_whitespace() {
            let bad = || {
                format!(
                    "{field}: a server is socket=PATH or host=NAME port=N, then user=, password=, name=, pid=, get-server-public-key"
                )
            };
            if field == "get-server-public-key" {
                dsn.takes_key = true;
                continue;
            }
            let (key, value) = field.split_once('=').ok_or_else(bad)?;
            match key {
                "socket" => dsn.socket = Some(value.into()),
                "host" => host = Some(value.to_string()),
                "port" => port = value.parse().map_err(|_| bad())?,
                "user" => dsn.user = value.into(),
                "password" => dsn.password = value.into(),
                "name" => dsn.name = Some(value.into()),
                "pid" => dsn.pid = Some(value.parse().map_err(|_| bad())?),
                _ => return Err(bad()),
            }
        }
        dsn.host = host.map(|host| (host, port));
        match dsn.socket.is_some() || dsn.host.is_some() {
            true => Ok(dsn),
            false => Err(format!("{text:?} names no socket and no host")),
        }
    }

    /// The place alone, for messages; never the password.
    pub fn place(&self) -> String {
        match (&self.socket, &self.host) {
            (Some(socket), _) => socket.display().to_string(),
            (None, Some((host, port))) => format!("{host}:{port}"),
            (None, None) => String::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_read_as_it_is_written() {
        let dsn = Dsn::parse("socket=/s user=probe password=x name=MySQL pid=7").unwrap();
        assert_eq!(dsn.place(), "/s");
        assert_eq!((dsn.user.as_str(), dsn.pid), ("probe", Some(7)));
        assert!(!dsn.takes_key);
        let dsn = Dsn::parse("host=127.0.0.1 port=3307 get-server-public-key").unwrap();
        assert!(dsn.takes_key);
        assert_eq!((dsn.place().as_str(), dsn.user.as_str()), ("127.0.0.1:3307", "root"));
        for wrong in ["user=root", "socket=/s usr=x", "host=h port=many", "/s"] {
            assert!(Dsn::parse(wrong).is_err(), "{wrong}");
        }
    }
}
