//! What is answered: one page, its style and script, its panels one by one, and the stream that refreshes them.
//!
//! 1. Every request passes the gate first. 2. Nothing is read from files: a path is one of a few words, or it is not there.
//! 3. Every answer forbids scripts, frames and requests that are not the page's own.

use crate::gate::Gate;
use crate::history::{self, Range};
use crate::panels::Panels;
use crate::sample::USER;
use axum::Router;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderValue, StatusCode, Uri, header};
use axum::middleware::{self, Next};
use axum::response::sse::{Event, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use futures_util::stream;
use session::{Server, inside};
use std::collections::VecDeque;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{Notify, watch};

const PAGE: &str = include_str!("page.html");
const HISTORY: &str = include_str!("history.html");
const STYLE: &str = include_str!("dashboard.css");
const SCRIPT: &str = include_str!("dashboard.js");
/// Streams at a time.
pub const VIEWERS_MAX: usize = 16;
/// A stream ends after this; the browser opens another one, which passes the gate again.
pub const STREAM_TIME: Duration = Duration::from_secs(60);
/// After this a browser tries again.
const RETRY: Duration = Duration::from_millis(500);

const HEADERS: [(header::HeaderName, &str); 6] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; \
         form-action 'none'; frame-ancestors 'none'",
    ),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::CACHE_CONTROL, "no-store"),
    (header::HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

/// What connections and the sampler share.
pub struct Shared {
    server: Arc<Server>,
    gate: Gate,
    panels: watch::Sender<Arc<Panels>>,
    /// When somebody asked last.
    looked: watch::Sender<Instant>,
    /// As many as there are streams, and one.
    viewers: Arc<()>,
    /// A stream ends after this.
    pub stream_time: Duration,
    /// Somebody came to whom nothing can be shown yet.
    pub called: Notify,
}

impl Shared {
    /// Nobody has looked yet.
    pub fn new(server: &Arc<Server>, gate: Gate, stream_time: Duration) -> Arc<Shared> {
        let long_ago =
            Instant::now().checked_sub(Duration::from_secs(3600)).unwrap_or_else(Instant::now);
        Arc::new(Shared {
            server: Arc::clone(server),
            gate,
            panels: watch::channel(Arc::new(Panels::empty())).0,
            looked: watch::channel(long_ago).0,
            viewers: Arc::new(()),
            stream_time,
            called: Notify::new(),
        })
    }

    /// How long ago somebody looked; a stream looks all the time.
    pub fn looked_ago(&self) -> Duration {
        match self.streams() {
            0 => self.looked.borrow().elapsed(),
            _ => Duration::ZERO,
        }
    }

    /// Shows these from now on.
    pub fn publish(&self, panels: Panels) {
        self.panels.send_replace(Arc::new(panels));
    }

    fn streams(&self) -> usize {
        Arc::strong_count(&self.viewers) - 1
    }

    /// Somebody looks: what was read before the last pause is old, so it is waited for.
    async fn look(&self) -> Arc<Panels> {
        let rested = self.looked_ago() > Duration::from_secs(2);
        self.looked.send_replace(Instant::now());
        if rested {
            let mut panels = self.panels.subscribe();
            self.called.notify_one();
            let _ = tokio::time::timeout(Duration::from_secs(2), panels.changed()).await;
        }
        Arc::clone(&self.panels.borrow())
    }
}

/// Answers to a client.
pub fn router(shared: Arc<Shared>, from: SocketAddr) -> Router {
    let gate = Arc::clone(&shared);
    let gate = middleware::from_fn(move |request: Request, next: Next| {
        pass(Arc::clone(&gate), from, request, next)
    });
    Router::new()
        .route("/", get(page))
        .route("/dashboard.css", get(|| async { typed("text/css; charset=utf-8", STYLE.into()) }))
        .route(
            "/dashboard.js",
            get(|| async { typed("text/javascript; charset=utf-8", SCRIPT.into()) }),
        )
        .route("/favicon.ico", get(|| async { StatusCode::NO_CONTENT }))
        .route("/panel/{name}", get(panel))
        .route("/history", get(history_page))
        .route("/events", get(events))
        .fallback(|| async { (StatusCode::NOT_FOUND, "There is no such page.\n") })
        .layer(gate)
        .with_state(shared)
}

/// Asks the gate, and adds the headers that every answer has.
async fn pass(shared: Arc<Shared>, from: SocketAddr, request: Request, next: Next) -> Response {
    let asked = shared.gate.ask(request.method(), request.headers(), from).await;
    let mut response = match asked {
        Ok(()) => next.run(request).await,
        Err(refusal) => (refusal.status, format!("{}\n", refusal.why)).into_response(),
    };
    let extra = match response.status() {
        StatusCode::UNAUTHORIZED => {
            Some((header::WWW_AUTHENTICATE, "Basic realm=\"Limpid\", charset=\"UTF-8\""))
        }
        StatusCode::METHOD_NOT_ALLOWED => Some((header::ALLOW, "GET")),
        _ => None,
    };
    for (name, value) in HEADERS.into_iter().chain(extra) {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

fn typed(kind: &'static str, body: String) -> Response {
    ([(header::CONTENT_TYPE, kind)], body).into_response()
}

fn html(body: String) -> Response {
    typed("text/html; charset=utf-8", body)
}

/// The whole page, with its panels as they are: it says something to who runs no script, too.
async fn page(State(shared): State<Arc<Shared>>) -> Response {
    let panels = shared.look().await;
    let mut body = PAGE.to_string();
    for (name, panel) in panels.all() {
        body = body.replacen(&format!("<!--{name}-->"), panel, 1);
    }
    html(body)
}

async fn panel(State(shared): State<Arc<Shared>>, Path(name): Path<String>) -> Response {
    let panels = shared.look().await;
    match panels.get(&name) {
        Some(panel) => html(panel.to_string()),
        None => (StatusCode::NOT_FOUND, "There is no such panel.\n").into_response(),
    }
}

/// What was waited for in a range of time, by a session that ends with the answer.
async fn history_page(State(shared): State<Arc<Shared>>, uri: Uri) -> Response {
    let range = Range::of_query(uri.query().unwrap_or_default());
    let read = inside::unlimited(&shared.server, USER)
        .map_err(String::from)
        .and_then(|mut inside| history::page(&mut inside, range));
    match read {
        Ok(body) => html(HISTORY.replacen("<!--history-->", &body, 1)),
        Err(why) => (StatusCode::SERVICE_UNAVAILABLE, format!("{why}\n")).into_response(),
    }
}

/// A stream, and what of the last sample it has not sent yet.
struct Stream {
    panels: watch::Receiver<Arc<Panels>>,
    pending: VecDeque<Event>,
    until: tokio::time::Instant,
    _viewer: Arc<()>,
}

impl Stream {
    async fn next(mut self) -> Option<(Result<Event, Infallible>, Stream)> {
        if self.pending.is_empty() {
            tokio::time::timeout_at(self.until, self.panels.changed()).await.ok()?.ok()?;
            let panels = Arc::clone(&self.panels.borrow_and_update());
            let events = panels.all().map(|(name, html)| Event::default().event(name).data(html));
            self.pending = events.collect();
        }
        self.pending.pop_front().map(|event| (Ok(event), self))
    }
}

/// Every panel, once a second.
async fn events(State(shared): State<Arc<Shared>>) -> Response {
    if shared.streams() >= VIEWERS_MAX {
        return (StatusCode::SERVICE_UNAVAILABLE, "Too many look already.\n").into_response();
    }
    let stream = Stream {
        panels: shared.panels.subscribe(),
        pending: VecDeque::from([Event::default().retry(RETRY)]),
        until: tokio::time::Instant::now() + shared.stream_time,
        _viewer: Arc::clone(&shared.viewers),
    };
    Sse::new(stream::unfold(stream, Stream::next)).into_response()
}
