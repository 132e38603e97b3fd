//! `cargo xtask repeat`: every test that waits, sleeps or races, again and again, with busy cores beside it.
//!
//! 1. Which tests those are is read from the sources: a test whose body, or a function of its file that it calls,
//!    names a thread, a sleep, a wait or a clock. Who writes such a test need not list it anywhere.
//! 2. What plays its own schedule (loom and shuttle models, campaigns of one runner) is left out: it does the same
//!    each time.
//! 3. A failure does not end the run; each is printed at the end with its round and the place of its output.

use crate::shell;
use crate::test::cargo;
use crate::tidy::{read, rust_files};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

const USAGE: &str = "usage: cargo xtask repeat [--times N] [--at-once N] [--busy LOOPS] [NAME...]
  --times 20   how often each test is run
  --at-once 1  how many of those times run beside each other
  --busy 2     loops that keep cores busy beside it
  NAME         part of a test's or a test program's name";

/// What a test that depends on time or on other threads has in its text.
const WAITS: [&str; 10] = [
    "sleep(",
    "spawn(",
    "thread::scope",
    "Barrier",
    "recv",
    "Instant::now",
    "elapsed(",
    "wait",
    "kill",
    "park",
];

/// Test programs that play schedules of their own (invariant 2), and one whose clock only tells how long it took.
const LEFT_OUT: [&str; 4] = ["models", "one_runner", "campaign", "many_locks"];

/// Test programs that wait in the helpers of other files: their conversations have several sessions.
const PUT_IN: [&str; 2] = ["isolation", "history"];

struct Wanted {
    times: u32,
    at_once: u32,
    busy: u32,
    names: Vec<String>,
}

/// Runs them.
pub fn run(arguments: &[String]) -> Result<(), String> {
    let wanted = wanted(arguments)?;
    let start = Instant::now();
    let programs = programs(&wanted.names)?;
    let count: usize = programs.values().map(Vec::len).sum();
    println!("{count} tests of {} programs wait, sleep or race", programs.len());
    let busy = keep_busy(wanted.busy);
    let mut failures = Vec::new();
    for (program, tests) in &programs {
        let begun = Instant::now();
        let found = repeated(program, tests, &wanted);
        let (seconds, tests) = (begun.elapsed().as_secs_f64(), tests.len());
        println!("{seconds:6.1} s  {}: {tests} tests, {} failures", name_of(program), found.len());
        failures.extend(found);
    }
    drop(busy);
    for failure in &failures {
        println!("FAILED {failure}");
    }
    let minutes = start.elapsed().as_secs_f64() / 60.0;
    let (times, failed) = (wanted.times, failures.len());
    let said = format!("{count} tests, {times} times: {failed} failures in {minutes:.1} minutes");
    println!("{said}");
    if failures.is_empty() && count > 0 { Ok(()) } else { Err(said) }
}

fn wanted(arguments: &[String]) -> Result<Wanted, String> {
    let mut wanted = Wanted { times: 20, at_once: 1, busy: 2, names: Vec::new() };
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let mut number =
            || rest.next().and_then(|n| n.parse().ok()).ok_or_else(|| USAGE.to_string());
        match argument.as_str() {
            "--times" => wanted.times = number()?,
            "--at-once" => wanted.at_once = number()?.max(1),
            "--busy" => wanted.busy = number()?,
            option if option.starts_with('-') => return Err(USAGE.to_string()),
            name => wanted.names.push(name.to_string()),
        }
    }
    Ok(wanted)
}

/// The programs that have such tests, with the tests' full names.
fn programs(names: &[String]) -> Result<BTreeMap<PathBuf, Vec<String>>, String> {
    let waiting = waiting_tests(&shell::root());
    shell::run(&mut cargo(&["build", "--release"]))?;
    let built = cargo(&["test", "--workspace", "--no-run", "--features", "stdx/count-shared"])
        .output()
        .map_err(|e| e.to_string())?;
    let said = String::from_utf8_lossy(&built.stderr).into_owned();
    if !built.status.success() {
        return Err(said);
    }
    let mut programs = BTreeMap::new();
    for program in said.lines().filter_map(executable) {
        let waits = |test: &str| waiting.contains(test.rsplit("::").next().unwrap_or(test));
        if LEFT_OUT.contains(&name_of(&program)) {
            continue;
        }
        let tests: Vec<String> = listed(&program)?
            .into_iter()
            .filter(|test| PUT_IN.contains(&name_of(&program)) || waits(test))
            .filter(|test| names.is_empty() || names.iter().any(|n| matches(&program, test, n)))
            .collect();
        if !tests.is_empty() {
            programs.insert(program, tests);
        }
    }
    Ok(programs)
}

