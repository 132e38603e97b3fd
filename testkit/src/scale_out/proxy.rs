//! Apache ShardingSphere-Proxy 5.1.0: its jars, its files, its process.
//!
//! 1. Transactions of a client are XA transactions over the shards; Atomikos is the manager and writes its decisions to
//!    `logs/` under the proxy's folder. Who loses that log loses the decisions.
//! 2. A branch without a decision is rolled back by the second look at the shards that is `max_timeout` after the first
//!    that saw it; looks are `recovery_delay` apart. As installed both are five minutes.
//! 3. The manager knows its branches by `tm_unique_name`, which as installed is made of the machine's address.

use super::namespace::{Namespace, Running};
use super::{PROXY_PORT, SHARD_PORT};
use crate::{Peer, TextClient};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const PROXY: &str = "org.apache.shardingsphere:shardingsphere-proxy-bootstrap:5.1.0";
/// What the proxy reaches its shards with; its own, of version 5.1, stands in the way. Not version 9.7.0: to that one servers
/// are the same that have the host in common, or the port (`isSameRM`), and the manager then looks for branches in doubt on
/// one of them alone.
const DRIVER: &str = "com.mysql:mysql-connector-j:8.4.0";
const OLD_DRIVER: &str = "mysql:mysql-connector-java";

/// Longest time until it answers: a Java machine beside others on few cores.
const START_MAX: Duration = Duration::from_secs(180);

/// Longest time until a client gives up: a COMMIT that meets a dead server is tried again for a while.
const ANSWER_MAX: Duration = Duration::from_secs(90);

/// How soon branches without a decision go.
#[derive(Debug, Clone, Copy)]
pub struct Recovery {
    /// Between two looks at the shards.
    pub delay: Duration,
    /// What a branch is given that has no decision. No shorter than the slowest commit: a branch that is rolled back while
    /// the manager decides to commit is an atomicity broken.
    pub patience: Duration,
}

/// The proxy's jars, fetched once.
///
/// # Errors
/// When Maven is missing or fails.
pub fn jars(home: &Path) -> Result<PathBuf, String> {
    crate::jars::fetched(home, &[PROXY, DRIVER], &[OLD_DRIVER])
}

/// Tables that are sharded, with the column that decides. The first two are bound: what joins them on the column runs on each
/// shard alone.
const TABLES: [(&str, &str); 4] =
    [("accounts", "id"), ("orders", "account_id"), ("transfers", "id"), ("items", "id")];

/// Writes the proxy's files into its folder.
///
/// # Errors
/// When the folder cannot be written to.
pub fn configure(folder: &Path, shards: usize, recovery: Recovery) -> Result<(), String> {
    let conf = folder.join("conf");
    let failed = |e: std::io::Error| format!("{}: {e}", conf.display());
    std::fs::create_dir_all(&conf).map_err(failed)?;
    let files = [
        ("server.yaml", server()),
        ("config-shop.yaml", shop(shards)),
        ("jta.properties", atomikos(folder, recovery)),
        ("logback.xml", LOGGING.to_string()),
    ];
    files.iter().try_for_each(|(name, text)| std::fs::write(conf.join(name), text)).map_err(failed)
}

const LOGGING: &str = "<configuration><appender name=\"console\" class=\"ch.qos.logback.core.ConsoleAppender\"><encoder>\
    <pattern>%d %-5level %logger{24} - %msg%n</pattern></encoder></appender>\
    <logger name=\"io.netty\" level=\"WARN\"/><root level=\"INFO\"><appender-ref ref=\"console\"/></root></configuration>\n";

fn server() -> String {
    "mode:\n  type: Memory\nrules:\n- !AUTHORITY\n  users:\n  - root@%:root\n  provider:\n    \
     type: ALL_PRIVILEGES_PERMITTED\n- !TRANSACTION\n  defaultType: XA\n  providerType: Atomikos\n\
     props:\n  sql-show: false\n  max-connections-size-per-query: 1\n"
        .into()
}

