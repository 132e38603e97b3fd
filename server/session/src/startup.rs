//! A server starts: what its variables say is done before the first session comes.

use crate::access;
use crate::deadlocks;
use crate::process::Host;
use crate::server::Server;
use crate::tuning;
use crate::variables::Globals;
use catalog::Catalog;
use std::sync::Arc;
use wire::rsa_exchange::KeyPair;

impl Server {
    /// A server over an open dictionary.
    pub fn new(catalog: Arc<Catalog>, globals: Globals, host: Arc<dyn Host>) -> Arc<Self> {
        Self::with_keys(catalog, globals, host, KeyPair::new())
    }

    /// As [`Self::new`], with these keys for passwords that come over the network.
    pub(crate) fn with_keys(
        catalog: Arc<Catalog>,
        globals: Globals,
        host: Arc<dyn Host>,
        keys: KeyPair,
    ) -> Arc<Self> {
        let server = Server::over(catalog, globals, host, keys);
        tuning::start(&server);
        access::start(&server);
        server.open_logs();
        deadlocks::listen(&server);
        server
    }
}
