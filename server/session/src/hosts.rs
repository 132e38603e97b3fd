//! Where clients came from: `performance_schema.host_cache`, and hosts that are blocked (error 1129).
//!
//! 1. Addresses are kept, no names, which are not looked up. This machine's own and the Unix socket are not kept, as in MySQL. 2.
//! A host whose clients do not get through their handshakes `max_connect_errors` times in a row is blocked until the cache is
//! emptied; wrong passwords are counted and block nobody. 3. There are as many as `host_cache_size` says: who was seen longest ago
//! goes. With 0 nobody is kept or blocked. 4. A connection takes the mutex when it comes in or fails, never afterwards.

use catalog::HostRow;
use std::collections::HashMap;
use std::net::IpAddr;
use sync::Mutex;

instrument::classes! {
    static HOST_CACHE: MutexClass = "wait/synch/mutex/sql/hostname_cache";
}

/// What a connection of a host came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Came {
    /// It logged in.
    In,
    /// It was one of a blocked host.
    Blocked,
    /// It ended, or sent something else, before it had said who it is.
    Handshake,
    /// The encryption of it failed.
    Ssl,
    /// The login was refused by an error of this number.
    Refused(u16),
}

#[derive(Debug, Clone, Default)]
struct Host {
    /// Handshakes in a row that were not gone through.
    errors: u64,
    row: HostRow,
}

/// The hosts that clients came from.
#[derive(Debug)]
pub(crate) struct Hosts(Mutex<HashMap<IpAddr, Host>>);

impl Hosts {
    pub fn new() -> Hosts {
        Hosts(Mutex::new(&HOST_CACHE, HashMap::new()))
    }

    /// Whether a host has had as many errors as it may have.
    pub fn is_blocked(&self, host: IpAddr, errors_max: u64) -> bool {
        self.0.lock().get(&host).is_some_and(|host| host.errors >= errors_max)
    }

    /// Notes what a connection came to; there is room for so many hosts.
    pub fn note(&self, address: IpAddr, came: Came, room: usize, now_us: i64) {
        if address.is_loopback() || room == 0 {
            return;
        }
        // An answer that makes no sense, or packets that are none.
        let came = match came {
            Came::Refused(1043 | 1153 | 1156) => Came::Handshake,
            other => other,
        };
        let mut hosts = self.0.lock();
        if !hosts.contains_key(&address) {
            make_room(&mut hosts, room);
        }
        let host = hosts.entry(address).or_default();
        let row = &mut host.row;
        if row.first_seen_us == 0 {
            (row.ip, row.first_seen_us) = (address.to_string(), now_us);
        }
        row.last_seen_us = now_us;
        if let Some(count) = counter(row, came) {
            *count += 1;
            row.last_error_us = Some(now_us);
            row.first_error_us.get_or_insert(now_us);
        }
        match came {
            Came::In => host.errors = 0,
            Came::Handshake => host.errors += 1,
            _ => {}
        }
        host.row.connect_errors = host.errors;
    }

    /// All of them, ordered by address.
    pub fn rows(&self) -> Vec<HostRow> {
        let mut rows: Vec<HostRow> = self.0.lock().values().map(|host| host.row.clone()).collect();
        rows.sort_by(|a, b| a.ip.cmp(&b.ip));
        rows
    }

    /// TRUNCATE: nobody is blocked any more.
    pub fn clear(&self) {
        self.0.lock().clear();
    }
}

/// Makes room for one more: who was seen longest ago goes.
fn make_room(hosts: &mut HashMap<IpAddr, Host>, room: usize) {
    while hosts.len() >= room {
        let oldest = hosts.iter().min_by_key(|(_, host)| host.row.last_seen_us);
        let Some(oldest) = oldest.map(|(address, _)| *address) else { return };
        hosts.remove(&oldest);
    }
}

/// Where an error is counted.
fn counter(row: &mut HostRow, came: Came) -> Option<&mut u64> {
    Some(match came {
        Came::In => return None,
        Came::Blocked => &mut row.blocked,
        Came::Handshake => &mut row.handshake,
        Came::Ssl => &mut row.ssl,
        Came::Refused(1045 | 1698) => &mut row.authentication,
        Came::Refused(1044 | 1049) => &mut row.default_database,
        Came::Refused(1184) => &mut row.init_connect,
        Came::Refused(1203) => &mut row.max_user_connections,
        Came::Refused(1226) => &mut row.max_user_connections_per_hour,
        Came::Refused(3118) => &mut row.account_locked,
        Came::Refused(3955 | 4005) => &mut row.temporary_account_locked,
        Came::Refused(1040 | 1815) => &mut row.local,
        Came::Refused(_) => &mut row.unknown,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(last: u8) -> IpAddr {
        IpAddr::from([203, 0, 113, last])
    }

    #[test]
    fn handshakes_that_fail_in_a_row_block_a_host_and_passwords_do_not() {
        let hosts = Hosts::new();
        let note = |came| hosts.note(address(1), came, 10, 5);
        for _ in 0..2 {
            note(Came::Handshake);
            note(Came::Refused(1045));
        }
        assert!(!hosts.is_blocked(address(1), 3));
        note(Came::In);
        note(Came::Handshake);
        note(Came::Handshake);
        assert!(!hosts.is_blocked(address(1), 3));
        note(Came::Refused(1043));
        assert!(hosts.is_blocked(address(1), 3) && !hosts.is_blocked(address(2), 3));
        note(Came::Blocked);
        let rows = hosts.rows();
        let row = &rows[0];
        assert_eq!(
            (row.connect_errors, row.handshake, row.authentication, row.blocked),
            (3, 5, 2, 1)
        );
        hosts.clear();
        assert!(!hosts.is_blocked(address(1), 3) && hosts.rows().is_empty());
    }

    #[test]
    fn who_was_seen_longest_ago_goes() {
        let hosts = Hosts::new();
        for last in 1..=5 {
            hosts.note(address(last), Came::Handshake, 3, i64::from(last));
        }
        hosts.note(address(3), Came::In, 3, 9);
        hosts.note(address(6), Came::In, 3, 10);
        let ips: Vec<String> = hosts.rows().into_iter().map(|row| row.ip).collect();
        assert_eq!(ips, ["203.0.113.3", "203.0.113.5", "203.0.113.6"]);
        hosts.note(address(7), Came::In, 0, 11);
        hosts.note(IpAddr::from([127, 0, 0, 1]), Came::Handshake, 3, 12);
        assert_eq!(hosts.rows().len(), 3);
    }
}
