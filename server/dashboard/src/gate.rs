//! Who may look: the host that a request names, its method, and the account behind it.
//!
//! 1. A request names this machine, or it is refused: a page elsewhere that makes a browser ask here (DNS rebinding) names
//! its own host. 2. An account needs PROCESS, and SELECT on `performance_schema`; nobody is asked while root has no
//! password. 3. One login is tried at a time and a wrong one takes a second: whoever guesses has one guess a second,
//! over however many connections. 4. A login counts for ten seconds, then it is made again: who loses the right to look
//! loses the page. What is kept of it meanwhile is a hash with a salt of this process.

use axum::http::{HeaderMap, Method, StatusCode, header};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use session::{Server, inside};
use sha2::{Digest, Sha256};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Mutex;

/// A login counts so long.
const COUNTS_FOR: Duration = Duration::from_secs(10);
/// What a wrong one costs.
const WRONG_TIME: Duration = Duration::from_secs(1);
/// Logins that are remembered.
const KNOWN_MAX: usize = 32;

/// Why a request is not answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// 4xx.
    pub status: StatusCode,
    /// One sentence.
    pub why: String,
}

fn refusal(status: StatusCode, why: impl Into<String>) -> Refusal {
    Refusal { status, why: why.into() }
}

type Hash = [u8; 32];

/// What is asked of every request.
pub struct Gate {
    server: Arc<Server>,
    address: SocketAddr,
    /// Of the hashes.
    salt: Hash,
    /// Logins that went well, and until when they count.
    known: Mutex<Vec<(Hash, Instant)>>,
    /// Held while a login is tried.
    trying: Mutex<()>,
}

impl Gate {
    /// The gate of a dashboard that listens there.
    pub fn new(server: &Arc<Server>, address: SocketAddr) -> Gate {
        // Addresses and times that nobody outside knows to the nanosecond; a hash leaves the process nowhere.
        let seed =
            format!("{:p} {} {}", Arc::as_ptr(server), sync::now_ns(), host::clock::unix_micros());
        let salt = Sha256::digest(seed.as_bytes()).into();
        let (known, trying) = (Mutex::new(Vec::new()), Mutex::new(()));
        Gate { server: Arc::clone(server), address, salt, known, trying }
    }

    /// Whether a request may be answered.
    ///
    /// # Errors
    /// What to answer instead.
    pub async fn ask(
        &self,
        method: &Method,
        headers: &HeaderMap,
        from: SocketAddr,
    ) -> Result<(), Refusal> {
        if method != Method::GET {
            return Err(refusal(StatusCode::METHOD_NOT_ALLOWED, "Only GET is answered."));
        }
        check_host(headers, self.address.ip())?;
        if self.server.asks_nobody() && from.ip().is_loopback() {
            return Ok(());
        }
        let (user, password) = credentials(headers).ok_or_else(|| {
            refusal(StatusCode::UNAUTHORIZED, "An account's name and password are needed.")
        })?;
        self.log_in(&user, &password, from).await
    }

    async fn log_in(&self, user: &str, password: &str, from: SocketAddr) -> Result<(), Refusal> {
        let hash = self.hash(user, password);
        if self.knows(&hash).await {
            return Ok(());
        }
        let _one = self.trying.lock().await;
        // Somebody before in the queue may have been the same.
        if self.knows(&hash).await {
            return Ok(());
        }
        let came = inside::log_in(&self.server, from, user, password);
        let went = match came {
            Err(failure) => Err(refusal(StatusCode::UNAUTHORIZED, failure)),
            Ok(inside) if !inside.stream().may_watch() => {
                let why = "The account needs PROCESS, and SELECT on performance_schema.";
                Err(refusal(StatusCode::FORBIDDEN, why))
            }
            Ok(_) => Ok(()),
        };
        match went {
            Ok(()) => self.remember(hash).await,
            Err(_) => tokio::time::sleep(WRONG_TIME).await,
        }
        went
    }

    fn hash(&self, user: &str, password: &str) -> Hash {
        let mut hash = Sha256::new();
        hash.update(self.salt);
        hash.update((user.len() as u64).to_le_bytes());
        hash.update(user);
        hash.update(password);
        hash.finalize().into()
    }

