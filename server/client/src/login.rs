//! The login: who one is, and the proof that the server asks for.

use crate::answer::{ERROR, Failure, NOT_UNDERSTOOD};
use crate::connection::{Client, OK, PACKET_BYTES_MAX};
use std::io::{Read, Write};
use stdx::bytes::Reader;
use wire::auth::{self, FAST_OK, FULL_NEEDED, KEY_REQUEST, Plugin};
use wire::handshake::Scramble;
use wire::{Capabilities, Malformed, lenenc};

/// utf8mb4.
const COLLATION: u8 = wire::constants::COLLATION_GENERAL_CI as u8;
/// The version of the protocol in a greeting.
const PROTOCOL: u8 = 10;
/// The server wants another proof.
const SWITCH: u8 = 0xfe;
/// The login goes on.
const MORE: u8 = 1;

/// How a password travels to a server that does not remember it and asks for the password itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Secrecy {
    /// As it is: nobody else reads this stream.
    Clear,
    /// Sealed with the key that the server sends.
    Sealed,
    /// Not at all: whoever sits between could send a key of his own.
    Never,
}

/// Who logs in.
#[derive(Debug, Clone, Copy)]
pub struct Login<'a> {
    /// Account.
    pub user: &'a str,
    /// Its password; often empty.
    pub password: &'a str,
    /// How that travels.
    pub secrecy: Secrecy,
}

impl<S: Read + Write> Client<S> {
    /// Answers the greeting of the server and what it asks then.
    pub(crate) fn log_in(&mut self, login: &Login<'_>) -> Result<(), Failure> {
        let packet = self.packet()?;
        let greeting = self.inbox.payload(packet);
        if greeting.first() == Some(&ERROR) {
            return Err(Failure::of(greeting));
        }
        let (version, mut scramble) = greeting_of(greeting)?;
        self.version = version;
        let answer = proof(Plugin::CachingSha2, login.password, &scramble);
        self.reply(1, |body| respond(body, login.user, &answer))?;
        loop {
            let packet = self.packet()?;
            let seq = packet.seq.wrapping_add(1);
            match self.inbox.payload(packet) {
                [OK, ..] => return Ok(()),
                [SWITCH, rest @ ..] => {
                    let plugin;
                    (plugin, scramble) = switched(rest)?;
                    let answer = proof(plugin, login.password, &scramble);
                    self.reply(seq, |body| body.extend_from_slice(&answer))?;
                }
                [MORE, FAST_OK] => {}
                [MORE, FULL_NEEDED] => self.say_password(login, &scramble, seq)?,
                other => return Err(Failure::of(other)),
            }
        }
    }

    fn say_password(
        &mut self,
        login: &Login<'_>,
        scramble: &Scramble,
        seq: u8,
    ) -> Result<(), Failure> {
        let clear = [login.password.as_bytes(), &[0]].concat();
        match login.secrecy {
            Secrecy::Clear => self.reply(seq, |body| body.extend_from_slice(&clear)),
            Secrecy::Sealed => {
                self.reply(seq, |body| body.push(KEY_REQUEST))?;
                let packet = self.packet()?;
                let seq = packet.seq.wrapping_add(1);
                let [MORE, pem @ ..] = self.inbox.payload(packet) else {
                    return Err(Malformed("key of the server").into());
                };
                let masked = clear.iter().zip(scramble.iter().cycle()).map(|(a, b)| a ^ b);
                let sealed =
                    tls::sealed(&String::from_utf8_lossy(pem), &masked.collect::<Vec<u8>>())
                        .ok_or(Malformed("key of the server"))?;
                self.reply(seq, |body| body.extend_from_slice(&sealed))
            }
            Secrecy::Never => {
                let why = "the server asks for the password without TLS: get-server-public-key seals it with the key that \
                           the other machine sends";
                Err(Failure::own(NOT_UNDERSTOOD, why))
            }
        }
    }
}

/// Version and scramble of a greeting.
fn greeting_of(packet: &[u8]) -> Result<(String, Scramble), Failure> {
    let cut = |_| Failure::from(Malformed("greeting"));
    let mut reader = Reader::new(packet);
    if reader.u8().map_err(cut)? != PROTOCOL {
        return Err(Malformed("greeting").into());
    }
    let version = String::from_utf8_lossy(lenenc::zero_terminated(&mut reader)?).into_owned();
    // Connection id; eight bytes; a zero, capabilities, collation, status, a length, ten zeros; the rest.
    reader.take(4).map_err(cut)?;
    let first = reader.take(8).map_err(cut)?;
    reader.take(1 + 2 + 1 + 2 + 2 + 1 + 10).map_err(cut)?;
    let second = reader.take(12).map_err(cut)?;
    Ok((version, scramble_of(&[first, second].concat())?))
}