fn matches(program: &Path, test: &str, name: &str) -> bool {
    test.contains(name) || name_of(program).contains(name)
}

/// A test program's name, without the hash that cargo gives it.
fn name_of(program: &Path) -> &str {
    let file = program.file_name().and_then(|n| n.to_str()).unwrap_or("");
    file.rsplit_once('-').map_or(file, |(name, _)| name)
}

/// The program in one of cargo's lines, `  Executable tests/waits.rs (target/debug/deps/waits-0123)`.
fn executable(line: &str) -> Option<PathBuf> {
    let path = line.trim().strip_prefix("Executable ")?.rsplit_once('(')?.1.strip_suffix(')')?;
    Some(shell::root().join(path))
}

/// The tests of a program that are not ignored.
fn listed(program: &Path) -> Result<Vec<String>, String> {
    let names = |option: Option<&str>| {
        let listed = Command::new(program).arg("--list").args(option).output();
        let text = listed.map_err(|e| format!("{}: {e}", program.display()))?.stdout;
        let text = String::from_utf8_lossy(&text).into_owned();
        let tests = text.lines().filter_map(|l| l.strip_suffix(": test"));
        Ok::<_, String>(tests.map(str::to_string).collect::<Vec<_>>())
    };
    let ignored: BTreeSet<String> = names(Some("--ignored"))?.into_iter().collect();
    Ok(names(None)?.into_iter().filter(|test| !ignored.contains(test)).collect())
}

/// Runs a program's tests as often as is wanted; what failed.
fn repeated(program: &Path, tests: &[String], wanted: &Wanted) -> Vec<String> {
    let rounds: Vec<u32> = (1..=wanted.times).collect();
    let mut failures = Vec::new();
    for together in rounds.chunks(wanted.at_once as usize) {
        std::thread::scope(|scope| {
            let runs: Vec<_> = together
                .iter()
                .map(|round| scope.spawn(|| failed(program, tests, *round)))
                .collect();
            let ended = runs.into_iter().map(|run| run.join().expect("a run does not panic"));
            failures.extend(ended.flatten());
        });
    }
    failures
}

/// Runs a program's tests once; what failed, with its output kept in `target/repeat`.
fn failed(program: &Path, tests: &[String], round: u32) -> Option<String> {
    let mut command = Command::new(program);
    command.arg("--exact").args(tests).current_dir(package_of(program));
    command.env("LIMPID_BINARY", shell::target().join("release/limpid"));
    let ran = command.output();
    let (good, text) = match ran {
        Ok(ran) => (ran.status.success(), [ran.stdout, ran.stderr].concat()),
        Err(error) => (false, error.to_string().into_bytes()),
    };
    if good {
        return None;
    }
    let folder = shell::target().join("repeat");
    let kept = folder.join(format!("{}-{round}.txt", name_of(program)));
    let written = std::fs::create_dir_all(&folder).and_then(|()| std::fs::write(&kept, &text));
    let text = String::from_utf8_lossy(&text);
    let which: Vec<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("test ")?.strip_suffix(" ... FAILED"))
        .collect();
    let which = if which.is_empty() { "the program itself".into() } else { which.join(" ") };
    let place = written.map_or_else(|e| e.to_string(), |()| kept.display().to_string());
    Some(format!("round {round}, {}: {which} ({place})", name_of(program)))
}

