use super::*;

const BOTH: [Algorithm; 3] = [Algorithm::Zlib, Algorithm::Zstd(3), Algorithm::Zstd(19)];

/// Bytes that pack well, and bytes that do not.
fn sample(bytes: usize, seed: u64) -> Vec<u8> {
    let mut rng = stdx::rng::Rng::new(seed);
    let mut out = vec![0; bytes];
    for part in out.chunks_mut(3000) {
        match rng.below(3) {
            0 => rng.fill(part),
            1 => part.fill(b'a' + rng.below(20) as u8),
            _ => part.iter_mut().enumerate().for_each(|(i, b)| *b = b"0123456789\n"[i % 11]),
        }
    }
    out
}

fn packed(algorithm: Algorithm, bytes: &[u8]) -> Vec<u8> {
    let (mut one, mut out) = (Compressed::new(algorithm, Vec::new()), Vec::new());
    one.write(bytes, |frame| {
        out.extend_from_slice(frame);
        Ok(())
    })
    .unwrap();
    out
}

/// What a reader makes of `wire`, which comes in pieces of at most `step` bytes.
fn read_all(
    algorithm: Algorithm,
    mut wire: &[u8],
    step: usize,
    room: usize,
) -> Result<Vec<u8>, Broken> {
    let (mut one, mut out) = (Compressed::new(algorithm, Vec::new()), Vec::new());
    let mut buf = vec![0; room];
    loop {
        let source = |into: &mut [u8]| -> Result<usize, ()> {
            let n = wire.len().min(step).min(into.len());
            into[..n].copy_from_slice(&wire[..n]);
            wire = &wire[n..];
            Ok(n)
        };
        match one.read(&mut buf, source) {
            Ok(0) => return Ok(out),
            Ok(n) => out.extend_from_slice(&buf[..n]),
            Err(ReadError::Broken(why)) => return Err(why),
            Err(ReadError::Source(())) => unreachable!(),
        }
        assert!(one.input.len() <= INPUT_BYTES);
    }
}

fn frame(seq: u8, packed: &[u8], clear: usize) -> Vec<u8> {
    let (len, clear) = ((packed.len() as u32).to_le_bytes(), (clear as u32).to_le_bytes());
    let mut out = vec![len[0], len[1], len[2], seq, clear[0], clear[1], clear[2]];
    out.extend_from_slice(packed);
    out
}

