//! A server starts: what its variables say is done before the first session comes.

use crate::access;
use crate::deadlocks;
use crate::process::Host;
use crate::server::Server;
use crate::tuning;
use crate::variables::Globals;
use catalog::Catalog;
use std::sync::Arc;
use tls::PasswordKeys;

impl Server {
    /// A server over an open dictionary.
    pub fn new(catalog: Arc<Catalog>, globals: Globals, host: Arc<dyn Host>) -> Arc<Self> {
        Self::with_keys(catalog, globals, host, PasswordKeys::in_memory())
    }

    /// As [`Self::new`], with these keys for passwords that come over the network.
    pub fn with_keys(
        catalog: Arc<Catalog>,
        globals: Globals,
        host: Arc<dyn Host>,
        keys: PasswordKeys,
    ) -> Arc<Self> {
        let server = Server::over(catalog, globals, host, keys);
        tuning::start(&server);
        access::start(&server);
        server.open_logs();
        deadlocks::listen(&server);
        server
    }
}
