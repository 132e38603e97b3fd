//! A server that does nothing: what connections cost whatever a database does.
//!
//! 1. A thread serves a connection, by the system calls that Limpid makes: a receive that does not wait, a send, a poll where there is
//! nothing to read. 2. Anybody may log in. 3. Each query and each execution has the same answer, which was made before; whatever
//! else is asked is answered OK.

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use std::io;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::Arc;

/// The text in each row.
pub const TEXT_BYTES: usize = 119;
const STACK_BYTES: usize = 256 << 10;
const HEADER_BYTES: usize = 4;
/// Commands.
const QUIT: u8 = 1;
const QUERY: u8 = 3;
const PREPARE: u8 = 0x16;
const EXECUTE: u8 = 0x17;
const SEND_LONG_DATA: u8 = 0x18;
const CLOSE: u8 = 0x19;

/// Answers as they are sent.
struct Answers {
    ok: Vec<u8>,
    prepared: Vec<u8>,
    text: Vec<u8>,
    binary: Vec<u8>,
}

/// Packets one after another, the first of which is numbered.
fn packets(first: u8, bodies: &[&[u8]]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (number, body) in (first..).zip(bodies) {
        bytes.extend_from_slice(&(body.len() as u32).to_le_bytes()[..3]);
        bytes.push(number);
        bytes.extend_from_slice(body);
    }
    bytes
}

impl Answers {
    fn new() -> Answers {
        let column = |name: &str| {
            let mut body = Vec::new();
            for text in ["def", "", "", "", name, name] {
                body.push(text.len() as u8);
                body.extend_from_slice(text.as_bytes());
            }
            // utf8mb4, 480 bytes, CHAR, no flags, no decimals.
            body.extend_from_slice(&[0x0c, 45, 0, 0xe0, 1, 0, 0, 0xfe, 0, 0, 0, 0, 0]);
            body
        };
        let (end, status) = (&[0xfe, 0, 0, 2, 0][..], [0, 0, 0, 2, 0, 0, 0]);
        let value = [&[TEXT_BYTES as u8][..], &[b'x'; TEXT_BYTES]].concat();
        let (c, parameter) = (column("c"), column("?"));
        let rows = |row: &[u8]| packets(1, &[&[1], &c, end, row, end]);
        Answers {
            ok: packets(1, &[&status]),
            // Statement 1, one column, one parameter.
            prepared: packets(
                1,
                &[&[0, 1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0], &parameter, end, &c, end],
            ),
            text: rows(&value),
            binary: rows(&[&[0, 0][..], &value].concat()),
        }
    }

    /// The answer to a command; `None`: it has none.
    fn of(&self, command: &[u8]) -> Option<&[u8]> {
        match *command.first()? {
            QUERY if command.get(1..4).is_some_and(|word| word.eq_ignore_ascii_case(b"sel")) => {
                Some(&self.text)
            }
            EXECUTE => Some(&self.binary),
            PREPARE => Some(&self.prepared),
            CLOSE | SEND_LONG_DATA => None,
            _ => Some(&self.ok),
        }
    }
}

/// Listens on a socket until the process ends.
///
/// # Errors
/// The socket cannot be had.
pub fn serve(socket: &Path) -> io::Result<()> {
    let _ = std::fs::remove_file(socket);
    let listener = UnixListener::bind(socket)?;
    rustix::net::listen(&listener, 1024)?;
    let answers = Arc::new(Answers::new());
    loop {
        let (stream, _) = listener.accept()?;
        let answers = Arc::clone(&answers);
        // The client sees how its connection ends.
        let talk = move || {
            let _ended = talk(&stream, &answers);
        };
        std::thread::Builder::new().stack_size(STACK_BYTES).spawn(talk)?;
    }
}

fn talk(stream: &UnixStream, answers: &Answers) -> Result<(), Errno> {
    let mut buffer = [0; 4096];
    let mut filled = 0;
    send(stream, &greeting(), SendFlags::NOSIGNAL)?;
    let mut is_logged_in = false;
    loop {
        let received = receive(stream, &mut buffer[filled..])?;
        if received == 0 {
            return Ok(());
        }
        filled += received;
        let mut start = 0;
        while let Some(&[a, b, c, number]) = buffer[start..filled].first_chunk() {
            let length = u32::from_le_bytes([a, b, c, 0]) as usize;
            let Some(command) = buffer[start..filled].get(HEADER_BYTES..HEADER_BYTES + length)
            else {
                break;
            };
            if !is_logged_in {
                is_logged_in = true;
                send(stream, &packets(number + 1, &[&[0, 0, 0, 2, 0, 0, 0]]), SendFlags::NOSIGNAL)?;
            } else if command.first() == Some(&QUIT) {
                return Ok(());
            } else if let Some(answer) = answers.of(command) {
                send(stream, answer, SendFlags::NOSIGNAL)?;
            }
            start += HEADER_BYTES + length;
        }
        buffer.copy_within(start..filled, 0);
        filled -= start;
        if filled == buffer.len() {
            return Err(Errno::MSGSIZE);
        }
    }
}

fn receive(stream: &UnixStream, into: &mut [u8]) -> Result<usize, Errno> {
    loop {
        match recv(stream, &mut *into, RecvFlags::DONTWAIT) {
            Ok((received, _)) => return Ok(received),
            Err(Errno::AGAIN) => {
                poll(&mut [PollFd::new(stream, PollFlags::IN)], None)?;
            }
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
}

/// The greeting of protocol 10: what `mysql_native_password` needs.
fn greeting() -> Vec<u8> {
    let mut body = vec![10];
    body.extend_from_slice(b"8.4.0-null\0");
    body.extend_from_slice(&[1, 0, 0, 0]);
    body.extend_from_slice(b"12345678\0");
    // LONG_PASSWORD, CONNECT_WITH_DB, PROTOCOL_41, TRANSACTIONS, SECURE_CONNECTION; utf8mb4; autocommit; PLUGIN_AUTH.
    body.extend_from_slice(&[0x09, 0xa2, 45, 2, 0, 0x08, 0, 21]);
    body.extend_from_slice(&[0; 10]);
    body.extend_from_slice(b"123456789012\0mysql_native_password\0");
    packets(0, &[&body])
}