/// The folder a test program expects to stand in: its package's, where cargo would start it.
fn package_of(program: &Path) -> PathBuf {
    let root = shell::root();
    let dependencies = read(&program.with_extension("d"));
    let source = dependencies
        .split_whitespace()
        .map(|word| word.trim_end_matches(':'))
        .find(|word| word.ends_with(".rs"))
        .map(|word| root.join(word));
    let mut above = source.iter().flat_map(|path| path.ancestors().skip(1));
    above.find(|folder| folder.join("Cargo.toml").exists()).map_or(root, Path::to_path_buf)
}

/// Starts loops that keep cores busy as long as what is returned lives.
fn keep_busy(loops: u32) -> Arc<()> {
    let alive = Arc::new(());
    for _ in 0..loops {
        let watched = Arc::downgrade(&alive);
        std::thread::spawn(move || while watched.strong_count() > 0 {});
    }
    alive
}

/// Names of the tests that wait, sleep or race, of the whole tree.
fn waiting_tests(root: &Path) -> BTreeSet<String> {
    ["ground", "storage", "sql", "server", "testkit", "tests"]
        .iter()
        .flat_map(|folder| rust_files(&root.join(folder)))
        .flat_map(|file| waiting_of(&read(&file)))
        .collect()
}

/// A function of a source text.
struct Function<'a> {
    name: &'a str,
    is_test: bool,
    body: String,
}

/// Names of the tests of one source text that wait, by themselves or through its functions.
fn waiting_of(text: &str) -> Vec<String> {
    let functions = functions(text);
    let mut waits: BTreeSet<&str> = BTreeSet::new();
    loop {
        let before = waits.len();
        for function in &functions {
            let itself = WAITS.iter().any(|word| function.body.contains(word));
            let called = |name: &&str| function.body.contains(&format!("{name}("));
            if itself || waits.iter().any(called) {
                waits.insert(function.name);
            }
        }
        if waits.len() == before {
            break;
        }
    }
    let tests = functions.iter().filter(|f| f.is_test && waits.contains(f.name));
    tests.map(|f| f.name.to_string()).collect()
}

/// The functions of a text that is formatted: each ends with a brace below its beginning.
fn functions(text: &str) -> Vec<Function<'_>> {
    let mut found: Vec<Function<'_>> = Vec::new();
    let (mut is_test, mut end) = (false, None::<String>);
    for line in text.lines() {
        let code = line.trim_start();
        if let Some(last) = &end {
            let function = found.last_mut().expect("a function has begun where its end is awaited");
            if line == last {
                end = None;
            } else if !code.starts_with("//") {
                function.body.push_str(code);
                function.body.push('\n');
            }
        } else if code.starts_with("#[test]") {
            is_test = true;
        } else if let Some((_, rest)) = code.split_once("fn ")
            && !code.starts_with("//")
        {
            let name = rest.split(['(', '<']).next().unwrap_or(rest);
            found.push(Function { name, is_test, body: String::new() });
            is_test = false;
            let indent = &line[..line.len() - code.len()];
            end = (!code.ends_with('}') && !code.ends_with(';')).then(|| format!("{indent}}}"));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_tests_are_found_by_their_text() {
        let text = "\
#[test]
fn quick() {
    assert!(true);
}

fn later() {
    thread::sleep(ms(1));
}

mod inner {
    #[test]
    fn slow() {
        helper();
    }

    fn helper() {
        // spawn( in a comment is nothing
        later();
    }

    #[test]
    fn plain() {
        // spawn( in a comment is nothing
        quick();
    }
}
";
        assert_eq!(waiting_of(text), ["slow"]);
    }

    #[test]
    fn programs_are_read_from_cargos_lines() {
        let line = "  Executable tests/waits.rs (target/debug/deps/waits-01ab)";
        let program = executable(line).unwrap();
        assert!(program.ends_with("target/debug/deps/waits-01ab"), "{}", program.display());
        assert_eq!(name_of(&program), "waits");
        assert_eq!(executable("   Compiling waits v0.1.0"), None);
    }

    #[test]
    fn this_tree_has_waiting_tests() {
        let waiting = waiting_tests(&shell::root());
        let known = "ten_thousand_wait_for_one_row_and_each_gets_it";
        assert!(waiting.contains(known), "{waiting:?}");
    }
}
