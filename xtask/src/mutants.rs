//! `cargo xtask mutants`: mistakes put into the storage engine on purpose, one at a time. Each must be
//! caught, by the assertion or the checker that guards the invariant it breaks.
//!
//! 1. A mutant is one replacement in one file; that its text still stands there exactly once is a unit
//!    test, so the list does not rot.
//! 2. What is changed is a copy of the last commit, in `target/mutants`: the working tree is never touched.
//! 3. A mutant is dead when its test fails and says why with the words listed: by a panic, by ending the
//!    process, or before it stands still. One that survives, or dies of something else, is an error: an
//!    assertion is missing.

use crate::shell;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// What a mutant's tests may take, in seconds: they stand still after some mistakes.
const TIME_MAX: &str = "900";
/// Lines shown of a mutant that died of something else.
const REASONS_MAX: usize = 12;

/// A mistake and what must find it.
struct Mutant {
    name: &'static str,
    /// What goes wrong, in a user's or an operator's words.
    breaks: &'static str,
    file: &'static str,
    from: &'static str,
    to: &'static str,
    /// Arguments of `cargo test`.
    test: &'static [&'static str],
    /// Words of the assertion or the checker that are in the output; or `thread 'NAME'`: that test has panicked.
    dies_at: &'static str,
}

const PAGE: &[&str] = &["-p", "page"];
const SPACE: &[&str] = &["-p", "space", "--lib"];
const BTREE: &[&str] = &["-p", "btree", "--lib"];
const POOL: &[&str] = &["-p", "pool", "--lib"];
const REDO: &[&str] = &["-p", "redo", "--lib"];
const TRX: &[&str] = &["-p", "trx", "--lib", "--test", "segments"];
const LOCK: &[&str] = &["-p", "lock", "--test", "rules"];
const VIEWS: &[&str] = &["-p", "engine", "--test", "views"];
const BRANCHES: &[&str] = &["-p", "engine", "--test", "branches", "branches_are_there"];
const OUTSIDE: &[&str] = &["-p", "engine", "--test", "outside"];

