//! What who samples sessions sees of those that are active.
//!
//! Who sleeps and is in nobody's way is told by one load, without a lock.

use super::{Activity, Registry};
use stdx::Ordering;

/// A session that does something, or is in somebody's way.
pub(crate) struct Active<'r> {
    /// Its slot's number.
    pub number: usize,
    pub slot: &'r sync::SessionSlot,
    /// Connection id.
    pub id: u64,
    pub user: &'r str,
    pub db: Option<&'r str>,
    /// As the process list calls it.
    pub command: &'static str,
    pub sleeps: bool,
    /// Since when it does that, in [`sync::now_ns`] nanoseconds.
    pub since_ns: u64,
    /// Its statement, cut off where it is long; of who sleeps, the last one.
    pub text: Vec<u8>,
    /// Since when it is in a transaction, in microseconds since 1970; 0: in none.
    pub transaction_us: u64,
}

impl Registry {
    /// Calls `each` with every session that does something, and with those whose slots `blocks`.
    pub(crate) fn each_active(
        &self,
        blocks: impl Fn(usize) -> bool,
        mut each: impl FnMut(Active<'_>),
    ) {
        let idle = [Activity::Sleep as u32, Activity::Connect as u32];
        for (number, slot, entry) in self.live() {
            let is_idle = idle.contains(&entry.activity.load(Ordering::Relaxed));
            if is_idle && !blocks(number) {
                continue;
            }
            let identity = entry.identity.lock();
            let Some(i) = identity.as_ref() else { continue };
            let (activity, since_ns, text) = entry.read_last();
            each(Active {
                number,
                slot,
                id: i.id,
                user: &i.client.user,
                db: i.client.db.as_deref(),
                command: Activity::name_of(activity),
                sleeps: activity == Activity::Sleep as u32,
                since_ns,
                text,
                transaction_us: entry.transaction().since_us as u64,
            });
        }
    }
}