fn shop(shards: usize) -> String {
    let mut text = "schemaName: shop\ndataSources:\n".to_string();
    for n in 0..shards {
        let port = SHARD_PORT + n as u16;
        let _ = write!(
            text,
            "  ds_{n}:\n    url: jdbc:mysql://127.0.0.1:{port}/shop?sslMode=DISABLED&allowPublicKeyRetrieval=true\
             &connectionTimeZone=UTC&useServerPrepStmts=true\n    \
             username: proxy\n    password: word\n    maxPoolSize: 50\n    minPoolSize: 1\n    \
             connectionTimeoutMilliseconds: 10000\n"
        );
    }
    text += "rules:\n- !SHARDING\n  tables:\n";
    let last = shards - 1;
    for (table, column) in TABLES {
        let _ = write!(
            text,
            "    {table}:\n      actualDataNodes: ds_${{0..{last}}}.{table}\n      databaseStrategy:\n        \
             standard:\n          shardingColumn: {column}\n          shardingAlgorithmName: by_hash\n"
        );
    }
    let _ = write!(
        text,
        "  bindingTables:\n  - accounts,orders\n  shardingAlgorithms:\n    by_hash:\n      \
         type: HASH_MOD\n      props:\n        sharding-count: {shards}\n"
    );
    text
}

/// Properties that the jars set themselves are repeated where this file would otherwise fall back to the manager's own.
fn atomikos(folder: &Path, recovery: Recovery) -> String {
    let name = |property: &str, value: String| format!("com.atomikos.icatch.{property}={value}\n");
    let patience = recovery.patience.as_millis().to_string();
    [
        name("tm_unique_name", "limpid-scale-out".into()),
        name("log_base_dir", folder.join("logs").display().to_string()),
        name("recovery_delay", recovery.delay.as_millis().to_string()),
        name("max_timeout", patience.clone()),
        name("default_jta_timeout", patience),
        // As installed a COMMIT is answered with OK also when servers did not carry out what was decided.
        name("throw_on_heuristic", "true".into()),
        name("oltp_retry_interval", recovery.delay.as_millis().to_string()),
    ]
    .concat()
}

/// A running proxy.
#[derive(Debug)]
pub struct Proxy(Running);

impl Proxy {
    /// Starts it inside and waits until it answers; all shards must be there.
    ///
    /// # Errors
    /// When it ends or does not answer; the end of its log is in the message.
    pub fn start(within: &Namespace, folder: &Path, jars: &Path) -> Result<Proxy, String> {
        std::fs::create_dir_all(folder.join("logs")).map_err(|e| e.to_string())?;
        let path = folder.join("log");
        let log = std::fs::File::options().create(true).append(true).open(&path);
        let log = log.map_err(|e| format!("{}: {e}", path.display()))?;
        let (conf, jars) = (folder.join("conf"), jars.display());
        let mut command = within.command("java");
        command
            .args(["-Xmx1g", "-XX:+UseSerialGC", "--add-opens", "java.base/java.lang=ALL-UNNAMED"])
            .args(["-cp", &format!("{}:{jars}/*", conf.display())])
            .args(["org.apache.shardingsphere.proxy.Bootstrap", &PROXY_PORT.to_string()])
            .arg(&conf)
            .current_dir(folder)
            .stderr(log.try_clone().map_err(|e| e.to_string())?)
            .stdout(log);
        let mut running = Running::start(&mut command, "java")?;
        let begin = Instant::now();
        while begin.elapsed() < START_MAX && !running.is_over() {
            if session(within.entrance()).is_some() {
                return Ok(Proxy(running));
            }
            crate::pause(50);
        }
        let log = std::fs::read_to_string(&path).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        Err(format!(
            "the proxy does not answer\n{}",
            lines[lines.len().saturating_sub(30)..].join("\n")
        ))
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.0.pid()
    }
}

/// A client of the proxy at its database; `None` when it does not answer.
pub fn session(entrance: &Path) -> Option<TextClient> {
    let peer = Peer { socket: entrance.into(), user: "root".into(), password: "root".into() };
    let mut client = TextClient::try_connect(&peer).ok()?;
    client.attempt("USE shop")?.ok()?;
    client.set_patience(Some(ANSWER_MAX));
    Some(client)
}