/// The list, from the bottom of the engine to its top.
const MUTANTS: &[Mutant] = &[
    Mutant {
        name: "branch-not-awaited",
        breaks: "a transaction whose XA PREPARE was answered OK is gone after a power cut",
        file: "storage/engine/src/branch.rs",
        from: "        engine.log().commit(lsn)?;\n        if let Some(Running",
        to: "        let _ = lsn;\n        if let Some(Running",
        test: BRANCHES,
        dies_at: "allowed:",
    },
    Mutant {
        name: "branch-commit-not-awaited",
        breaks: "a transaction whose XA COMMIT was answered OK is prepared again after a power cut",
        file: "storage/engine/src/branch.rs",
        from: "let durable = engine.log().commit(ended.lsn);",
        to: "let durable = Ok(());",
        test: BRANCHES,
        dies_at: "allowed:",
    },
    Mutant {
        name: "branch-rollback-not-told",
        breaks: "a prepared transaction that was rolled back in part can be committed after a power cut",
        file: "storage/engine/src/branch.rs",
        from: ".try_end(|segment| engine.trx().take_back_prepare(self.worker()?, segment))?;",
        to: ".try_end(|_| Ok(engine.log().tail()))?;",
        test: BRANCHES,
        dies_at: "allowed:",
    },
    Mutant {
        name: "branch-pages-written-over",
        breaks: "undo of a prepared transaction that recovery found is written over under an old view",
        file: "storage/trx/src/segment.rs",
        from: "true => released.filter(|_| !self.unordered),",
        to: "true => released,",
        test: BRANCHES,
        dies_at: "undo record",
    },
    Mutant {
        name: "page-garbage-forgotten",
        breaks: "a removed entry's bytes are lost until the page is rebuilt",
        file: "storage/page/src/apply.rs",
        from: "        add_garbage(page, bytes)?;\n    }\n    let at = slot_at(slot);",
        to: "    }\n    let at = slot_at(slot);",
        test: PAGE,
        dies_at: "garbage count is wrong",
    },
    Mutant {
        name: "page-shorter-payload-forgotten",
        breaks: "a shorter row leaves bytes that nobody counts",
        file: "storage/page/src/apply.rs",
        from: "add_garbage(page, old.len() - payload.len())?;",
        to: "",
        test: PAGE,
        dies_at: "garbage count is wrong",
    },
    Mutant {
        name: "page-keys-out-of-order",
        breaks: "an entry is put before its left neighbour: searches miss it",
        file: "storage/page/src/apply.rs",
        from: "if slot > 0 && node.suffix(slot - 1)? >= suffix {",
        to: "if slot > u16::MAX - 1 {",
        test: PAGE,
        dies_at: "keys are not in order",
    },
    Mutant {
        name: "space-page-stays-in-use",
        breaks: "a freed page is never given out again",
        file: "storage/space/src/alloc.rs",
        from: "let left = Extent { used: found.used & !bit, state: found.state };",
        to: "let left = Extent { used: found.used & !bit | bit, state: found.state };",
        test: SPACE,
        dies_at: "a page is in use and nothing refers to it",
    },
    Mutant {
        name: "space-fragments-miscounted",
        breaks: "page 0 counts a segment's single pages twice",
        file: "storage/space/src/alloc.rs",
        from: "State::Shared => entry.fragments += 1,",
        to: "State::Shared => entry.fragments += 2,",
        test: SPACE,
        dies_at: "page 0 miscounts",
    },
    Mutant {
        name: "space-extents-miscounted",
        breaks: "page 0 counts an extent with each of its pages",
        file: "storage/space/src/alloc.rs",
        from: "_ => entry.extents += u32::from(is_new),",
        to: "_ => entry.extents += 1 + u32::from(is_new),",
        test: SPACE,
        dies_at: "page 0 miscounts",
    },
    Mutant {
        name: "btree-split-loses-an-entry",
        breaks: "a row disappears when its leaf is split",
        file: "storage/btree/src/split.rs",
        from: "Content::from_slot(&node, plan.slot)?",
        to: "Content::from_slot(&node, plan.slot + 1)?",
        test: BTREE,
        dies_at: "a split has lost entries",
    },
    Mutant {
        name: "btree-split-forgets-the-writer",
        breaks: "an index is read alone though somebody's uncommitted entries are in it",
        file: "storage/btree/src/split.rs",
        from: "if content.max_trx != TrxId::NONE {",
        to: "if content.max_trx == TrxId(u64::MAX) {",
        test: BTREE,
        dies_at: "has forgotten who changed",
    },
    Mutant {
        name: "btree-split-loses-the-end",
        breaks: "the right half claims keys that the next leaf has",
        file: "storage/btree/src/split.rs",
        from: "            high: node.high_fence().map(<[u8]>::to_vec),\n            max_trx",
        to: "            high: None,\n            max_trx",
        test: BTREE,
        dies_at: "a split has lost the end of its node",
    },
    Mutant {
        name: "pool-page-before-its-log",
        breaks: "after a crash a page has changes whose log was lost",
        file: "storage/pool/src/cleaner.rs",
        from: "self.log.flush_to(newest)?;",
        to: "",
        test: POOL,
        dies_at: "go out, the log up to",
    },
    Mutant {
        name: "pool-changed-page-evicted",
        breaks: "a change that is in no file is forgotten when memory is short",
        file: "storage/pool/src/clock.rs",
        from: "state::MARKED if !frame.is_clean() => {",
        to: "state::MARKED if !frame.is_clean() && no == u32::MAX => {",
        test: POOL,
        dies_at: "a frame with changes is taken from its page",
    },
    Mutant {
        name: "pool-change-not-marked",
        breaks: "a changed page is taken for a clean one",
        file: "storage/pool/src/mtr.rs",
        from: "pool.mark_dirty(page.frame, start);",
        to: "let _ = start;",
        test: POOL,
        dies_at: "is let go without its mark",
    },
    Mutant {
        name: "pool-checkpoint-too-far",
        breaks: "recovery begins behind a change that no file has",
        file: "storage/pool/src/mtr.rs",
        from: "pool.mark_dirty(page.frame, start);",
        to: "pool.mark_dirty(page.frame, end.max(start));",
        test: POOL,
        dies_at: "is let go without its mark",
    },
    Mutant {
        name: "pool-flight-not-counted",
        breaks: "a checkpoint passes pages that are being written",
        file: "storage/pool/src/dirty.rs",
        from: ".fold(self.in_flight, Lsn::min);\n        while",
        to: ".fold(Lsn::MAX, Lsn::min);\n        while",
        test: POOL,
        dies_at: "in flight",
    },
    Mutant {
        name: "pool-copies-not-durable",
        breaks: "a torn page has no copy to be mended from",
        file: "storage/pool/src/doublewrite.rs",
        from: "batch.with_directory(self.number), 0)?;\n        io::sync_data(&*self.file)",
        to: "batch.with_directory(self.number), 0)",
        test: POOL,
        dies_at: "thread 'tests::crash::whatever_was_acknowledged_is_there_after_a_crash'",
    },
    Mutant {
        name: "pool-pages-not-durable",
        breaks: "the checkpoint moves on before the pages have reached the disk",
        file: "storage/pool/src/cleaner.rs",
        from: "io::sync_data(&*ts.file)?;",
        to: "let _ = ts;",
        test: POOL,
        dies_at: "thread 'tests::crash::whatever_was_acknowledged_is_there_after_a_crash'",
    },
    Mutant {
        name: "pool-page-keeps-its-lsn",
        breaks: "recovery applies what a page has already",
        file: "storage/pool/src/mtr.rs",
        from: "page::header::set_lsn(page.bytes_mut(), end);",
        to: "",
        test: POOL,
        dies_at: "is marked changed from",
    },
    Mutant {
        name: "pool-redo-just-behind-skipped",
        breaks: "recovery leaves out the first records that a page lacks",
        file: "storage/pool/src/recover/apply.rs",
        from: "windows[p.window as usize].lsn(p.at) >= has",
        to: "windows[p.window as usize].lsn(p.at) >= Lsn(has.0 + 512)",
        test: POOL,
        dies_at: "thread 'tests::crash::whatever_was_acknowledged_is_there_after_a_crash'",
    },
    Mutant {
        name: "redo-acknowledged-before-fsync",
        breaks: "a commit that was answered is gone after a power failure",
        file: "storage/redo/src/flush.rs",
        from: "let mark = if durable { &self.marks.durable } else { &self.marks.written };",
        to: "let mark = &self.marks.written;",
        test: REDO,
        dies_at: "is acknowledged, the log is durable to",
    },
    Mutant {
        name: "redo-fsync-left-out",
        breaks: "the same, for every commit",
        file: "storage/redo/src/flush.rs",
        from: "self.files.sync(&mut writer.output)?;",
        to: "",
        test: REDO,
        dies_at: "log is called durable that was not synced",
    },
    Mutant {
        name: "redo-last-block-forgotten",
        breaks: "the log's last block is written again without its beginning",
        file: "storage/redo/src/flush.rs",
        from: "keep_last_block(&mut writer.chunk, bytes);",
        to: "writer.chunk.resize(BLOCK_BYTES);",
        test: REDO,
        dies_at: "is written again without its beginning",
    },
    Mutant {
        name: "trx-later-commit-seen",
        breaks: "a read view sees what was committed after it",
        file: "storage/trx/src/views.rs",
        from: "End::At(end) => Some(end <= view.lsn),",
        to: "End::At(_) => Some(true),",
        test: VIEWS,
        dies_at: "thread 'what_commits_after_a_view_was_opened_is_not_seen'",
    },
    Mutant {
        name: "trx-active-seen",
        breaks: "a read view sees what is not committed",
        file: "storage/trx/src/views.rs",
        from: "End::Active => Some(false),",
        to: "End::Active => Some(true),",
        test: VIEWS,
        dies_at: "thread 'each_level_sees_what_it_should'",
    },
    Mutant {
        name: "trx-horizon-ignored",
        breaks: "purge removes what an old view still reads",
        file: "storage/trx/src/history.rs",
        from: ".filter(|item| item.lsn() <= horizon)",
        to: ".filter(|item| item.lsn() <= horizon.max(Lsn::MAX))",
        test: TRX,
        dies_at: "lost a record",
    },
    Mutant {
        name: "trx-entry-of-an-active-one-taken",
        breaks: "a running transaction is taken for one that has ended",
        file: "storage/trx/src/states.rs",
        from: "if seen & ACTIVE != 0 {\n            return false;",
        to: "if seen == ACTIVE {\n            return false;",
        test: TRX,
        dies_at: "an_entry_is_not_taken_from_an_active_transaction",
    },
    Mutant {
        name: "trx-undo-chain-broken",
        breaks: "a rollback undoes the last change only",
        file: "storage/trx/src/segment.rs",
        from: "previous: self.fields.last,",
        to: "previous: UndoPos::NONE,",
        test: TRX,
        dies_at: "thread 'what_may_be_needed_is_there_whatever_happens'",
    },
    Mutant {
        name: "lock-shared-beside-exclusive",
        breaks: "two transactions lock the same row, one of them for a change",
        file: "storage/lock/src/mode.rs",
        from: "self == Mode::Exclusive || other == Mode::Exclusive",
        to: "self == Mode::Exclusive && other == Mode::Exclusive",
        test: LOCK,
        dies_at: "thread 'every_pair_conflicts_as_the_rules_say'",
    },
    Mutant {
        name: "lock-gap-open",
        breaks: "a row is inserted into a locked gap: phantoms",
        file: "storage/lock/src/mode.rs",
        from: "Kind::InsertIntention => other.has_gap(supremum),",
        to: "Kind::InsertIntention => other.has_gap(supremum) && supremum,",
        test: LOCK,
        dies_at: "thread 'every_pair_conflicts_as_the_rules_say'",
    },
    Mutant {
        name: "engine-shared-value-freed",
        breaks: "purge frees a long value that the next version of the row still has",
        file: "storage/engine/src/purge.rs",
        from: "self.free_outside(table, record.body, |r| !r.shared)",
        to: "self.free_outside(table, record.body, |_| true)",
        test: OUTSIDE,
        dies_at: "not the overflow page that a row refers to",
    },
    Mutant {
        name: "engine-check-beside-purge",
        breaks: "CHECK TABLE calls a sound table corrupt",
        file: "storage/engine/src/check.rs",
        from: "let _still = self.hold_still(table.id());",
        to: "let _ = table.id();",
        test: OUTSIDE,
        dies_at: "a_check_while_values_are_purged_finds_nothing_wrong",
    },
];