/// Method and scramble of a request to prove oneself otherwise.
fn switched(request: &[u8]) -> Result<(Plugin, Scramble), Failure> {
    let mut reader = Reader::new(request);
    let name = String::from_utf8_lossy(lenenc::zero_terminated(&mut reader)?);
    let unknown = || {
        let why = format!("the account proves itself by {name}, which this client does not");
        Failure::own(NOT_UNDERSTOOD, why)
    };
    let plugin = Plugin::from_name(&name).ok_or_else(unknown)?;
    Ok((plugin, scramble_of(reader.rest())?))
}

fn scramble_of(bytes: &[u8]) -> Result<Scramble, Failure> {
    bytes.first_chunk().copied().ok_or_else(|| Malformed("scramble").into())
}

fn proof(plugin: Plugin, password: &str, scramble: &Scramble) -> Vec<u8> {
    match plugin {
        Plugin::CachingSha2 => auth::answer_fast(password.as_bytes(), scramble),
        Plugin::Native => auth::answer_native(password.as_bytes(), scramble),
        Plugin::Socket => Vec::new(),
    }
}

/// The response to a greeting.
fn respond(body: &mut Vec<u8>, user: &str, answer: &[u8]) {
    let capabilities = Capabilities::LONG_PASSWORD
        | Capabilities::PROTOCOL_41
        | Capabilities::TRANSACTIONS
        | Capabilities::SECURE_CONNECTION
        | Capabilities::PLUGIN_AUTH;
    body.extend(capabilities.0.to_le_bytes());
    body.extend((PACKET_BYTES_MAX as u32).to_le_bytes());
    body.push(COLLATION);
    body.extend([0; 23]);
    body.extend(user.as_bytes());
    body.extend([0, answer.len() as u8]);
    body.extend(answer);
    body.extend(Plugin::CachingSha2.name().as_bytes());
    body.push(0);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;

    const SECRET: &[u8] = b"sesame";

    /// A server that says what it was told to, whatever it hears.
    struct Script {
        says: io::Cursor<Vec<u8>>,
        heard: Vec<u8>,
    }

    impl Read for Script {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            self.says.read(into)
        }
    }

    impl Write for Script {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.heard.extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// A greeting, then these packets, each numbered behind an answer.
    fn script(packets: &[&[u8]]) -> Script {
        let greeting =
            [&[PROTOCOL][..], b"8.4\0", &[7; 4], &[1; 8], &[0; 19], &[2; 12], b"\0x\0"].concat();
        let mut says = Vec::new();
        let all = std::iter::once(&greeting[..]).chain(packets.iter().copied());
        for (place, packet) in all.enumerate() {
            says.extend([packet.len() as u8, 0, 0, 2 * place as u8]);
            says.extend(packet);
        }
        Script { says: io::Cursor::new(says), heard: Vec::new() }
    }

    /// Logs in; what came of it, and what the server heard.
    fn logged_in(packets: &[&[u8]], secrecy: Secrecy) -> (Result<(), Failure>, Vec<u8>) {
        let mut client = Client::at(script(packets));
        let login = Login { user: "u", password: "sesame", secrecy };
        let went = client.log_in(&login);
        (went, client.stream().heard.clone())
    }

    fn hears(heard: &[u8], part: &[u8]) -> bool {
        heard.windows(part.len()).any(|window| window == part)
    }

    #[test]
    fn a_password_in_clear_goes_where_nobody_else_reads() {
        let asks: &[&[u8]] = &[&[MORE, FULL_NEEDED], &[OK, 0, 0, 0, 0, 0, 0]];
        let (went, heard) = logged_in(asks, Secrecy::Clear);
        assert!(went.is_ok() && hears(&heard, SECRET), "{went:?}");
        let (went, heard) = logged_in(asks, Secrecy::Never);
        assert!(went.unwrap_err().text.contains("get-server-public-key"));
        assert!(!hears(&heard, SECRET));
        // What comes for a key is none: nothing is sealed with it.
        let (went, heard) = logged_in(&[asks[0], &[MORE, b'x'], asks[1]], Secrecy::Sealed);
        assert!(went.unwrap_err().text.contains("key of the server"));
        assert!(!hears(&heard, SECRET));
    }

    #[test]
    fn servers_that_speak_otherwise_are_failures() {
        let switch = [&[SWITCH][..], b"dialog\0", &[3; 20]].concat();
        let (went, heard) = logged_in(&[&switch], Secrecy::Clear);
        assert!(went.unwrap_err().text.contains("proves itself by dialog"));
        assert!(!hears(&heard, SECRET));
        let refused = [&[ERROR, 0x15, 4][..], b"#28000Access denied"].concat();
        let (went, _) = logged_in(&[&refused], Secrecy::Clear);
        assert_eq!(went.unwrap_err().number, 1045);
        assert!(logged_in(&[&[77]], Secrecy::Clear).0.unwrap_err().is_lost());
        assert!(logged_in(&[], Secrecy::Clear).0.unwrap_err().is_lost());
    }
}
