//! Sockets: what comes in and goes out by each, and by instrument.
//!
//! 1. A socket is known as long as its handle is. 2. What sockets counted that are closed is kept by class, so that the figures
//! of a class are the sum over all sockets there ever were.

use crate::io::{IoFigures, IoOperation, IoTotals};
use crate::past::{Wait, WaitObject, record_wait_between};
use crate::room::RowsOf;
use crate::{Class, Operation, is_instrumented};
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard};
use stdx::lock;

crate::classes! {
    static MEMORY: OwnMemory = "memory/performance_schema/socket_instances";
}

/// Where a socket leads, and whose it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SocketPlace {
    /// THREAD_ID of the session or thread.
    pub thread_id: u64,
    /// The operating system's number of it.
    pub descriptor: i32,
    /// The address; empty for one that is a file.
    pub ip: String,
    /// The port; 0 for one that is a file.
    pub port: u16,
}

#[derive(Debug)]
struct KnownSocket {
    class: &'static Class,
    place: SocketPlace,
    figures: IoFigures,
    /// Where it is in the list; changed under the list's mutex.
    at: AtomicUsize,
}

struct Sockets {
    open: Vec<Arc<KnownSocket>>,
    /// What sockets counted that are closed.
    ended: HashMap<u16, IoTotals>,
}

static SOCKETS: LazyLock<Mutex<Sockets>> =
    LazyLock::new(|| Mutex::new(Sockets { open: Vec::new(), ended: HashMap::new() }));

fn sockets() -> MutexGuard<'static, Sockets> {
    lock(&SOCKETS)
}

/// An open socket.
#[derive(Debug)]
pub struct SocketHandle(Option<Arc<KnownSocket>>);

impl SocketHandle {
    /// A socket was opened.
    pub fn open(class: &'static Class, place: SocketPlace) -> SocketHandle {
        class.id();
        let mut sockets = sockets();
        let bytes = size_of::<KnownSocket>() + place.ip.len();
        if !RowsOf::Sockets.take_with(|| MEMORY.try_take(bytes)) {
            return SocketHandle(None);
        }
        let at = AtomicUsize::new(sockets.open.len());
        let known = Arc::new(KnownSocket { class, place, figures: IoFigures::new(), at });
        sockets.open.push(Arc::clone(&known));
        SocketHandle(Some(known))
    }

    /// The class by which its operations are counted, while they are. One relaxed load.
    #[inline]
    pub fn counted(&self) -> Option<&'static Class> {
        let class = self.0.as_ref()?.class;
        (class.enabled() && is_instrumented()).then_some(class)
    }

    /// Counts an operation; `ns` if it was timed.
    pub fn add(&self, operation: Operation, ns: Option<u64>, bytes: u64) {
        let Some(known) = &self.0 else { return };
        known.figures.add(known.class, operation.of_io(), ns, bytes);
        if known.class.recorded() {
            record(known, operation, ns, bytes);
        }
    }
}

/// Keeps an operation as a wait that is over.
#[cold]
fn record(known: &Arc<KnownSocket>, operation: Operation, ns: Option<u64>, bytes: u64) {
    let SocketPlace { thread_id, ip, port, .. } = &known.place;
    let name = Some(format!("{ip}:{port}").into());
    let object = WaitObject { kind: Some("SOCKET"), name, ..WaitObject::default() };
    let amount = (operation.of_io() != IoOperation::Misc).then_some(bytes);
    let number = Arc::as_ptr(known).addr() as u64;
    let wait = Wait { operation, ns, number, object, amount };
    record_wait_between(*thread_id, known.class, wait);
}

impl Drop for SocketHandle {
    fn drop(&mut self) {
        let Some(known) = &self.0 else { return };
        let mut sockets = sockets();
        let at = known.at.load(Relaxed);
        MEMORY.give_back(size_of::<KnownSocket>() + known.place.ip.len());
        RowsOf::Sockets.give_back(1);
        sockets.open.swap_remove(at);
        if let Some(moved) = sockets.open.get(at) {
            moved.at.store(at, Relaxed);
        }
        let id = known.class.id_if_registered().unwrap_or_default();
        sockets.ended.entry(id).or_default().add(&known.figures.totals());
    }
}

/// A socket as it is now.
#[derive(Debug, Clone)]
pub struct SocketReport {
    /// Class.
    pub class: &'static Class,
    /// What tells it from others while it is there: OBJECT_INSTANCE_BEGIN.
    pub number: u64,
    /// Where it leads.
    pub place: SocketPlace,
    /// What was done to it.
    pub totals: IoTotals,
}

/// All open sockets.
pub fn socket_reports() -> Vec<SocketReport> {
    let open = sockets().open.clone();
    let report = |known: &Arc<KnownSocket>| SocketReport {
        class: known.class,
        number: Arc::as_ptr(known).addr() as u64,
        place: known.place.clone(),
        totals: known.figures.totals(),
    };
    open.iter().map(report).collect()
}

/// What was done to all sockets of a class, those included that are closed; by the class's number.
pub fn socket_totals() -> HashMap<u16, IoTotals> {
    let sockets = sockets();
    let mut sums = sockets.ended.clone();
    for known in &sockets.open {
        if let Some(id) = known.class.id_if_registered() {
            sums.entry(id).or_default().add(&known.figures.totals());
        }
    }
    sums
}

/// Empties the figures of all sockets.
pub fn empty_sockets() {
    let mut sockets = sockets();
    sockets.ended.clear();
    sockets.open.iter().for_each(|known| known.figures.empty());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SocketClass;

    #[test]
    fn a_socket_is_there_while_it_is_open_and_its_figures_stay() {
        static CLASS: SocketClass = SocketClass::new("wait/io/socket/test/client");
        let place = |port| SocketPlace { thread_id: 7, descriptor: 3, ip: "::1".into(), port };
        let mine = || -> Vec<SocketReport> {
            let all = socket_reports().into_iter();
            all.filter(|socket| socket.class.name() == CLASS.name()).collect()
        };
        let (a, b) = (SocketHandle::open(&CLASS, place(1)), SocketHandle::open(&CLASS, place(2)));
        assert!(a.counted().is_none(), "sockets are not counted unless somebody wants it");
        a.add(Operation::Receive, Some(5), 10);
        b.add(Operation::Send, None, 20);
        assert_eq!(mine().len(), 2);
        drop(a);
        assert_eq!((mine().len(), mine()[0].place.port), (1, 2));
        let sums = socket_totals()[&CLASS.id()];
        assert_eq!((sums.bytes_read, sums.bytes_written, sums.all().ns_max), (10, 20, 5));
        drop(b);
        assert_eq!((socket_totals()[&CLASS.id()], mine().len()), (sums, 0));
        empty_sockets();
        assert!(!socket_totals().contains_key(&CLASS.id()));

        let (open, lost) = (SocketHandle::open(&CLASS, place(3)), RowsOf::Sockets.lost());
        RowsOf::Sockets.set_max(0);
        let without = SocketHandle::open(&CLASS, place(4));
        without.add(Operation::Send, None, 7);
        assert_eq!((mine().len(), RowsOf::Sockets.lost()), (1, lost + 1));
        drop((open, without));
        RowsOf::Sockets.set_max(u64::MAX);
        assert_eq!(socket_totals()[&CLASS.id()].bytes_written, 0);
    }
}