    async fn knows(&self, hash: &Hash) -> bool {
        let now = Instant::now();
        self.known.lock().await.iter().any(|(known, until)| known == hash && *until > now)
    }

    async fn remember(&self, hash: Hash) {
        let now = Instant::now();
        let mut known = self.known.lock().await;
        known.retain(|(other, until)| *other != hash && *until > now);
        if known.len() == KNOWN_MAX {
            known.remove(0);
        }
        known.push((hash, now + COUNTS_FOR));
    }
}

/// Name and password of HTTP's Basic scheme.
fn credentials(headers: &HeaderMap) -> Option<(String, String)> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, coded) = value.split_once(' ')?;
    let bytes =
        STANDARD.decode(coded.trim()).ok().filter(|_| scheme.eq_ignore_ascii_case("basic"))?;
    let text = String::from_utf8(bytes).ok()?;
    let (user, password) = text.split_once(':')?;
    Some((user.to_string(), password.to_string()))
}

/// Refuses a request that names another machine, or none, or several.
fn check_host(headers: &HeaderMap, address: IpAddr) -> Result<(), Refusal> {
    let mut all = headers.get_all(header::HOST).iter();
    let (Some(host), None) = (all.next(), all.next()) else {
        return Err(refusal(StatusCode::BAD_REQUEST, "A request has one Host header."));
    };
    let host = host.to_str().ok().and_then(host_name);
    let is_ours = host.as_deref().is_some_and(|host| {
        let ip = host.parse::<IpAddr>();
        host == "localhost" || ip.is_ok_and(|ip| ip.is_loopback() || ip == address)
    });
    match is_ours {
        true => Ok(()),
        false => Err(refusal(
            StatusCode::MISDIRECTED_REQUEST,
            "The Host header names another machine. Use http://127.0.0.1 or http://localhost with this port.",
        )),
    }
}

/// The name in `name`, `name:port`, `[address]` or `[address]:port`, in lower case.
fn host_name(value: &str) -> Option<String> {
    let (name, port) = match value.strip_prefix('[') {
        Some(rest) => rest.split_once(']')?,
        None => value.split_at(value.find(':').unwrap_or(value.len())),
    };
    let digits = port.strip_prefix(':');
    let well = port.is_empty()
        || digits.is_some_and(|d| !d.is_empty() && d.bytes().all(|b| b.is_ascii_digit()));
    well.then(|| name.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(name: header::HeaderName, values: &[&str]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(&name, value.parse().unwrap());
        }
        headers
    }

    #[test]
    fn requests_name_this_machine() {
        let check = |hosts: &[&str]| {
            check_host(&headers(header::HOST, hosts), IpAddr::from([127, 0, 0, 1]))
        };
        for ours in [
            "localhost",
            "LOCALHOST:3380",
            "127.0.0.1",
            "127.0.0.1:80",
            "127.9.9.9:1",
            "[::1]:3380",
            "[::1]",
        ] {
            assert_eq!(check(&[ours]), Ok(()), "{ours}");
        }
        for other in [
            "evil.example",
            "evil.example:3380",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "10.0.0.1",
            "",
            "localhost:x",
            "localhost:",
            "[::1",
            "[::1]x",
            "127.0.0.1:80:80",
            "user@localhost",
            "0.0.0.0",
        ] {
            assert!(check(&[other]).is_err(), "{other}");
        }
        assert!(check(&[]).is_err() && check(&["localhost", "localhost"]).is_err());
    }

    #[test]
    fn names_and_passwords_are_basic() {
        let read = |value: &str| credentials(&headers(header::AUTHORIZATION, &[value]));
        assert_eq!(read("Basic cm9vdDphOmI="), Some(("root".into(), "a:b".into())));
        assert_eq!(read("basic cm9vdDo="), Some(("root".into(), String::new())));
        for wrong in ["Bearer cm9vdDo=", "Basic", "Basic !!!", "Basic cm9vdA==", "Basic //79"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
