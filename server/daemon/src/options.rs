//! The command line and option files, as MySQL spells them.
//!
//! 1. Later wins: option files first, then the command line; `SET PERSIST` (read once the data folder is
//!    known) wins over option files and loses to nothing but the command line.
//! 2. An option that is unknown is an error naming its place, unless it starts with `loose_`.
//! 3. Files that belong to another installation (`/etc/my.cnf`, `/etc/mysql/my.cnf`, `~/.my.cnf`) are read
//!    for the group `[limpid]` only; a file named by the user also for `[mysqld]` and `[server]`.

use crate::optfile::{self, Written};
use instrument::{Consumer, Rule};
use session::variables::{self, Effect, Kind, Origin, Source, Value, VarId};
use std::path::{Path, PathBuf};

const OWN_GROUPS: &[&str] = &["limpid"];
const ALL_GROUPS: &[&str] = &["mysqld", "server", "limpid"];

const INSTRUMENT: &str = "performance_schema_instrument";
/// How root of a new data folder comes in, as `mariadb-install-db` calls it.
const ROOT_METHOD: &str = "auth_root_authentication_method";

/// Options of MySQL that are no variables and mean nothing here; taken with a note in the log.
const IGNORED: &[&str] = &[
    "user",
    "console",
    "standalone",
    "symbolic_links",
    "mysqlx",
    "mysqlx_port",
    "mysqlx_socket",
    "innodb_log_checksums",
    "character_set_client_handshake",
    "federated",
    "archive",
    "blackhole",
    "ssl",
    "log_short_format",
    "allow_suspicious_udfs",
    "external_locking",
    "innodb_status_file",
    "old_passwords",
    "binlog_checksum",
    "relay_log_index",
    "log_bin_index",
    "verbose",
];

/// How a data folder is made before there is a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Initialize {
    /// root gets a password.
    Secure,
    /// root has none.
    Insecure,
}

/// What was asked at start-up.
#[derive(Debug, Default)]
pub struct Options {
    /// Values by variable, in the order given, those of option files first.
    pub given: Vec<(VarId, Value)>,
    /// How many of `given` came from option files.
    pub from_files: usize,
    /// Where each of those that came from option files was written.
    pub origins: Vec<(VarId, Origin)>,
    /// Notes for the log.
    pub notes: Vec<String>,
    /// `performance_schema_instrument`: what instruments do, by name.
    pub instruments: Vec<Rule>,
    /// `performance_schema_instrument` that says nothing.
    pub no_instruments: Vec<String>,
    /// `performance_schema_consumer_...`: consumers to be switched.
    pub consumers: Vec<(Consumer, bool)>,
    /// `--skip-grant-tables`.
    pub skip_grant_tables: bool,
    /// `--mysql-native-password`.
    pub native_password: bool,
    /// `--initialize`, `--initialize-insecure`.
    pub initialize: Option<Initialize>,
    /// `--auth-root-authentication-method=socket`: root of a new data folder comes in by `auth_socket`.
    pub root_by_socket: bool,
    /// `--help`.
    pub help: bool,
    /// `--version`.
    pub version: bool,
}

impl Options {
    /// The last value given for a variable.
    pub fn value(&self, name: &'static str) -> Option<&Value> {
        let id = variables::id(name);
        self.given.iter().rev().find(|(i, _)| *i == id).map(|(_, v)| v)
    }

    /// The text given for a variable, if any was.
    pub fn text(&self, name: &'static str) -> Option<String> {
        self.value(name).and_then(|v| match v {
            Value::Text(t) if !t.is_empty() => Some(t.to_string()),
            _ => None,
        })
    }

    /// The number given for a variable, or its default.
    pub fn number(&self, name: &'static str) -> u64 {
        let id = variables::id(name);
        self.value(name).map_or_else(|| variables::compiled_default(id).as_u64(), Value::as_u64)
    }
}

/// Reads the command line (without the program's name) and the option files it asks for. The error is one
/// sentence for the user.
pub fn read(args: &[String]) -> Result<Options, String> {
    let mut options = read_with(args, &default_files())?;
    leave_out(&mut options, cfg!(feature = "dashboard"), instrument::INSTRUMENTS);
    Ok(options)
}

