//! What is fuzzed: each function takes any bytes and must come back, without a panic and within bounds.
//!
//! 1. The functions are those of `tests/fuzz_corpus.rs`, too, which runs them over the corpus and over random changes of it on a
//! stable compiler. 2. A target asserts what must hold of what it read, not only that nothing fails.

mod accounts;
mod dictionary;
mod login;
mod results;
mod tls_handshake;

pub use accounts::account_rows;
pub use dictionary::dictionary_rows;
pub use login::login;
pub use results::results;
pub use tls_handshake::tls_handshake;

use daemon::optfile::{self, Part};
use std::path::Path;
use wire::compressed::{Algorithm, Compressed, ReadError};
use wire::constants::{Capabilities, SERVER_CAPABILITIES};
use wire::prepared::{BoundTypes, params, params_and_attributes};
use wire::proxy::{self, First, Networks};
use wire::{Command, Inbox, Outbox, auth, command, handshake};

/// A target: its name, which is that of its folder of the corpus, and what it does.
pub type Target = (&'static str, fn(&[u8]));

/// All of them.
pub const TARGETS: [Target; 13] = [
    ("packets_in", packets_in),
    ("packets_out", packets_out),
    ("responses", responses),
    ("authentication", authentication),
    ("login", login),
    ("tls_handshake", tls_handshake),
    ("frames_in", frames_in),
    ("frames_out", frames_out),
    ("proxy_headers", proxy_headers),
    ("option_files", option_files),
    ("results", results),
    ("account_rows", account_rows),
    ("dictionary_rows", dictionary_rows),
];

/// What clients could send at most.
const PACKET_BYTES_MAX: usize = 1 << 20;

/// Bytes of a client become packets, and these commands.
pub fn packets_in(bytes: &[u8]) {
    let Some((&how, bytes)) = bytes.split_first() else { return };
    let caps = match how & 1 {
        0 => Capabilities::EMPTY,
        _ => Capabilities::QUERY_ATTRIBUTES,
    };
    let mut inbox = Inbox::new(PACKET_BYTES_MAX);
    // In pieces: a packet may end anywhere.
    for piece in bytes.chunks(usize::from(how >> 1).max(1)) {
        inbox.push(piece);
        while let Ok(Some(packet)) = inbox.next_packet() {
            let payload = inbox.payload(packet);
            assert!(payload.len() <= bytes.len(), "more than was sent");
            take_command(payload, caps);
            inbox.begin_command();
        }
    }
}

fn take_command(payload: &[u8], caps: Capabilities) {
    match command::decode(payload, caps) {
        Ok(Command::Query(text)) => assert!(text.len() < payload.len()),
        Ok(Command::Execute { id, flags, rest }) => {
            let (count, mut types) = ((id % 20) as usize, BoundTypes::default());
            let read = match caps.has(Capabilities::QUERY_ATTRIBUTES) {
                true => params_and_attributes(rest, count, &mut types),
                false => params(rest, count, &mut types).map(Some),
            };
            if let Ok(Some(mut values)) = read {
                let _ = (0..count).try_for_each(|_| values.next_param(flags & 2 != 0).map(drop));
            }
        }
        Ok(Command::ChangeUser(body)) => {
            if let Ok(change) = handshake::change_user(body, SERVER_CAPABILITIES) {
                let _ = handshake::attributes(change.attributes);
            }
        }
        _ => {}
    }
}

/// What is written as packets is read as the same: the other direction.
pub fn packets_out(bytes: &[u8]) {
    let (mut out, mut sent) = (Outbox::new(), Vec::new());
    let mut rest = bytes;
    while let [len, more @ ..] = rest {
        let (payload, after) = more.split_at(usize::from(*len).min(more.len()));
        rest = after;
        out.begin().extend_from_slice(payload);
        out.end();
        sent.push(payload);
    }
    let mut inbox = Inbox::new(PACKET_BYTES_MAX);
    inbox.push(out.bytes());
    for payload in sent {
        let packet = inbox.next_packet().expect("numbered in order").expect("a whole packet");
        assert_eq!(inbox.payload(packet), payload);
    }
    assert!(inbox.is_empty());
}

/// Answers to the greeting.
pub fn responses(bytes: &[u8]) {
    let _ = handshake::is_tls_request(bytes);
    if let Ok(response) = handshake::response(bytes) {
        assert!(response.user.len() <= handshake::USER_BYTES_MAX);
        assert!(response.attributes.len() <= handshake::ATTRIBUTES_BYTES_MAX);
        if let Ok(attributes) = handshake::attributes(response.attributes) {
            let size: usize = attributes.iter().map(|(name, value)| name.len() + value.len()).sum();
            assert!(size <= bytes.len(), "more than was sent");
        }
    }
    for caps in [Capabilities::EMPTY, SERVER_CAPABILITIES] {
        let _ = handshake::change_user(bytes, caps);
    }
}

/// Answers to a challenge, and what is stored of passwords.
pub fn authentication(bytes: &[u8]) {
    let scramble = handshake::scramble_of([7; handshake::SCRAMBLE_BYTES]);
    let (stored, answer) = bytes.split_at(bytes.len() / 2);
    let stored = String::from_utf8_lossy(stored);
    // No password is answered by nothing.
    let is_right = auth::check_native(&stored, &scramble, answer);
    assert!(!is_right || answer.len() == 20 || stored.is_empty() && answer.is_empty());
    let digest = auth::cached_digest(b"secret");
    assert!(!auth::check_fast(&digest, &scramble, answer), "an answer without the password");
    for plugin in [auth::Plugin::CachingSha2, auth::Plugin::Native] {
        let _ = plugin.accepts_stored(&stored);
    }
    if let Some(password) = auth::clear_password(answer) {
        // Thousands of rounds may be asked for: those are the server's own.
        assert!(password.len() < answer.len());
    }
}

/// Frames of a compressed client.
pub fn frames_in(bytes: &[u8]) {
    let Some((&how, mut bytes)) = bytes.split_first() else { return };
    let algorithm = if how & 1 == 0 { Algorithm::Zlib } else { Algorithm::Zstd(3) };
    let step = usize::from(how >> 1).max(1) * 17;
    let mut frames = Compressed::new(algorithm, Vec::new());
    // However much they say that they have: as much is taken as somebody wants.
    let (mut room, mut taken) = (vec![0; 4096], 0);
    while taken < 1 << 20 {
        let source = |into: &mut [u8]| -> Result<usize, ()> {
            let n = bytes.len().min(step).min(into.len());
            into[..n].copy_from_slice(&bytes[..n]);
            bytes = &bytes[n..];
            Ok(n)
        };
        match frames.read(&mut room, source) {
            Ok(0) | Err(ReadError::Broken(_)) => return,
            Ok(n) => taken += n,
            Err(ReadError::Source(())) => unreachable!("the source does not fail"),
        }
    }
}

/// What is written as frames is read as the same.
pub fn frames_out(bytes: &[u8]) {
    let Some((&how, bytes)) = bytes.split_first() else { return };
    let algorithm = if how & 1 == 0 { Algorithm::Zlib } else { Algorithm::Zstd(how >> 4 | 1) };
    let mut wire = Vec::new();
    let mut writer = Compressed::new(algorithm, Vec::new());
    for piece in bytes.chunks(usize::from(how) * 7 + 1) {
        let written = writer.write(piece, |frame| {
            wire.extend_from_slice(frame);
            Ok(())
        });
        written.expect("memory takes everything");
    }
    let mut reader = Compressed::new(algorithm, wire);
    let (mut room, mut read) = (vec![0; 300], Vec::new());
    while let Ok(n @ 1..) = reader.read(&mut room, |_| Ok::<usize, ()>(0)) {
        read.extend_from_slice(&room[..n]);
    }
    assert_eq!(read, bytes);
}

/// What a proxy says, and who may say it.
pub fn proxy_headers(bytes: &[u8]) {
    match proxy::first(bytes) {
        First::Header(len, client) => {
            assert!(len <= bytes.len() && len <= proxy::HEADER_BYTES_MAX);
            let text = String::from_utf8_lossy(bytes);
            if let (Some(networks), Some(client)) = (Networks::of(&text), client) {
                let _ = networks.have(Some(client.ip()));
            }
        }
        First::More => assert!(bytes.len() < proxy::HEADER_BYTES_MAX),
        First::Packet | First::Malformed => {}
    }
    let _ = Networks::of(&String::from_utf8_lossy(bytes));
}

/// Option files; no file is opened.
pub fn option_files(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let Ok(parts) = optfile::parts(&text, Path::new("my.cnf"), &["mysqld", "server", "limpid"])
    else {
        return;
    };
    assert!(parts.len() <= text.lines().count());
    for part in parts {
        if let Part::Option(written) = part {
            assert!(!written.name.is_empty() && !written.name.contains('-'));
        }
    }
}
