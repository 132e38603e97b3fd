use super::*;

fn framed(seq: u8, payload: &[u8]) -> Vec<u8> {
    let mut out = Outbox::new();
    out.set_seq(seq);
    out.begin().extend_from_slice(payload);
    out.end();
    out.bytes().to_vec()
}

#[test]
fn a_packet_sent_byte_by_byte_arrives_whole() {
    let mut inbox = Inbox::new(1 << 20);
    let bytes = framed(0, b"\x03select 1");
    for (i, b) in bytes.iter().enumerate() {
        assert_eq!(inbox.next_packet(), Ok(None), "after {i} bytes");
        inbox.push(&[*b]);
    }
    let p = inbox.next_packet().unwrap().unwrap();
    assert_eq!(inbox.payload(p), b"\x03select 1");
    assert!(inbox.is_empty());
}

#[test]
fn pipelined_packets_come_one_by_one() {
    let mut inbox = Inbox::new(1 << 20);
    inbox.push(&[framed(0, b"a"), framed(0, b"")].concat());
    let p = inbox.next_packet().unwrap().unwrap();
    assert_eq!(inbox.payload(p), b"a");
    inbox.begin_command();
    let p = inbox.next_packet().unwrap().unwrap();
    assert_eq!(inbox.payload(p), b"");
}

#[test]
fn sixteen_mebibytes_split_and_join() {
    for len in [PIECE_BYTES_MAX - 1, PIECE_BYTES_MAX, PIECE_BYTES_MAX + 1, 2 * PIECE_BYTES_MAX] {
        let payload: Vec<u8> = (0..len).map(|i| (i * 7) as u8).collect();
        let mut inbox = Inbox::new(64 << 20);
        inbox.push(&framed(0, &payload));
        let p = inbox.next_packet().unwrap().unwrap();
        assert!(inbox.payload(p) == payload, "{len}");
        assert_eq!(usize::from(p.seq), len / PIECE_BYTES_MAX);
    }
}

#[test]
fn an_oversized_packet_is_refused_at_its_header() {
    let mut inbox = Inbox::new(1000);
    inbox.push(&[0xE9, 3, 0, 0]);
    assert_eq!(inbox.next_packet(), Err(FrameError::TooLarge));
    let mut inbox = Inbox::new(PIECE_BYTES_MAX + 10);
    let mut bytes = framed(0, &vec![1; PIECE_BYTES_MAX + 11]);
    bytes.truncate(PIECE_BYTES_MAX + 8);
    inbox.push(&bytes);
    assert_eq!(inbox.next_packet(), Err(FrameError::TooLarge));
}

#[test]
fn a_header_alone_makes_no_room() {
    let mut inbox = Inbox::new(1 << 30);
    inbox.push(&[0xFF, 0xFF, 0xFF, 0]);
    assert_eq!(inbox.next_packet(), Ok(None));
    assert!(inbox.space().len() < 2 * READ_BYTES);
}

#[test]
fn a_wrong_sequence_number_is_refused() {
    let mut inbox = Inbox::new(1000);
    inbox.push(&framed(1, b"x"));
    assert_eq!(inbox.next_packet(), Err(FrameError::OutOfOrder));
}

#[test]
fn packets_in_frames_have_the_number_of_their_last_frame() {
    let mut inbox = Inbox::new(1000);
    inbox.is_framed();
    inbox.push(&framed(7, b"x"));
    inbox.follow_frame(3);
    assert_eq!(inbox.next_packet().unwrap().unwrap().seq, 2);
    // Those of 256 frames begin anew.
    inbox.push(&framed(0, b"x"));
    inbox.follow_frame(0);
    assert_eq!(inbox.next_packet().unwrap().unwrap().seq, 255);
}

#[test]
fn replayed_packets_are_renumbered() {
    let cached = [framed(9, b"one"), framed(9, b"three")].concat();
    let mut out = Outbox::new();
    out.set_seq(5);
    out.replay(&cached);
    assert_eq!(out.bytes(), [framed(5, b"one"), framed(6, b"three")].concat());
    assert_eq!(out.seq(), 7);
}

#[test]
fn an_abandoned_packet_leaves_nothing() {
    let mut out = Outbox::new();
    out.begin().push(1);
    out.end();
    let before = out.bytes().to_vec();
    out.begin().push(2);
    out.abandon();
    assert_eq!((out.bytes(), out.seq()), (&before[..], 1));
}
