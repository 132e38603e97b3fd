//! Port and thread of the dashboard: starts, takes connections within limits, stops.

use crate::gate::Gate;
use crate::pages::{self, STREAM_TIME, Shared};
use crate::panels::Panels;
use crate::sample::Sampler;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use session::{STACK_BYTES_MIN, Server, Severity};
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Semaphore, watch};
use tokio::time::MissedTickBehavior;

/// The thread's name.
pub const THREAD: &str = "dashboard";
/// Connections at a time; one more is closed at once.
const CONNECTIONS_MAX: usize = 128;
/// A request's head has to come within this.
const HEAD_TIME: Duration = Duration::from_secs(5);
/// Bytes that a request's head may have.
const HEAD_BYTES_MAX: usize = 16 * 1024;
/// Between two samples.
const PERIOD: Duration = Duration::from_secs(1);
/// A session that nobody needs is kept so long.
const KEEPS: Duration = Duration::from_secs(10);

/// The address that `limpid_dashboard_address` names.
///
/// # Errors
/// It is none, or not of loopback; one sentence for the user.
pub fn address(text: &str) -> Result<IpAddr, String> {
    let address = match text.trim() {
        "localhost" => IpAddr::V4(Ipv4Addr::LOCALHOST),
        other => other.parse().map_err(|_| {
            format!("limpid_dashboard_address '{other}' is no IP address (names are not resolved)")
        })?,
    };
    match address.is_loopback() {
        true => Ok(address),
        false => Err(format!(
            "limpid_dashboard_address {address} is not of this machine alone: the dashboard has no TLS, so passwords \
             would be read on the way. Leave it at 127.0.0.1 and reach it through a tunnel (ssh -L)."
        )),
    }
}

/// A dashboard that serves. Dropping it does not end it: see [`Dashboard::stop`].
pub struct Dashboard {
    address: SocketAddr,
    stop: watch::Sender<bool>,
    thread: host::thread::JoinHandle<()>,
}

impl Dashboard {
    /// Takes the port (0: any free one) and serves from a thread of its own.
    ///
    /// # Errors
    /// The port is in use, or there is no room for a thread; one sentence for the user.
    pub fn start(server: &Arc<Server>, address: IpAddr, port: u16) -> Result<Self, String> {
        let at = SocketAddr::new(address, port);
        let listener = TcpListener::bind(at).map_err(|error| match error.kind() {
            io::ErrorKind::AddrInUse => format!(
                "port {port} of {address} is in use. Choose another one with --limpid-dashboard-port=N (0: any free one)"
            ),
            _ => format!("cannot listen on {at}: {error}"),
        })?;
        let failed = |error: io::Error| format!("cannot listen on {at}: {error}");
        listener.set_nonblocking(true).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let (stop, stopped) = watch::channel(false);
        let server = Arc::clone(server);
        let run = move || {
            let serve = || serve(&server, listener, address, stopped);
            let ended = catch_unwind(AssertUnwindSafe(serve));
            let why = match ended {
                Ok(Ok(())) => return,
                Ok(Err(error)) => error.to_string(),
                Err(_) => "a bug".to_string(),
            };
            server
                .host
                .log(Severity::Error, &format!("The dashboard ended: {why}. The server goes on."));
        };
        let thread = host::thread::spawn_listed(THREAD, STACK_BYTES_MIN, run)
            .map_err(|error| format!("no thread for it: {error}"))?;
        Ok(Dashboard { address, stop, thread })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Closes the port and every connection; they are closed when this returns.
    pub fn stop(self) {
        let _ = self.stop.send(true);
        let _ = self.thread.join();
    }
}

fn serve(
    server: &Arc<Server>,
    listener: TcpListener,
    address: SocketAddr,
    mut stopped: watch::Receiver<bool>,
) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .enable_time()
        // Nothing blocks there: one is the least that tokio takes.
        .max_blocking_threads(1)
        .build()?;
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::from_std(listener)?;
        let shared = Shared::new(server, Gate::new(server, address), STREAM_TIME);
        let panicked = tokio::spawn(sample_each_second(Arc::clone(server), Arc::clone(&shared)));
        tokio::select! {
            () = accept_all(listener, shared) => Ok(()),
            _ = panicked => Err(io::Error::other("the sampler ended")),
            _ = stopped.changed() => Ok(()),
        }
    })
    // The runtime's end closes what is open.
}

async fn accept_all(listener: tokio::net::TcpListener, shared: Arc<Shared>) {
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        let Ok((stream, from)) = listener.accept().await else {
            // Out of file descriptors, most likely.
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        let Ok(place) = Arc::clone(&places).try_acquire_owned() else { continue };
        // While a write waits for a reader that reads nothing, a stream is not asked whether its time is over.
        let time = HEAD_TIME + shared.stream_time;
        let service = TowerToHyperService::new(pages::router(Arc::clone(&shared), from));
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_TIME)
            .max_buf_size(HEAD_BYTES_MAX)
            // One request each: a connection that waits for nothing takes no place.
            .keep_alive(false)
            .serve_connection(TokioIo::new(stream), service);
        tokio::spawn(async move {
            // The client's faults are the client's.
            let _ = tokio::time::timeout(time, connection).await;
            drop(place);
        });
    }
}

/// Reads and draws while somebody looks.
async fn sample_each_second(server: Arc<Server>, shared: Arc<Shared>) {
    let mut sampler = Sampler::new(&server);
    let mut ticks = tokio::time::interval(PERIOD);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            // Who comes first does not wait for the second.
            () = shared.called.notified() => {}
        }
        let looked = shared.looked_ago();
        if looked > KEEPS {
            sampler.rest();
            continue;
        }
        sampler.sample();
        shared.publish(Panels::of(&sampler));
    }
}

#[cfg(test)]
mod tests;
