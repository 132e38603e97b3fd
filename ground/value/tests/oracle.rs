//! Every weight and every case of every character against a real server's. Run by hand or in soak:
//! `sh tools/weights.sh SOCKET FOLDER; WEIGHTS=FOLDER cargo test -p value --test oracle -- --ignored`

use std::path::{Path, PathBuf};
use value::{Charset, Collation, charset};

/// The lines of one of the server's files, split at tabs, out of hexadecimal.
fn lines(file: &str) -> Vec<Vec<Vec<u8>>> {
    let folder = std::env::var("WEIGHTS").expect("WEIGHTS names the folder with the weights");
    let path: PathBuf = Path::new(&folder).join(file);
    let text = std::fs::read_to_string(&path).expect("the server's weights are there");
    text.lines().map(|line| line.split('\t').map(unhex).collect()).collect()
}

fn unhex(text: &str) -> Vec<u8> {
    let digit = |b: u8| char::from(b).to_digit(16).expect("a hexadecimal digit") as u8;
    text.as_bytes().chunks(2).map(|d| digit(d[0]) << 4 | digit(d[1])).collect()
}

fn differences(collation: Collation, out: &mut Vec<String>) -> usize {
    let lines = lines(&format!("{}.tsv", collation.name()));
    for line in &lines {
        let [s, weights, upper, lower] = line.as_slice() else { panic!("four columns") };
        let mut ours = Vec::new();
        collation.weight_string(s, None, &mut ours);
        let ours = [ours, collation.upper(s), collation.lower(s)];
        for (what, ours, theirs) in
            [("weight", &ours[0], weights), ("upper", &ours[1], upper), ("lower", &ours[2], lower)]
        {
            if ours != theirs {
                let name = collation.name();
                out.push(format!("{name} {what} of {s:02X?}: {ours:02X?}, server {theirs:02X?}"));
            }
        }
    }
    lines.len()
}

#[test]
#[ignore = "needs the weights of a real server"]
fn every_weight_and_case_is_the_servers() {
    let mut found = Vec::new();
    for collation in Collation::ALL.into_iter().filter(|c| *c != Collation::Binary) {
        let characters = differences(collation, &mut found);
        let wanted = match collation.charset() {
            Charset::Utf8mb4 => 0x11_0000 - 0x800,
            Charset::Utf8mb3 => 0x1_0000 - 0x800,
            Charset::Latin1 => 256,
            _ => 128,
        };
        assert_eq!(characters, wanted, "{} is whole", collation.name());
    }
    let first: Vec<_> = found.iter().take(40).collect();
    assert!(found.is_empty(), "{} differences, the first: {first:#?}", found.len());
}

#[test]
#[ignore = "needs the weights of a real server"]
fn every_conversion_is_the_servers() {
    for line in lines("charsets.tsv") {
        let (latin1, utf8) = (&line[0], &line[1]);
        let there = charset::converted(latin1, Charset::Latin1, Charset::Utf8mb4);
        assert_eq!(there.0.as_ref(), utf8);
        let back = charset::converted(utf8, Charset::Utf8mb4, Charset::Latin1);
        assert_eq!(back.0.as_ref(), latin1);
    }
}