/// Turns off what this server was built without, and says so to who asked for it.
fn leave_out(options: &mut Options, has_dashboard: bool, has_instruments: bool) {
    if !has_dashboard {
        if options.value("limpid_dashboard").is_some_and(|value| value.as_u64() != 0) {
            let note = "limpid_dashboard: this server was built without it; it is OFF";
            options.notes.push(note.into());
        }
        options.given.push((variables::id("limpid_dashboard"), Value::UInt(0)));
    }
    if !has_instruments {
        options.given.push((variables::id("performance_schema"), Value::UInt(0)));
    }
}

fn default_files() -> Vec<(PathBuf, Source)> {
    let global = ["/etc/my.cnf", "/etc/mysql/my.cnf"];
    let mut files: Vec<_> = global.map(|file| (PathBuf::from(file), Source::Global)).into();
    let home = std::env::var_os("HOME").map(|home| Path::new(&home).join(".my.cnf"));
    files.extend(home.map(|file| (file, Source::User)));
    files
}

/// Reads the options of a file and of what it includes.
fn option_file(
    options: &mut Options,
    file: &Path,
    groups: &[&str],
    source: Source,
) -> Result<(), String> {
    for written in optfile::read(file, groups)? {
        let before = options.given.len();
        apply(options, &written)?;
        // Behind the file is the line.
        let path = written.place.rsplit_once(':').map_or("", |(path, _)| path);
        let new = options.given[before..].iter().map(|(id, _)| (*id, Origin::of(source, path)));
        options.origins.extend(new.collect::<Vec<_>>());
    }
    Ok(())
}

fn read_with(args: &[String], defaults: &[(PathBuf, Source)]) -> Result<Options, String> {
    let mut options = Options::default();
    let mut rest = args;
    // The options about option files must come first, as in MySQL.
    let mut files: Vec<(PathBuf, &[&str], Source)> = Vec::new();
    let mut use_defaults = true;
    while let Some((first, after)) = rest.split_first() {
        if first == "--no-defaults" {
            use_defaults = false;
        } else if let Some(file) = first.strip_prefix("--defaults-file=") {
            use_defaults = false;
            files.push((PathBuf::from(file), ALL_GROUPS, Source::Explicit));
        } else if let Some(file) = first.strip_prefix("--defaults-extra-file=") {
            files.push((PathBuf::from(file), ALL_GROUPS, Source::Extra));
        } else if !(first == "--print-defaults" || first.starts_with("--defaults-group-suffix=")) {
            break;
        }
        rest = after;
    }
    if use_defaults {
        let there = defaults.iter().filter(|(file, _)| file.exists());
        let own = there.map(|(file, source)| (file.clone(), OWN_GROUPS, *source));
        files = own.chain(files).collect();
    }
    for (file, groups, source) in files {
        option_file(&mut options, &file, groups, source)?;
    }
    options.from_files = options.given.len();
    command_line(&mut options, rest)?;
    Ok(options)
}

fn command_line(options: &mut Options, args: &[String]) -> Result<(), String> {
    let mut args = args.iter().peekable();
    while let Some(arg) = args.next() {
        let place = || String::from("command line");
        if let Some((name, attached)) = short(arg) {
            let value = match attached {
                Some(value) => value,
                None => {
                    args.next().cloned().ok_or(format!("option '{arg}' requires an argument"))?
                }
            };
            apply(options, &Written { name: name.into(), value: Some(value), place: place() })?;
            continue;
        }
        match arg.as_str() {
            "--help" | "-?" | "-h" => options.help = true,
            "--version" | "-V" => options.version = true,
            "--verbose" | "-v" => {}
            "serve" if options.given.len() == options.from_files => {}
            _ => {
                let Some(body) = arg.strip_prefix("--") else {
                    return Err(format!("unexpected argument '{arg}'; options start with --"));
                };
                let (name, mut value) = match body.split_once('=') {
                    Some((name, value)) => (name, Some(value.to_string())),
                    None => (body, None),
                };
                if name.starts_with("defaults-") || name == "no-defaults" {
                    return Err(format!("--{name} must be given before all other options"));
                }
                let name = name.replace('-', "_");
                if value.is_none() && takes_value(&name) {
                    value = args.next_if(|a| !a.starts_with("--")).cloned();
                }
                apply(options, &Written { name, value, place: place() })?;
            }
        }
    }
    Ok(())
}

