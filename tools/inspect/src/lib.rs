//! `limpid inspect`: what the files of a stopped server say.
//!
//! 1. Nothing is changed. The folder's lock is held meanwhile, so a running server is refused.
//! 2. Every byte is checked before it is believed: damage is a line of the answer, not its end.
//! 3. Pages are shown as the data files hold them; redo that is not applied yet is not in them, and the
//!    answer says how much there is.

mod check;
mod folder;
mod page_text;
mod pages;
mod redo_text;
mod undo_text;

use clap::{Parser, Subcommand};
use folder::Folder;
use std::io::{ErrorKind, Write};
use std::path::PathBuf;
use std::process::ExitCode;

/// Looks into the files of a stopped server.
#[derive(Debug, Parser)]
#[command(name = "limpid inspect", disable_version_flag = true)]
struct Cli {
    /// The data folder.
    folder: PathBuf,
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// One line for each file: what it is, how large, up to which LSN.
    Files,
    /// One line for each page of a tablespace.
    Pages {
        /// Number of the tablespace (0: dictionary, 1: undo).
        space: u32,
    },
    /// One page in full.
    Page {
        /// Number of the tablespace.
        space: u32,
        /// Number of the page.
        page: u32,
        /// All bytes, in hexadecimal.
        #[arg(long)]
        hex: bool,
    },
    /// Mini-transactions of the redo log from the checkpoint on.
    Redo {
        /// Only those that end above this LSN.
        #[arg(long, default_value_t = 0)]
        from: u64,
        /// At most so many.
        #[arg(long, default_value_t = u64::MAX)]
        limit: u64,
        /// Only those that change this page, as SPACE:PAGE.
        #[arg(long, value_parser = page_of)]
        page: Option<base::PageId>,
        /// Only count.
        #[arg(long)]
        summary: bool,
    },
    /// Undo segments and their transactions; what is still to be undone or purged.
    Undo {
        /// Also each record.
        #[arg(long)]
        records: bool,
    },
    /// Reads every page of every tablespace and checks it; exit code 1 when one is damaged.
    Check,
}

fn page_of(text: &str) -> Result<base::PageId, String> {
    let numbers = text.split_once(':').and_then(|(s, p)| Some((s.parse().ok()?, p.parse().ok()?)));
    let (space, page) = numbers.ok_or("expected SPACE:PAGE")?;
    Ok(base::PageId::new(base::SpaceId(space), base::PageNo(page)))
}

/// Why an inspection ended early.
#[derive(Debug)]
pub enum Failure {
    /// The answer could not be written; a closed pipe is no mistake.
    Output(std::io::Error),
    /// The folder or the arguments are not what they should be.
    Other(String),
}

impl From<std::io::Error> for Failure {
    fn from(e: std::io::Error) -> Failure {
        Failure::Output(e)
    }
}

impl From<base::Error> for Failure {
    fn from(e: base::Error) -> Failure {
        Failure::Other(e.to_string())
    }
}

/// Runs `limpid inspect` with the arguments that follow these words. Exit code 0; 1 when damage was
/// found or the folder cannot be read; 2 for wrong arguments.
pub fn main(arguments: &[String]) -> ExitCode {
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    ExitCode::from(answer(arguments, &mut out))
}

/// As [`main`], with the answer written to `out`; the exit code.
pub fn answer(arguments: &[String], out: &mut dyn Write) -> u8 {
    let words = std::iter::once("limpid inspect".to_string()).chain(arguments.iter().cloned());
    let cli = match Cli::try_parse_from(words) {
        Ok(cli) => cli,
        Err(e) => {
            let _ = e.print();
            return e.exit_code() as u8;
        }
    };
    let done = run(&cli, out).and_then(|sound| {
        out.flush()?;
        Ok(sound)
    });
    match done {
        Ok(true) => 0,
        Ok(false) => 1,
        Err(Failure::Output(e)) if e.kind() == ErrorKind::BrokenPipe => 0,
        Err(Failure::Output(e)) => fail(&e.to_string()),
        Err(Failure::Other(text)) => fail(&text),
    }
}

fn fail(text: &str) -> u8 {
    let _ = writeln!(std::io::stderr(), "limpid inspect: {text}");
    1
}

/// Answers into `out`; false when something is damaged.
fn run(cli: &Cli, out: &mut dyn Write) -> Result<bool, Failure> {
    let folder = Folder::open(&cli.folder)?;
    match &cli.what {
        What::Files => pages::files(&folder, out),
        What::Pages { space } => pages::pages(&folder, base::SpaceId(*space), out),
        What::Page { space, page, hex } => {
            let id = base::PageId::new(base::SpaceId(*space), base::PageNo(*page));
            page_text::page(&folder, id, *hex, out)
        }
        What::Redo { from, limit, page, summary } => {
            let wanted = redo_text::Wanted { from: *from, limit: *limit, page: *page };
            redo_text::redo(&folder, &wanted, *summary, out)
        }
        What::Undo { records } => undo_text::undo(&folder, *records, out),
        What::Check => check::check(&folder, out),
    }
}