/// Runs the mutants named, or all.
pub fn run(names: &[String]) -> Result<(), String> {
    let tree = tree()?;
    let mut wrong = Vec::new();
    for mutant in MUTANTS.iter().filter(|m| names.is_empty() || names.iter().any(|n| n == m.name)) {
        let start = Instant::now();
        let verdict = try_mutant(&tree, mutant)?;
        let seconds = start.elapsed().as_secs();
        let word = verdict.word();
        println!("mutant {:36} {word:10} {seconds:4} s  {}", mutant.name, mutant.breaks);
        match verdict {
            Verdict::Dead => continue,
            Verdict::Otherwise(said) => said.iter().for_each(|line| println!("    {line}")),
            Verdict::Survived | Verdict::Refused => {}
        }
        wrong.push(mutant.name);
    }
    match wrong.is_empty() {
        true => Ok(()),
        false => Err(format!("mutants that nobody caught as listed: {}", wrong.join(", "))),
    }
}

enum Verdict {
    Dead,
    /// The test failed, but not with the words listed; what it said instead.
    Otherwise(Vec<String>),
    Survived,
    /// It does not compile.
    Refused,
}

impl Verdict {
    fn word(&self) -> &'static str {
        match self {
            Verdict::Dead => "dead",
            Verdict::Otherwise(_) => "OTHERWISE",
            Verdict::Survived => "SURVIVED",
            Verdict::Refused => "REFUSED",
        }
    }
}

