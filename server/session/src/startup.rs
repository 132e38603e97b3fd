//! A server starts: what its variables say is done before the first session comes.

use crate::access;
use crate::components;
use crate::deadlocks;
use crate::login::Peer;
use crate::net::NoClient;
use crate::process::{Host, Severity};
use crate::registry::Wake;
use crate::server::Server;
use crate::session::Session;
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
        tell_prepared(&server);
        tuning::start(&server);
        access::start(&server);
        components::start(&server);
        server.open_logs();
        deadlocks::listen(&server);
        server
    }
}

/// They lock rows and keep what they have changed from being purged until somebody ends them.
fn tell_prepared(server: &Server) {
    let n = server.branches.prepared().len();
    if n > 0 {
        let text = format!("{n} transactions are prepared (XA): XA RECOVER lists them.");
        server.host.log(Severity::Warning, &text);
    }
}

impl Wake for NoClient {
    fn wake(&self) {}

    fn cut(&self) {}
}

/// Runs statements before the first client comes, as who may do everything.
///
/// # Errors
/// The text of the first one's error that fails.
pub fn run_at_start(server: &Arc<Server>, text: &[u8]) -> Result<(), String> {
    let session = Session::new(server, Peer::Socket(None), Arc::new(NoClient));
    let mut session = session.map_err(|_| "there is no room for a session".to_string())?;
    session.run_unasked(text, &mut NoClient)
}
