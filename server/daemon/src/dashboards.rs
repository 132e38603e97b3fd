//! The dashboard's switch: one at most runs, started and stopped by `limpid_dashboard`.

use dashboard::Dashboard;
use session::Server;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, OnceLock, Weak};
use sync::Mutex;

instrument::classes! {
    static SWITCH: MutexClass = "wait/synch/mutex/limpid/dashboard";
}

/// Where the dashboard runs, and whether it does.
pub struct Dashboards {
    /// The server, and where its pages are; known before clients come.
    place: OnceLock<(Weak<Server>, (IpAddr, u16))>,
    running: Mutex<Option<Dashboard>>,
}

impl Dashboards {
    /// None runs.
    pub fn new() -> Dashboards {
        Dashboards { place: OnceLock::new(), running: Mutex::new(&SWITCH, None) }
    }

    /// Tells where it is to be; once.
    pub fn set_place(&self, server: &Arc<Server>, place: (IpAddr, u16)) {
        let _ = self.place.set((Arc::downgrade(server), place));
    }

    /// Starts it, unless it runs; where it is.
    ///
    /// # Errors
    /// One sentence for the user.
    pub fn start(&self) -> Result<SocketAddr, String> {
        let mut running = self.running.lock();
        if let Some(dashboard) = &*running {
            return Ok(dashboard.address());
        }
        let place = self.place.get().and_then(|(server, place)| Some((server.upgrade()?, place)));
        let (server, (address, port)) = place.ok_or("the server is not up")?;
        let dashboard = Dashboard::start(&server, *address, *port)?;
        Ok(running.insert(dashboard).address())
    }

    /// Stops it, if it runs; its port is closed when this returns.
    pub fn stop(&self) {
        let running = self.running.lock().take();
        if let Some(dashboard) = running {
            dashboard.stop();
        }
    }
}
