//! What a server says to the client of `server/client`, whatever it is: greetings, results, answers to a prepare.
//!
//! 1. Nothing of it ends the process: it is a result of as many cells as it has names, or a failure. 2. A password goes in clear
//! to nobody who was not to have it so, whatever is asked for.

use client::{Client, Login, Parameter, Rows, Secrecy};
use std::cell::RefCell;
use std::io::{self, Read, Write};

const PASSWORD: &str = "sesame";
const PARAMETERS: [Parameter<'static>; 2] = [Parameter::Int(1), Parameter::Text("x")];

/// A server that says what it was told to, in pieces, and remembers what it hears.
struct Says<'a> {
    bytes: &'a [u8],
    step: usize,
    heard: &'a RefCell<Vec<u8>>,
}

impl Read for Says<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let n = self.bytes.len().min(self.step).min(into.len());
        into[..n].copy_from_slice(&self.bytes[..n]);
        self.bytes = &self.bytes[n..];
        Ok(n)
    }
}

impl Write for Says<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.heard.borrow_mut().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Packets that are numbered as an answer's, or as a login's, are: each has a byte with its length before it; 255: a new answer.
fn numbered(mut bytes: &[u8], mut is_login: bool) -> Vec<u8> {
    let (mut out, mut seq) = (Vec::new(), u8::from(!is_login));
    while let [len, more @ ..] = bytes {
        if *len == u8::MAX {
            (bytes, seq, is_login) = (more, 1, false);
            continue;
        }
        let (payload, after) = more.split_at(usize::from(*len).min(more.len()));
        out.extend([payload.len() as u8, 0, 0, seq]);
        out.extend_from_slice(payload);
        // The client says something between two packets of a login, unless its password is known.
        let step = if is_login && payload != [1, 3] { 2 } else { 1 };
        (bytes, seq) = (after, seq.wrapping_add(step));
    }
    out
}

/// The first byte says what is asked and how packets come, the second in which pieces.
pub fn results(bytes: &[u8]) {
    let [how, step, bytes @ ..] = bytes else { return };
    let is_login = how & 3 == 3;
    let said = if how & 4 == 0 { bytes.to_vec() } else { numbered(bytes, is_login) };
    let heard = RefCell::new(Vec::new());
    let says = || Says { bytes: &said, step: usize::from(*step).max(1), heard: &heard };
    match how & 3 {
        0 => asked(says(), says(), said.len()),
        1 => prepared(says()),
        2 => drop(Client::at(says()).value("SELECT 1")),
        _ => logged_in(says, how >> 3),
    }
}

fn asked(says: Says<'_>, again: Says<'_>, sent: usize) {
    let Ok(rows) = Client::at(says).query("SELECT 1") else { return };
    check(&rows, sent);
    // Who only counts sees the same.
    assert_eq!(Client::at(again).run("SELECT 1"), Ok(rows.done));
}

fn check(rows: &Rows, sent: usize) {
    assert!(rows.rows.iter().all(|row| row.len() == rows.names.len()), "other cells than names");
    assert!(rows.names.len() <= sent, "more names than were sent");
    let cells = rows.rows.iter().flatten().flatten().map(Vec::len).sum::<usize>();
    assert!(cells <= sent, "more than was sent");
    assert!(rows.rows.is_empty() || rows.done.rows == rows.rows.len() as u64);
    assert_eq!(rows.texts().count(), rows.rows.len());
}

fn prepared(says: Says<'_>) {
    let mut client = Client::at(says);
    let Ok(mut statement) = client.prepare("SELECT ?, ?") else { return };
    for n in 0..=PARAMETERS.len() {
        // One of another number of parameters is not sent.
        let _ = client.execute(&mut statement, &PARAMETERS[..n]);
    }
}

fn logged_in<'a>(says: impl Fn() -> Says<'a>, how: u8) {
    let secrecy = match how % 3 {
        0 => Secrecy::Clear,
        1 => Secrecy::Sealed,
        _ => Secrecy::Never,
    };
    let says = says();
    let heard = says.heard;
    if let Ok(mut client) = Client::over(says, &Login { user: "u", password: PASSWORD, secrecy }) {
        let _ = client.query("SELECT 1");
    }
    let heard = heard.borrow();
    let in_clear = heard.windows(PASSWORD.len()).any(|part| part == PASSWORD.as_bytes());
    assert!(!in_clear || secrecy == Secrecy::Clear, "somebody has the password");
}