fn zlib(bytes: &[u8]) -> Vec<u8> {
    use std::io::Write;
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn what_is_written_is_read_however_it_comes() {
    for algorithm in BOTH {
        for (bytes, step, room) in [
            (0, 10, 10),
            (1, 1, 1),
            (49, 7, 100),
            (50, 1, 100),
            (5_000, 1, 3),
            (70_000, 1_000, 50),
            (900_000, 100_000, 16_384),
        ] {
            let sent = sample(bytes, bytes as u64);
            let wire = packed(algorithm, &sent);
            assert_eq!(
                read_all(algorithm, &wire, step, room).unwrap(),
                sent,
                "{algorithm:?} {bytes}"
            );
        }
        let long = vec![b'x'; 1 << 20];
        assert!(packed(algorithm, &long).len() < 10_000);
        // What does not get shorter is sent as it is.
        let mut noise = vec![0; 1000];
        stdx::rng::Rng::new(1).fill(&mut noise);
        assert_eq!(packed(algorithm, &noise).len(), 1007);
    }
}

#[test]
fn frames_are_numbered_from_the_command_on() {
    let mut one = Compressed::new(Algorithm::Zlib, frame(0, b"abc", 0));
    let mut buf = [0; 10];
    let none = |_: &mut [u8]| -> Result<usize, ()> { Ok(0) };
    assert_eq!(one.read(&mut buf, none).unwrap(), 3);
    let mut sent = Vec::new();
    one.write(&vec![b'x'; PIECE_BYTES + 1], |frame| {
        sent.push(frame[3]);
        Ok(())
    })
    .unwrap();
    assert_eq!(sent, [1, 2]);
    assert!(one.output.capacity() <= KEEP_BYTES);
    // A client that answers goes on; one with another command begins anew; any other number is none.
    let follow = |seq| {
        let wire = [frame(0, b"abc", 0), frame(1, b"d", 0), frame(seq, b"e", 0)].concat();
        read_all(Algorithm::Zlib, &wire, 100, 100).map(|all| all.len())
    };
    assert_eq!((follow(2), follow(0)), (Ok(5), Ok(5)));
    assert_eq!((follow(1), follow(3)), (Err(Broken::OutOfOrder), Err(Broken::OutOfOrder)));
}

#[test]
fn frames_that_lie_are_refused() {
    let clear = sample(2_000, 5);
    let good = zlib(&clear);
    let read = |wire: &[u8]| read_all(Algorithm::Zlib, wire, 1 << 20, 4096);
    assert_eq!(read(&frame(0, &good, 2_000)), Ok(clear));
    for lie in [
        frame(0, &good, 1_999),
        frame(0, &good, 2_001),
        frame(0, &good, 0xFF_FFFF),
        frame(0, b"no zlib at all, but long enough", 2_000),
        frame(0, &[&good[..], b"more"].concat(), 2_000),
        frame(0, b"", 0),
        frame(0, b"", 10),
        // Cut off, and the rest in a frame of its own.
        [frame(0, &good[..good.len() - 2], 2_000), frame(1, &good[good.len() - 2..], 1)].concat(),
    ] {
        assert_eq!(read(&lie).err(), Some(Broken::NotExpanded), "{:?}", &lie[..7]);
    }
    let zstd = zstd::bulk::compress(&sample(2_000, 5), 3).unwrap();
    let read = |wire: &[u8]| read_all(Algorithm::Zstd(3), wire, 1 << 20, 4096);
    assert!(read(&frame(0, &zstd, 2_000)).is_ok());
    for lie in [1_999, 2_001] {
        assert_eq!(read(&frame(0, &zstd, lie)).err(), Some(Broken::NotExpanded));
    }
    // A window of 2 GB.
    let window = [&[0x28, 0xB5, 0x2F, 0xFD, 0x00, 0xA8][..], &[0; 20]].concat();
    assert_eq!(read(&frame(0, &window, 2_000)).err(), Some(Broken::NotExpanded));
}

/// 16 MB in 16 KB: they are made as they are taken.
#[test]
fn a_bomb_is_read_in_small_pieces() {
    let bomb = frame(0, &zlib(&vec![0; 0xFF_FFFF]), 0xFF_FFFF);
    assert!(bomb.len() < 20_000);
    let mut one = Compressed::new(Algorithm::Zlib, bomb);
    let mut buf = [1; 1000];
    let none = |_: &mut [u8]| -> Result<usize, ()> { Ok(0) };
    assert_eq!(one.read(&mut buf, none).unwrap(), 1000);
    assert!(buf.iter().all(|b| *b == 0));
    let mut all = 1000;
    while let n @ 1.. = one.read(&mut buf, none).unwrap() {
        all += n;
    }
    assert_eq!(all, 0xFF_FFFF);
}

#[test]
fn damaged_frames_never_panic_and_never_give_more_than_they_say() {
    let mut rng = stdx::rng::Rng::new(9);
    for algorithm in BOTH {
        let wire = packed(algorithm, &sample(5_000, 3));
        for _ in 0..400 {
            let mut damaged = wire.clone();
            for _ in 0..=rng.below(3) {
                let at = rng.below(damaged.len() as u64) as usize;
                damaged[at] = rng.next_u64() as u8;
            }
            if let Ok(all) = read_all(algorithm, &damaged, 777, 333) {
                assert!(all.len() <= 0xFF_FFFF);
            }
        }
    }
}

#[test]
fn lists_are_those_of_mysql() {
    for good in ["zlib", "zlib,zlib", "zstd,zlib,uncompressed"] {
        assert!(is_list(good), "{good}");
    }
    for bad in ["", "x", "ZLIB, zstd", "zstd,zlib,uncompressed,zlib", "zlib,"] {
        assert!(!is_list(bad), "{bad}");
    }
}

/// Whatever level a client asks for.
#[test]
fn packing_takes_bounded_memory() {
    // The highest levels take their time with anything else.
    let large = vec![b'x'; PIECE_BYTES];
    let mut out = vec![0; large.len()];
    for level in Algorithm::ZSTD_LEVELS {
        let mut packer = Packer::new(Algorithm::Zstd(level)).unwrap();
        assert!(packer.run(&large, &mut out).unwrap().is_some());
        let Packer::Zstd(zstd) = packer else { panic!("no zstd") };
        assert!(zstd.sizeof() < 48 << 20, "level {level}: {} bytes", zstd.sizeof());
    }
}