/// The long name of a one-letter option with a value, and the value when it is attached.
fn short(arg: &str) -> Option<(&'static str, Option<String>)> {
    let mut chars = arg.strip_prefix('-')?.chars();
    let name = match chars.next()? {
        'P' => "port",
        'S' => "socket",
        'u' => "user",
        'b' => "basedir",
        't' => "tmpdir",
        _ => return None,
    };
    let attached = chars.as_str();
    Some((name, (!attached.is_empty()).then(|| attached.to_string())))
}

fn takes_value(name: &str) -> bool {
    [INSTRUMENT, ROOT_METHOD].contains(&name)
        || variables::find(name).is_some_and(|id| !matches!(id.get().kind, Kind::Bool))
}

fn apply(options: &mut Options, written: &Written) -> Result<(), String> {
    let loose = written.name.strip_prefix("loose_");
    let name = loose.unwrap_or(&written.name);
    if name == INSTRUMENT {
        let text = written.value.as_deref();
        let text = text.ok_or_else(|| format!("option '--{name}' requires an argument"))?;
        match rule(text) {
            Some(rule) => options.instruments.push(rule),
            None => options.no_instruments.push(text.to_string()),
        }
        return Ok(());
    }
    if apply_start(options, name, written.value.as_deref()) {
        return Ok(());
    }
    if name == ROOT_METHOD {
        options.root_by_socket =
            match written.value.as_deref().map(str::to_ascii_lowercase).as_deref() {
                Some("socket") => true,
                Some("normal") => false,
                _ => return Err(format!("{}: '--{name}' is 'normal' or 'socket'", written.place)),
            };
        return Ok(());
    }
    if let Some((consumer, on)) = consumer(name, written.value.as_deref()) {
        let on = on.unwrap_or_else(|| {
            let value = written.value.as_deref().unwrap_or_default();
            let note =
                format!("option '{name}': boolean value '{value}' was not recognized. Set to OFF.");
            options.notes.push(note);
            false
        });
        options.consumers.push((consumer, on));
        return Ok(());
    }
    match resolve(name, written.value.as_deref()) {
        Ok(Some((id, value, note))) => {
            options.given.push((id, value));
            options.notes.extend(note.map(|n| format!("{}: {n}", written.place)));
            Ok(())
        }
        Ok(None) => {
            options.notes.push(format!("{}: option '{name}' has no effect", written.place));
            Ok(())
        }
        Err(text) if loose.is_some() => {
            options.notes.push(format!("{}: {text}; ignored", written.place));
            Ok(())
        }
        Err(text) => Err(format!("{}: {text}", written.place)),
    }
}

/// Options that say how to start and are no variables; false: it is none of them.
fn apply_start(options: &mut Options, name: &str, value: Option<&str>) -> bool {
    let on = value.is_none_or(|value| ["1", "on", "true"].contains(&&*value.to_ascii_lowercase()));
    match name {
        "skip_grant_tables" => options.skip_grant_tables = on,
        "mysql_native_password" => options.native_password = on,
        "initialize" => options.initialize = on.then_some(Initialize::Secure),
        "initialize_insecure" => options.initialize = on.then_some(Initialize::Insecure),
        _ => return false,
    }
    true
}

/// `pattern=value`.
fn rule(text: &str) -> Option<Rule> {
    let (pattern, value) = text.split_once('=')?;
    let pattern = pattern.trim().to_string();
    let (enabled, timed) = match value.trim().to_ascii_lowercase().as_str() {
        "on" | "true" | "yes" | "1" => (true, true),
        "counted" => (true, false),
        "off" | "false" | "no" | "0" => (false, false),
        _ => return None,
    };
    (!pattern.is_empty()).then_some(Rule { pattern, enabled, timed })
}

/// The consumer that an option names, and whether it is to be on; nothing where the value is neither.
fn consumer(name: &str, value: Option<&str>) -> Option<(Consumer, Option<bool>)> {
    let (name, off) = match name.strip_prefix("skip_").or_else(|| name.strip_prefix("disable_")) {
        Some(rest) => (rest, true),
        None => (name, false),
    };
    let name = name.strip_prefix("performance_schema_consumer_")?;
    let consumer = Consumer::ALL.iter().find(|c| c.name() == name)?;
    let on = match value.map(str::to_ascii_lowercase).as_deref() {
        None => Some(!off),
        Some("on" | "true" | "1") => Some(true),
        Some("off" | "false" | "0") => Some(false),
        Some(_) => None,
    };
    Some((*consumer, on))
}

