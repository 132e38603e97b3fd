//! The targets of `fuzz/` on a stable compiler: over their corpus, and over random changes of it.
//!
//! 1. cargo-fuzz adds inputs that reach new code; those worth keeping go to `fuzz/corpus`, each with a name that says what it is.
//! 2. An input that fails is written beside the build, and its path is told.

// Tests panic to fail.
#![allow(clippy::unwrap_used)]

#[allow(dead_code, missing_docs)] // What cargo-fuzz takes by name.
#[path = "../fuzz/src/lib.rs"]
mod targets;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use stdx::rng::Rng;
use targets::{TARGETS, Target};

/// Changes of each input without anybody asking for more; of those that are a start of a dictionary, or some thirty statements.
const CHANGES: u64 = 300;
const CHANGES_OF_ROWS: u64 = 60;

/// The corpus of a target, ordered by name.
fn corpus(target: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(target);
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    files.sort();
    files.into_iter().map(|file| (file.clone(), std::fs::read(file).unwrap())).collect()
}

fn run((name, target): Target, input: &[u8], of: &Path) {
    if catch_unwind(AssertUnwindSafe(|| target(input))).is_err() {
        let kept = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("fuzz_{name}"));
        std::fs::write(&kept, input).unwrap();
        panic!("{name} fails on {} (of {})", kept.display(), of.display());
    }
}

/// A few bytes are others, come twice, or are not there.
fn changed(input: &[u8], other: &[u8], rng: &mut Rng) -> Vec<u8> {
    const ODD: [u8; 8] = [0, 1, 0x7F, 0x80, 0xFB, 0xFC, 0xFE, 0xFF];
    let mut out = input.to_vec();
    for _ in 0..=rng.below(4) {
        let at = rng.below(out.len() as u64 + 1) as usize;
        match rng.below(6) {
            0 => out.truncate(at),
            1 => out.insert(at, rng.next_u64() as u8),
            2 if at < out.len() => drop(out.remove(at)),
            3 if at < out.len() => out[at] = ODD[rng.below(8) as usize],
            4 => {
                let from = rng.below(other.len() as u64 + 1) as usize;
                out.truncate(at);
                out.extend_from_slice(&other[from..]);
            }
            _ if at < out.len() => out[at] ^= 1 << rng.below(8),
            _ => out.extend_from_slice(&other[..other.len().min(20)]),
        }
    }
    out
}

#[test]
fn every_target_has_a_corpus_and_comes_back_from_it() {
    let mut run_by_cargo_fuzz: Vec<String> =
        std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/fuzz_targets"))
            .unwrap()
            .map(|e| e.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned())
            .collect();
    run_by_cargo_fuzz.sort();
    let mut names = TARGETS.map(|(name, _)| name);
    names.sort_unstable();
    assert_eq!(run_by_cargo_fuzz, names);
    for target in TARGETS {
        let corpus = corpus(target.0);
        assert!(corpus.len() >= 2, "{} has nothing to begin with", target.0);
        corpus.iter().for_each(|(file, input)| run(target, input, file));
    }
}

/// `LIMPID_SECONDS`: how long, for all targets together.
#[test]
fn changes_of_the_corpus_are_no_harm_either() {
    let seconds: Option<u64> = std::env::var("LIMPID_SECONDS").ok().and_then(|s| s.parse().ok());
    let each = seconds.map(|s| Duration::from_secs(s) / TARGETS.len() as u32);
    for target in TARGETS {
        let (corpus, begun) = (corpus(target.0), Instant::now());
        let mut rng = Rng::new(each.map_or(1, |_| std::process::id().into()));
        let rounds = if target.0.ends_with("_rows") { CHANGES_OF_ROWS } else { CHANGES };
        let mut round = 0;
        while each.map_or(round < rounds, |each| begun.elapsed() < each) {
            for (file, input) in &corpus {
                let other = &corpus[rng.below(corpus.len() as u64) as usize].1;
                run(target, &changed(input, other, &mut rng), file);
            }
            round += 1;
        }
        println!("{}: {} inputs", target.0, round * corpus.len() as u64);
    }
}