/// A copy of the last commit, without changes.
fn tree() -> Result<PathBuf, String> {
    let tree = shell::target().join("mutants/tree");
    let git = |folder: &Path, arguments: &[&str]| {
        shell::run(Command::new("git").arg("-C").arg(folder).args(arguments))
    };
    if !tree.join(".git").exists() {
        let path = tree.to_str().ok_or("the target folder's name is no UTF-8")?;
        git(&shell::root(), &["worktree", "prune"])?;
        return git(&shell::root(), &["worktree", "add", "--quiet", "--detach", path])
            .map(|()| tree);
    }
    let head =
        Command::new("git").arg("-C").arg(shell::root()).args(["rev-parse", "HEAD"]).output();
    let head = head.map_err(|e| format!("git rev-parse: {e}"))?.stdout;
    let head = String::from_utf8_lossy(&head).trim().to_string();
    git(&tree, &["checkout", "--quiet", "--force", "--detach", &head])?;
    Ok(tree)
}

fn try_mutant(tree: &Path, mutant: &Mutant) -> Result<Verdict, String> {
    let path = tree.join(mutant.file);
    let sound = std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    let write =
        |text: &str| std::fs::write(&path, text).map_err(|e| format!("{}: {e}", mutant.file));
    write(&sound.replacen(mutant.from, mutant.to, 1))?;
    let verdict = judge(tree, mutant);
    write(&sound)?;
    verdict
}