type Resolved = Option<(VarId, Value, Option<String>)>;

fn resolve(name: &str, value: Option<&str>) -> Result<Resolved, String> {
    if let Some(id) = variables::find(name) {
        let v = id.get();
        let Some(text) = value.or(matches!(v.kind, Kind::Bool).then_some("")) else {
            return Err(format!("option '--{name}' requires an argument"));
        };
        let lacking =
            |reason| format!("'{text}' is not supported as a value of option '{name}': {reason}");
        let (value, note) = v.kind.parse(v.name, text).map_err(|_| match v.effect {
            // `log_bin` is a name for MySQL.
            Effect::DefaultOnly(reason) => lacking(reason),
            _ => format!("'{text}' is no valid value for option '{name}'"),
        })?;
        if let Some(reason) = v.lacks(&value) {
            return Err(lacking(reason));
        }
        return Ok(Some((id, value, note)));
    }
    for (prefix, on) in [("skip_", "OFF"), ("disable_", "OFF"), ("enable_", "ON")] {
        if let Some(id) = name.strip_prefix(prefix).and_then(variables::find)
            && matches!(id.get().kind, Kind::Bool)
            && value.is_none()
        {
            return resolve(id.get().name, Some(on));
        }
    }
    if IGNORED.contains(&name.strip_prefix("skip_").unwrap_or(name)) {
        return Ok(None);
    }
    Err(match value {
        Some(value) => format!("unknown variable '{name}={value}'"),
        None => format!("unknown option '--{name}'"),
    })
}

