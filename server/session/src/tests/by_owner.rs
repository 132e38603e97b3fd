//! `auth_socket`: the system says whose a client's process is.

use super::*;

/// The number of the user whom [`Nobody`] knows as `owner`.
const OWNER: u32 = 7;

#[test]
fn whose_process_it_is_comes_in_whatever_it_says_of_a_password() {
    let server = server();
    set_password_at(&server, "owner", "%", Plugin::Socket, b"");
    let at = |peer: Peer, plugin: Plugin, answer: &[u8]| {
        let mut client = Client::knock(&server, peer);
        let replies = client.log_in("owner", plugin, answer);
        (client, replies)
    };
    let (_, silent) = at(Peer::Socket(Some(OWNER)), Plugin::CachingSha2, b"");
    assert_ok(&silent);
    assert_eq!(silent.len(), 1);
    let (_, spoke) = at(Peer::Socket(Some(OWNER)), Plugin::CachingSha2, &[9; 32]);
    assert_eq!(spoke[0], [1, auth::FAST_OK]);
    assert_ok(&spoke);
    let (mut old, told) = at(Peer::Socket(Some(OWNER)), Plugin::Native, b"");
    assert_eq!(told[0][0], 0xFE, "told to switch");
    assert_ok(&old.packet(&[9; 20]));
    for peer in [Peer::Socket(Some(OWNER + 1)), Peer::Socket(None), tcp()] {
        let (_, refused) = at(peer, Plugin::CachingSha2, b"");
        assert_eq!(error_of(&refused), 1698);
    }
}

#[test]
fn a_client_becomes_a_user_of_the_system() {
    let server = server();
    set_password_at(&server, "owner", "%", Plugin::Socket, b"");
    let body = b"\x11owner\0\0\0\x2D\0caching_sha2_password\0";
    let mut client = Client::knock(&server, Peer::Socket(Some(OWNER)));
    assert_ok(&client.log_in("root", Plugin::CachingSha2, b""));
    assert_eq!(client.command(body)[0][0], 0xFE, "told to switch");
    assert_ok(&client.packet(b""));
    assert_eq!(server.registry.processes()[0].line.who.user(), b"owner");
    let mut other = Client::knock(&server, Peer::Socket(None));
    assert_ok(&other.log_in("root", Plugin::CachingSha2, b""));
    assert_eq!(error_of(&other.command(body)), 1698);
    assert!(other.closed);
}