fn judge(tree: &Path, mutant: &Mutant) -> Result<Verdict, String> {
    let cargo = |more: &[&str]| {
        let mut command = Command::new("timeout");
        command.args(["--kill-after=10", TIME_MAX]);
        command.arg(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        command.current_dir(tree).env("CARGO_TARGET_DIR", shell::target().join("mutants/build"));
        command.env("RUST_BACKTRACE", "0").env_remove("RUSTFLAGS");
        command.args(["test", "--quiet"]).args(mutant.test).args(more);
        command
    };
    let built = cargo(&["--no-run"]).output().map_err(|e| format!("timeout: {e}"))?;
    if !built.status.success() {
        return Ok(Verdict::Refused);
    }
    // A test that aborts shows only what was not captured.
    let mut tests = cargo(&["--no-fail-fast", "--", "--nocapture"]);
    let (passed, text) = run_until(&mut tests, mutant.dies_at)?;
    Ok(match (text.contains(mutant.dies_at), passed) {
        (_, true) => Verdict::Survived,
        (true, false) => Verdict::Dead,
        (false, false) => Verdict::Otherwise(reasons(&text)),
    })
}

/// Runs a test until it ends, or has said the words, after which its other threads may stand still. Whether
/// it has passed, and what it said.
fn run_until(command: &mut Command, words: &str) -> Result<(bool, String), String> {
    let path = shell::target().join("mutants/output");
    let io = |e: std::io::Error| format!("{}: {e}", path.display());
    let file = std::fs::File::create(&path).map_err(io)?;
    command.stdout(file.try_clone().map_err(io)?).stderr(file);
    let mut child = command.spawn().map_err(|e| format!("timeout: {e}"))?;
    let said = || std::fs::read(&path).map(|text| String::from_utf8_lossy(&text).into_owned());
    loop {
        let ended = child.try_wait().map_err(|e| format!("timeout: {e}"))?;
        let text = said().map_err(io)?;
        if let Some(status) = ended {
            return Ok((status.success(), text));
        }
        if text.contains(words) {
            // `timeout` hands the signal on to what it has started.
            testkit::signal(child.id(), "TERM");
            child.wait().map_err(|e| format!("timeout: {e}"))?;
            return Ok((false, text));
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// The first things that a failing test said about itself.
fn reasons(text: &str) -> Vec<String> {
    let mut lines = text.lines();
    let mut found = Vec::new();
    while let Some(line) = lines.next() {
        if line.contains(" panicked at ") {
            found.push(format!("{line} {}", lines.next().unwrap_or_default()));
        } else if line.contains("[ERROR]") || line.contains("signal:") {
            found.push(line.to_string());
        }
    }
    found.truncate(REASONS_MAX);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mutants_text_stands_in_its_file_once() {
        for mutant in MUTANTS {
            let text = std::fs::read_to_string(shell::root().join(mutant.file)).unwrap();
            assert_eq!(text.matches(mutant.from).count(), 1, "{}: {}", mutant.name, mutant.file);
            assert_ne!(mutant.from, mutant.to, "{}", mutant.name);
        }
    }

    #[test]
    fn reasons_are_panics_errors_and_signals() {
        let text = "running 2 tests\nthread 'a' (7) panicked at x.rs:1:2:\nit is wrong\nnote: run\n\
                    [ERROR] bug: dropped\n(signal: 6, SIGABRT: process abort signal)\n";
        let found = reasons(text);
        assert_eq!(found.len(), 3, "{found:?}");
        assert!(found[0].ends_with("x.rs:1:2: it is wrong"));
    }

    #[test]
    fn what_a_mutant_dies_at_is_one_thing() {
        // Tests that expect a panic say `panicked` and pass.
        for mutant in MUTANTS {
            assert!(!"thread '' panicked at".contains(mutant.dies_at), "{}", mutant.name);
        }
    }

    #[test]
    fn there_are_twenty_mutants_and_no_name_twice() {
        let names: std::collections::BTreeSet<_> = MUTANTS.iter().map(|m| m.name).collect();
        assert!(names.len() >= 20 && names.len() == MUTANTS.len());
    }
}
