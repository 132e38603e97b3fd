//! The command line: whom to ask, how to answer, and what the exit code says.

use crate::text::shown;
use crate::{RULES, Report, examine};
use clap::{ArgAction, Parser};
use client::{Client, Dsn, Failure};
use std::io::{ErrorKind, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// Something is wrong.
pub const EXIT_FINDINGS: u8 = 1;
/// The server was not reached, went away, or showed the account nothing; or the arguments are wrong.
pub const EXIT_NOT_REACHED: u8 = 2;

/// Reads a running server and says what is wrong, by which figures, and which statement changes it.
#[derive(Debug, Parser)]
#[command(name = "limpid doctor", disable_version_flag = true, disable_help_flag = true)]
struct Cli {
    /// The server's host.
    #[arg(long, short = 'h', default_value = "127.0.0.1")]
    host: String,
    /// Its port.
    #[arg(long, short = 'P', default_value_t = 3306)]
    port: u16,
    /// Its Unix socket, instead of host and port.
    #[arg(long, short = 'S')]
    socket: Option<PathBuf>,
    /// The account: SELECT on performance_schema, sys and PROCESS let it see everything.
    #[arg(long, short = 'u', default_value = "root")]
    user: String,
    /// Its password; rather in MYSQL_PWD, where process lists do not show it.
    #[arg(long, short = 'p', env = "MYSQL_PWD", hide_env_values = true, default_value = "")]
    password: String,
    /// How long to wait for the server, in seconds.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..))]
    connect_timeout: u64,
    /// Takes the server's key for the password from the server itself, though it is another machine.
    #[arg(long)]
    get_server_public_key: bool,
    /// Answers with one JSON document.
    #[arg(long)]
    json: bool,
    /// Lists the rules and asks nobody.
    #[arg(long)]
    list: bool,
    /// This text.
    #[arg(long, short = '?', action = ArgAction::Help)]
    help: Option<bool>,
}

/// Runs `limpid doctor` with the arguments that follow these words. Exit code 0 when nothing is wrong, [`EXIT_FINDINGS`],
/// [`EXIT_NOT_REACHED`].
pub fn main(arguments: &[String]) -> ExitCode {
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    ExitCode::from(answer(arguments, &mut out))
}

/// As [`main`], with the answer written to `out`; the exit code.
pub fn answer(arguments: &[String], out: &mut dyn Write) -> u8 {
    let words = std::iter::once("limpid doctor".to_string()).chain(arguments.iter().cloned());
    let cli = match Cli::try_parse_from(words) {
        Ok(cli) => cli,
        Err(e) => {
            let _ = e.print();
            return e.exit_code() as u8;
        }
    };
    if cli.list {
        let lines =
            RULES.iter().try_for_each(|rule| writeln!(out, "{}: {}", rule.name, rule.about));
        return written(lines.and_then(|()| out.flush()), 0);
    }
    match asked(&cli) {
        Err(failure) => fail(&shown(failure.text.as_bytes())),
        Ok(report) if report.skipped.len() == RULES.len() => {
            let why = report.skipped.first().map_or("", |skipped| &skipped.why);
            fail(&format!("no rule could be asked: {why}"))
        }
        Ok(report) => {
            let done = match cli.json {
                true => report.write_json(out),
                false => report.write_text(out),
            };
            let code = if report.findings.is_empty() { 0 } else { EXIT_FINDINGS };
            written(done.and_then(|()| out.flush()), code)
        }
    }
}

fn asked(cli: &Cli) -> Result<Report, Failure> {
    let dsn = Dsn {
        socket: cli.socket.clone(),
        host: Some((cli.host.clone(), cli.port)),
        user: cli.user.clone(),
        password: cli.password.clone(),
        takes_key: cli.get_server_public_key,
        connect_wait: Duration::from_secs(cli.connect_timeout),
        ..Dsn::at("")
    };
    examine(&mut Client::connect(&dsn)?)
}

/// The code, unless the answer could not be written; a closed pipe is no mistake.
fn written(done: std::io::Result<()>, code: u8) -> u8 {
    match done {
        Err(e) if e.kind() != ErrorKind::BrokenPipe => fail(&e.to_string()),
        _ => code,
    }
}

fn fail(text: &str) -> u8 {
    let _ = writeln!(std::io::stderr(), "limpid doctor: {text}");
    EXIT_NOT_REACHED
}
