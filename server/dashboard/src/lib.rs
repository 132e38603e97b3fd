//! The dashboard: pages that show a browser what the server does now and what it waits for.
//!
//! Reading order: `service` (port, thread, limits), `gate` (who may look), `pages` (what is answered), `sample` (what is read
//! each second, by SQL), `locks` (who waits for whom), `panels` (charts and tables of what was read), `history` (what was waited for
//! before), `findings` (the doctor's), `markup`.
//!
//! 1. It changes nothing: it reads `performance_schema`, status and the graph of waits, as any reader does, and only
//!    while somebody looks. 2. One thread does all of it; a panic there ends the dashboard, not the server. 3. Everything
//!    has a bound: connections, the time of a request, viewers, samples, rows of a table. 4. Names and statements are
//!    text: they reach a page through [`chart::escape`] alone, and the page runs no script but its own file.
//! 5. Only loopback is listened on: passwords come in clear, as there is no TLS here.

mod findings;
mod gate;
mod history;
mod locks;
mod markup;
mod pages;
mod panels;
mod sample;
mod service;

pub use service::{Dashboard, THREAD, address};