/// What `--help` prints.
pub fn help() -> String {
    let mut text = String::from(concat!(
        "Limpid, a MySQL-compatible transactional database server\n\n",
        "Usage: limpid [serve] [--defaults-file=FILE | --no-defaults] [--defaults-extra-file=FILE]\n",
        "              [OPTIONS]\n\n",
        "Options are MySQL's; dashes and underscores are the same, sizes take K, M, G.\n",
        "Option files: --defaults-file and --defaults-extra-file are read for [mysqld], [server] and\n",
        "[limpid]; /etc/my.cnf, /etc/mysql/my.cnf and ~/.my.cnf for [limpid] only.\n\n",
        "  --datadir=DIR                    data folder (./limpid-data)\n",
        "  --port=N                         TCP port (3306)\n",
        "  --bind-address=ADDR              TCP address (127.0.0.1)\n",
        "  --socket=PATH                    Unix socket (limpid.sock in the data folder)\n",
        "  --innodb-buffer-pool-size=SIZE   memory for cached pages (128M)\n",
        "  --initialize, --initialize-insecure  make a data folder, and end\n",
        "  --auth-root-authentication-method=socket  of a new data folder: root@localhost is the system's root\n",
        "                                   at the socket (auth_socket), and has no password\n",
        "  --skip-grant-tables              everybody may do everything, over the socket only\n",
        "  --help, --version\n\n",
        "Variables and their values when nothing is given:\n",
    ));
    for id in variables::sorted() {
        let v = id.get();
        text += &format!("  {:<56} {}\n", v.name.replace('_', "-"), v.default);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(args: &[&str]) -> Result<Options, String> {
        read_with(&args.iter().map(|a| a.to_string()).collect::<Vec<_>>(), &[])
    }

    #[test]
    fn mysql_spellings() {
        let o = parse(&[
            "--datadir=/d",
            "--port",
            "3307",
            "--innodb_buffer_pool-size=2G",
            "-S/tmp/s",
            "--skip-networking",
        ])
        .unwrap();
        assert_eq!(o.text("datadir").as_deref(), Some("/d"));
        assert_eq!(o.number("port"), 3307);
        assert_eq!(o.number("innodb_buffer_pool_size"), 2 << 30);
        assert_eq!(o.text("socket").as_deref(), Some("/tmp/s"));
        assert_eq!(o.number("skip_networking"), 1);
        let first = parse(&["--skip-grant-tables", "--initialize-insecure"]).unwrap();
        assert!(first.skip_grant_tables && first.initialize == Some(Initialize::Insecure));
        assert!(!parse(&["--skip-grant-tables=0"]).unwrap().skip_grant_tables);
        let root = "--auth-root-authentication-method";
        assert!(parse(&[root, "socket"]).unwrap().root_by_socket);
        assert!(parse(&[&format!("{root}=other")]).is_err());
        assert_eq!(parse(&["--skip-innodb-print-all-deadlocks"]).unwrap().given.len(), 1);
    }

    #[test]
    fn wrong_options_are_named() {
        assert_eq!(
            parse(&["--nosuch=1"]).unwrap_err(),
            "command line: unknown variable 'nosuch=1'"
        );
        assert!(parse(&["--port=abc"]).unwrap_err().contains("'abc'"));
        assert!(parse(&["--datadir"]).unwrap_err().contains("requires an argument"));
        assert!(
            parse(&["--port=1", "--defaults-file=x"]).unwrap_err().contains("before all other")
        );
        assert!(parse(&["stray"]).is_err());
        let o = parse(&["--loose-nosuch=1", "--user=mysql"]).unwrap();
        assert_eq!(o.notes.len(), 2);
    }

    #[test]
    fn instruments_and_consumers() {
        let o = parse(&[
            "--performance-schema-instrument= wait/synch/% = Counted ",
            "--performance-schema-instrument",
            "stage/%=on",
            "--performance_schema_instrument==on",
            "--performance_schema_instrument=a=maybe",
            "--performance-schema-consumer-events-waits-current",
            "--performance-schema-consumer-statements_digest=off",
            "--performance-schema-consumer-events_waits_history=2",
        ])
        .unwrap();
        let rule = |pattern: &str, timed| Rule { pattern: pattern.into(), enabled: true, timed };
        assert_eq!(o.instruments, [rule("wait/synch/%", false), rule("stage/%", true)]);
        assert_eq!(o.no_instruments, ["=on", "a=maybe"]);
        let switches = [
            (Consumer::WaitsCurrent, true),
            (Consumer::StatementsDigest, false),
            (Consumer::WaitsHistory, false),
        ];
        assert_eq!((o.consumers.as_slice(), o.notes.len()), (&switches[..], 1));
        assert!(parse(&["--performance-schema-consumer-nosuch=ON"]).is_err());
    }

    #[test]
    fn the_command_line_wins_over_files() {
        let file = std::env::temp_dir().join(format!("limpid-opt-{}.cnf", std::process::id()));
        std::fs::write(&file, "[mysqld]\nport=1\nmax_connections=9\n").unwrap();
        let o = parse(&[&format!("--defaults-file={}", file.display()), "--port=2"]).unwrap();
        assert_eq!((o.number("port"), o.number("max_connections"), o.from_files), (2, 9, 2));
        let origin = Origin::of(Source::Explicit, &file.display().to_string());
        let names: Vec<_> = o.origins.iter().map(|(id, from)| (id.get().name, from)).collect();
        assert_eq!(names, [("port", &origin), ("max_connections", &origin)]);
        let others = read_with(&[], &[(file.clone(), Source::Global)]).unwrap();
        assert_eq!(others.given.len(), 0, "[mysqld] of another installation is not ours");
        std::fs::remove_file(&file).unwrap();
    }

    #[test]
    fn what_was_not_built_is_off() {
        let left_out = |args: &[&str], has_dashboard, has_instruments| {
            let mut options = parse(args).unwrap();
            leave_out(&mut options, has_dashboard, has_instruments);
            let on = |name| options.number(name) != 0;
            (on("limpid_dashboard"), on("performance_schema"), options.notes.len())
        };
        assert_eq!(left_out(&[], true, true), (true, true, 0));
        assert_eq!(left_out(&[], false, true), (false, true, 0));
        assert_eq!(left_out(&[], false, false), (false, false, 0));
        assert_eq!(left_out(&["--limpid-dashboard=OFF"], false, true), (false, true, 0));
        assert_eq!(left_out(&["--limpid-dashboard=ON"], false, true), (false, true, 1));
        assert_eq!(left_out(&["--limpid-dashboard=ON"], true, false), (true, false, 0));
    }

    #[test]
    fn help_lists_every_variable() {
        assert!(help().contains("innodb-flush-log-at-trx-commit"));
    }
}
