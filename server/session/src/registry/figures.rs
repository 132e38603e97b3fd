//! What sessions counted: status and figures, by session, account, user and host.
//!
//! 1. A session's own status counts from the last FLUSH STATUS; what its account counts is added when it goes, or is
//! truncated. 2. Sums over those who are there and those who went are read again while one of them goes.

use super::{Entry, Identity, Registry, thread_in};
use crate::connected::{self, add_status};
use catalog::{ConnectedBy, FiguresBy, FiguresRow, StatusRow};
use instrument::{Counter, Figures, PageFigures};
use std::collections::HashMap;
use stdx::Ordering;

impl Identity {
    /// What the session counted since the last FLUSH STATUS.
    pub(super) fn counted(&self, slot: &sync::SessionSlot) -> Vec<u64> {
        let mut counted = status_of(slot);
        let before = self.status_before.iter();
        counted.iter_mut().zip(before).for_each(|(n, before)| *n = n.saturating_sub(*before));
        counted
    }
}

impl Registry {
    /// FLUSH STATUS: the status of every session begins anew; the server's, to which they were added all the time,
    /// goes on.
    pub fn flush_status(&self) {
        self.connected.flush_status();
        instrument::forget_files_lost();
        instrument::forget_digests_lost();
        instrument::forget_prepared_lost();
        instrument::forget_attributes_lost();
        instrument::forget_events_lost();
        instrument::forget_lost_rows();
        for (_, slot, entry) in self.live() {
            if let Some(identity) = entry.identity.lock().as_mut() {
                identity.status_before = status_of(slot);
            }
        }
    }

    /// The status counters of a session since the last FLUSH STATUS, by their numbers.
    pub fn status(&self, slot: usize) -> Vec<u64> {
        let of = self.slots.session(slot);
        let identity = self.entry(slot).identity.lock();
        identity.as_ref().map_or_else(|| status_of(of), |identity| identity.counted(of))
    }

    /// Status counters by account, user or host, of those who are there and those who went; `None`: by session.
    pub fn status_by(&self, by: Option<ConnectedBy>) -> Vec<StatusRow> {
        let mut there = Vec::new();
        for (_, slot, entry) in self.live() {
            let identity = entry.identity.lock();
            let Some(i) = identity.as_ref().filter(|i| !i.leaves) else { continue };
            let (user, host) = i.account.clone().unwrap_or_default();
            let thread_id = slot.thread_id.load(Ordering::Relaxed);
            there.push(StatusRow { thread_id, user, host, counts: i.counted(slot) });
        }
        let Some(by) = by else {
            there.retain(|row| row.thread_id != 0);
            there.sort_by_key(|row| row.thread_id);
            return there;
        };
        let mut rows = self.connected.status(by);
        for row in &mut rows {
            let same = |s: &&StatusRow| {
                (by == ConnectedBy::Host || s.user == row.user)
                    && (by == ConnectedBy::User || s.host == row.host)
            };
            for session in there.iter().filter(same) {
                add_status(&mut row.counts, &session.counts);
            }
        }
        rows
    }

    /// TRUNCATE of [`Self::status_by`]: sessions begin anew, and what they counted is their accounts'.
    pub fn truncate_status(&self, by: Option<ConnectedBy>) {
        if let Some(by) = by {
            return self.connected.truncate_status(by);
        }
        for (_, slot, entry) in self.live() {
            let mut identity = entry.identity.lock();
            let Some(i) = identity.as_mut() else { continue };
            if let Some((user, host)) = &i.account {
                self.connected.add_status(user, host, &i.counted(slot));
            }
            i.status_before = status_of(slot);
        }
    }

    /// What threads did, ordered by THREAD_ID.
    fn figures_by_thread(&self, of: impl FnOnce() -> Vec<(u64, PageFigures)>) -> Vec<FiguresRow> {
        let account = |(_, slot, entry): (usize, &sync::SessionSlot, &Entry)| {
            let identity = entry.identity.lock();
            let account = identity.as_ref()?.account.clone().unwrap_or_default();
            Some((thread_in(slot)?, account))
        };
        let accounts: HashMap<u64, (String, String)> = self.live().filter_map(account).collect();
        let row = |(thread_id, figures)| FiguresRow {
            thread_id,
            account: accounts.get(&thread_id).cloned(),
            figures,
        };
        let mut rows: Vec<FiguresRow> = of().into_iter().map(row).collect();
        rows.sort_by_key(|row| row.thread_id);
        rows
    }

    /// What was done by account, user or host, by those who are there and those who went; `None`: by thread. The server's
    /// own threads come first.
    pub fn figures_by(&self, by: Option<ConnectedBy>) -> Vec<FiguresRow> {
        let Some(by) = by else { return self.figures_by_thread(instrument::figures_by_thread) };
        // A session that goes meanwhile would be missed, or counted twice; where they always go, one may.
        const TRIES: u32 = 20;
        let mut rows = Vec::new();
        for _ in 0..TRIES {
            let moves = self.connected.moves();
            rows = self.connected.figures(by);
            for thread in self.figures_by_thread(instrument::figures_by_thread) {
                let key = thread.account.map(|(user, host)| connected::key(by, &user, &host));
                if let Some(row) = rows.iter_mut().find(|row| row.account == key) {
                    row.figures.add(&thread.figures);
                }
            }
            if self.connected.moves() == moves {
                break;
            }
        }
        rows
    }

    /// TRUNCATE of [`Self::figures_by`]: threads begin anew, and what they did is their accounts', unless those are
    /// truncated.
    pub fn truncate_figures(&self, by: FiguresBy, figures: Figures) {
        let folded = self.figures_by_thread(|| instrument::fold_figures(figures));
        self.connected.add_figures(&folded);
        match by {
            FiguresBy::Thread => {}
            FiguresBy::Connected(by) => self.connected.truncate_figures(by, figures),
            FiguresBy::Everything => {
                connected::ALL
                    .into_iter()
                    .for_each(|by| self.connected.truncate_figures(by, figures));
                instrument::empty(figures);
            }
        }
    }
}

/// A session's status counters since it began, by their numbers.
pub(super) fn status_of(slot: &sync::SessionSlot) -> Vec<u64> {
    Counter::ALL.iter().map(|c| slot.counters.counter(*c)).collect()
}
