//! Several servers behind ShardingSphere's proxy: a user's cluster on one machine, for `cargo xtask scale-out` and for tests.
//!
//! Reading order: [`namespace`] (a network of its own), [`proxy`] (the proxy's files and process), this file (the cluster),
//! [`bank`] (accounts, transfers between shards, and what must be true of them), [`chaos`] (transfers while processes die).

pub mod bank;
pub mod chaos;
pub mod namespace;
pub mod proxy;

use crate::{Server, TextClient};
use namespace::Namespace;
use proxy::{Proxy, Recovery};
use std::path::{Path, PathBuf};

/// Where the proxy listens in its namespace.
pub const PROXY_PORT: u16 = 3307;
/// Where the first shard does; the others follow.
pub const SHARD_PORT: u16 = 3310;

/// What a cluster is made of.
#[derive(Debug, Clone)]
pub struct Parts {
    /// The server's program.
    pub binary: PathBuf,
    /// The proxy's jars ([`proxy::jars`]).
    pub jars: PathBuf,
    /// How many servers.
    pub shards: usize,
    /// How soon branches without a decision go.
    pub recovery: Recovery,
}

/// Notes in a folder how many shards its data has: the proxy finds each row by that number.
fn is_of(folder: &Path, shards: usize) -> Result<(), String> {
    let file = folder.join("shards");
    match std::fs::read_to_string(&file) {
        Ok(made_with) if made_with == shards.to_string() => Ok(()),
        Ok(made_with) => Err(format!(
            "the data in {} is of {made_with} shards, not {shards}; remove it to begin anew",
            folder.display()
        )),
        Err(_) => std::fs::write(&file, shards.to_string())
            .map_err(|e| format!("{}: {e}", file.display())),
    }
}

/// Servers, the proxy in front of them, and the network that they have for themselves. They end with it.
#[derive(Debug)]
pub struct Cluster {
    proxy: Option<Proxy>,
    shards: Vec<Server>,
    namespace: Namespace,
    folder: PathBuf,
    parts: Parts,
}

impl Cluster {
    /// Starts one in a folder: data that is there stays, with as many shards as it was made with.
    ///
    /// # Errors
    /// When a program is missing, the data is of another number of shards, or the proxy does not start.
    ///
    /// # Panics
    /// When a server does not start.
    pub fn start(folder: &Path, parts: Parts) -> Result<Cluster, String> {
        std::fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        is_of(folder, parts.shards)?;
        let namespace = Namespace::with_entrance(&folder.join("proxy.sock"), PROXY_PORT)?;
        let folder = folder.to_path_buf();
        let mut cluster = Cluster { proxy: None, shards: Vec::new(), namespace, folder, parts };
        for n in 0..cluster.parts.shards {
            let server = cluster.shard_started(n)?;
            cluster.shards.push(server);
        }
        let (shards, recovery) = (cluster.parts.shards, cluster.parts.recovery);
        proxy::configure(&cluster.folder.join("proxy"), shards, recovery)?;
        cluster.start_proxy()?;
        Ok(cluster)
    }

    fn shard_started(&self, n: usize) -> Result<Server, String> {
        let folder = self.folder.join(format!("shard{n}"));
        std::fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        let is_new = !folder.join("ready").exists();
        let inside = self.namespace.inside();
        let inside: Vec<&str> = inside.iter().map(String::as_str).collect();
        let server = Server::with()
            .binary(&self.parts.binary)
            .under(&inside)
            .option(format!("--port={}", SHARD_PORT + n as u16))
            .option("--innodb-lock-wait-timeout=5")
            .start(&folder);
        if is_new {
            let mut client = TextClient::connect(server.socket());
            for sql in [
                "CREATE DATABASE IF NOT EXISTS shop",
                "CREATE USER IF NOT EXISTS proxy@'%' IDENTIFIED BY 'word'",
                "GRANT ALL ON shop.* TO proxy@'%'",
                "GRANT XA_RECOVER_ADMIN ON *.* TO proxy@'%'",
            ] {
                client.query(sql).map_err(|e| format!("{sql}: {e:?}"))?;
            }
            std::fs::write(folder.join("ready"), "").map_err(|e| e.to_string())?;
        }
        Ok(server)
    }

    /// Starts the proxy, which is not there.
    ///
    /// # Errors
    /// When it does not answer.
    pub fn start_proxy(&mut self) -> Result<(), String> {
        let proxy = Proxy::start(&self.namespace, &self.folder.join("proxy"), &self.parts.jars)?;
        self.proxy = Some(proxy);
        Ok(())
    }

    /// Ends the proxy as a crash would.
    pub fn kill_proxy(&mut self) {
        self.proxy = None;
    }

    /// Ends a shard as a crash would.
    pub fn kill_shard(&mut self, n: usize) {
        self.shards[n].kill();
    }

    /// Starts a shard that was killed.
    ///
    /// # Errors
    /// When its folder cannot be used.
    pub fn start_shard(&mut self, n: usize) -> Result<(), String> {
        self.shards[n] = self.shard_started(n)?;
        Ok(())
    }

    /// How many shards there are.
    pub fn shards(&self) -> usize {
        self.shards.len()
    }

    /// The socket of a shard.
    pub fn shard_socket(&self, n: usize) -> &Path {
        self.shards[n].socket()
    }

    /// The socket of the proxy.
    pub fn socket(&self) -> &Path {
        self.namespace.entrance()
    }

    /// The proxy's jars, Connector/J among them.
    pub fn jars(&self) -> &Path {
        &self.parts.jars
    }

    /// The network of the cluster.
    pub fn namespace(&self) -> &Namespace {
        &self.namespace
    }

    /// Processes by name, the proxy first.
    pub fn processes(&self) -> Vec<(String, u32)> {
        let proxy = self.proxy.iter().map(|p| ("proxy".to_string(), p.pid()));
        let shards = self.shards.iter().enumerate().map(|(n, s)| (format!("shard{n}"), s.pid()));
        proxy.chain(shards).chain([("relay".to_string(), self.namespace.pid())]).collect()
    }

    /// A client of the proxy.
    ///
    /// # Panics
    /// When the proxy does not answer.
    pub fn client(&self) -> TextClient {
        proxy::session(self.socket()).expect("the proxy answers")
    }

    /// A client of one shard alone, as root.
    pub fn shard_client(&self, n: usize) -> TextClient {
        TextClient::connect(self.shard_socket(n))
    }

    /// Leaves all processes running.
    pub fn leave(self) {
        std::mem::forget(self);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_stays_of_as_many_shards() {
        let folder = crate::TempDir::new();
        is_of(folder.path(), 3).unwrap();
        is_of(folder.path(), 3).unwrap();
        assert!(is_of(folder.path(), 2).unwrap_err().contains("of 3 shards, not 2"));
    }
}
