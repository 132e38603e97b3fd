//! Accounts as bytes: what the dictionary keeps of each.
//!
//! 1. Bytes that make no account are an error with what is wrong, never a guess. 2. A format that is not known is refused.

use crate::{
    Account, AccountName, ColumnGrant, Grants, Lifetime, Limits, LoginLock, Privileges, ProxyGrant,
    Require, TableGrant,
};
use std::collections::BTreeMap;
use stdx::bytes::{Put, Reader, Truncated};

const FORMAT: u8 = 1;

type Read<T> = Result<T, &'static str>;

/// An account's bytes.
pub fn encode(account: &Account) -> Vec<u8> {
    let mut out = vec![FORMAT];
    let a = account;
    name(&mut out, &a.name);
    text(&mut out, &a.plugin);
    bytes(&mut out, &a.secret);
    option(&mut out, a.second_secret.as_ref(), |out, v| bytes(out, v));
    out.put_u8(u8::from(a.locked) | u8::from(a.expired) << 1);
    out.put_u64_le(a.changed_us as u64);
    let days = match a.lifetime {
        Lifetime::Default => u32::MAX,
        Lifetime::Never => 0,
        Lifetime::Days(days) => u32::from(days),
    };
    out.put_u32_le(days);
    option(&mut out, a.history.as_ref(), |out, v| out.put_u32_le(*v));
    option(&mut out, a.reuse_days.as_ref(), |out, v| out.put_u32_le(*v));
    option(&mut out, a.require_current.as_ref(), |out, v| out.put_u8(u8::from(*v)));
    list(&mut out, a.past.len(), &a.past, |out, (set_us, secret)| {
        out.put_u64_le(*set_us as u64);
        bytes(out, secret);
    });
    out.put_u16_le(a.login_lock.attempts);
    out.put_u16_le(a.login_lock.days as u16);
    require(&mut out, &a.require);
    let Limits { queries, updates, connections, at_once } = a.limits;
    [queries, updates, connections, at_once].iter().for_each(|v| out.put_u32_le(*v));
    option(&mut out, a.attribute.as_ref(), |out, v| text(out, v));
    grants(&mut out, &a.grants);
    list(&mut out, a.roles.len(), &a.roles, |out, (role, admin)| {
        name(out, role);
        out.put_u8(u8::from(*admin));
    });
    list(&mut out, a.default_roles.len(), &a.default_roles, name);
    out
}

fn require(out: &mut Vec<u8>, require: &Require) {
    match require {
        Require::None => out.put_u8(0),
        Require::Ssl => out.put_u8(1),
        Require::X509 => out.put_u8(2),
        Require::Specified { subject, issuer, cipher } => {
            out.put_u8(3);
            [subject, issuer, cipher].into_iter().for_each(|v| text(out, v));
        }
    }
}

fn grants(out: &mut Vec<u8>, grants: &Grants) {
    out.put_u64_le(grants.global.bits());
    list(out, grants.dynamic.len(), &grants.dynamic, |out, (name, may_grant)| {
        text(out, name);
        out.put_u8(u8::from(*may_grant));
    });
    let sets = |out: &mut Vec<u8>, sets: &BTreeMap<String, Privileges>| {
        list(out, sets.len(), sets, |out, (schema, set)| {
            text(out, schema);
            out.put_u64_le(set.bits());
        });
    };
    sets(out, &grants.restrictions);
    sets(out, &grants.schemas);
    list(out, grants.tables.len(), &grants.tables, |out, ((schema, table), grant)| {
        text(out, schema);
        text(out, table);
        out.put_u64_le(grant.privileges.bits());
        text(out, &grant.grantor);
        out.put_u64_le(grant.granted_us as u64);
        list(out, grant.columns.len(), &grant.columns, |out, (_, column)| {
            text(out, &column.name);
            out.put_u64_le(column.privileges.bits());
        });
    });
    list(out, grants.proxies.len(), &grants.proxies, |out, (proxied, grant)| {
        name(out, proxied);
        out.put_u8(u8::from(grant.with_grant));
        text(out, &grant.grantor);
        out.put_u64_le(grant.granted_us as u64);
    });
}

fn bytes(out: &mut Vec<u8>, value: &[u8]) {
    out.put_u32_le(value.len() as u32);
    out.put_bytes(value);
}

fn text(out: &mut Vec<u8>, value: &str) {
    bytes(out, value.as_bytes());
}

fn name(out: &mut Vec<u8>, value: &AccountName) {
    text(out, &value.user);
    text(out, &value.host);
}

fn option<T>(out: &mut Vec<u8>, value: Option<&T>, put: impl FnOnce(&mut Vec<u8>, &T)) {
    out.put_u8(u8::from(value.is_some()));
    if let Some(value) = value {
        put(out, value);
    }
}

fn list<I: IntoIterator>(
    out: &mut Vec<u8>,
    len: usize,
    items: I,
    put: impl Fn(&mut Vec<u8>, I::Item),
) {
    out.put_u32_le(len as u32);
    items.into_iter().for_each(|item| put(out, item));
}

/// The account that these bytes are.
///
/// # Errors
/// What is wrong with them.
pub fn decode(stored: &[u8]) -> Result<Account, &'static str> {
    let mut r = In(Reader::new(stored));
    if r.u8()? != FORMAT {
        return Err("an account in a format that is not known");
    }
    let account = r.account()?;
    match r.0.is_empty() {
        true => Ok(account),
        false => Err("bytes behind an account"),
    }
}

struct In<'a>(Reader<'a>);

fn short(_: Truncated) -> &'static str {
    "an account that is cut off"
}

impl In<'_> {
    fn u8(&mut self) -> Read<u8> {
        self.0.u8().map_err(short)
    }

    fn u16(&mut self) -> Read<u16> {
        self.0.u16_le().map_err(short)
    }

    fn u32(&mut self) -> Read<u32> {
        self.0.u32_le().map_err(short)
    }

    fn u64(&mut self) -> Read<u64> {
        self.0.u64_le().map_err(short)
    }

    fn flag(&mut self) -> Read<bool> {
        match self.u8()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err("a flag of an account that is neither 0 nor 1"),
        }
    }

    fn bytes(&mut self) -> Read<Vec<u8>> {
        let len = self.u32()? as usize;
        Ok(self.0.take(len).map_err(short)?.to_vec())
    }

    fn text(&mut self) -> Read<String> {
        String::from_utf8(self.bytes()?).map_err(|_| "a name of an account that is no text")
    }

    fn name(&mut self) -> Read<AccountName> {
        let (user, host) = (self.text()?, self.text()?);
        Ok(AccountName::new(&user, &host))
    }

    fn privileges(&mut self) -> Read<Privileges> {
        Ok(Privileges::of_bits(self.u64()?))
    }

    fn option<T>(&mut self, read: impl FnOnce(&mut Self) -> Read<T>) -> Read<Option<T>> {
        match self.flag()? {
            true => read(self).map(Some),
            false => Ok(None),
        }
    }

    fn list<T, C: FromIterator<T>>(&mut self, read: impl Fn(&mut Self) -> Read<T>) -> Read<C> {
        let len = self.u32()? as usize;
        // Each takes a byte at least.
        if len > self.0.remaining() {
            return Err("a list of an account that is longer than the account");
        }
        (0..len).map(|_| read(self)).collect()
    }

    fn account(&mut self) -> Read<Account> {
        let (name, plugin, secret) = (self.name()?, self.text()?, self.bytes()?);
        let second_secret = self.option(Self::bytes)?;
        let flags = self.u8()?;
        let changed_us = self.u64()? as i64;
        let lifetime = match self.u32()? {
            u32::MAX => Lifetime::Default,
            0 => Lifetime::Never,
            days => Lifetime::Days(u16::try_from(days).map_err(|_| "a lifetime of a password")?),
        };
        Ok(Account {
            name,
            plugin,
            secret,
            second_secret,
            locked: flags & 1 != 0,
            expired: flags & 2 != 0,
            changed_us,
            lifetime,
            history: self.option(Self::u32)?,
            reuse_days: self.option(Self::u32)?,
            require_current: self.option(Self::flag)?,
            past: self.list(|r| Ok((r.u64()? as i64, r.bytes()?)))?,
            login_lock: LoginLock { attempts: self.u16()?, days: self.u16()? as i16 },
            require: self.require()?,
            limits: Limits {
                queries: self.u32()?,
                updates: self.u32()?,
                connections: self.u32()?,
                at_once: self.u32()?,
            },
            attribute: self.option(Self::text)?,
            grants: self.grants()?,
            roles: self.list(|r| Ok((r.name()?, r.flag()?)))?,
            default_roles: self.list(Self::name)?,
        })
    }

    fn require(&mut self) -> Read<Require> {
        Ok(match self.u8()? {
            0 => Require::None,
            1 => Require::Ssl,
            2 => Require::X509,
            3 => Require::Specified {
                subject: self.text()?,
                issuer: self.text()?,
                cipher: self.text()?,
            },
            _ => return Err("a REQUIRE of an account that is not known"),
        })
    }

    fn grants(&mut self) -> Read<Grants> {
        Ok(Grants {
            global: self.privileges()?,
            dynamic: self.list(|r| Ok((r.text()?, r.flag()?)))?,
            restrictions: self.list(|r| Ok((r.text()?, r.privileges()?)))?,
            schemas: self.list(|r| Ok((r.text()?, r.privileges()?)))?,
            tables: self.list(|r| Ok(((r.text()?, r.text()?), r.table()?)))?,
            proxies: self.list(|r| {
                let proxied = r.name()?;
                let with_grant = r.flag()?;
                let (grantor, granted_us) = (r.text()?, r.u64()? as i64);
                Ok((proxied, ProxyGrant { with_grant, grantor, granted_us }))
            })?,
        })
    }

    fn table(&mut self) -> Read<TableGrant> {
        Ok(TableGrant {
            privileges: self.privileges()?,
            grantor: self.text()?,
            granted_us: self.u64()? as i64,
            columns: self.list(|r| {
                let name = r.text()?;
                Ok((name.to_lowercase(), ColumnGrant { name, privileges: r.privileges()? }))
            })?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn full() -> Account {
        let mut a = Account::new(AccountName::new("ü", "10.%"), "caching_sha2_password");
        a.secret = vec![1, 0, 255];
        a.second_secret = Some(vec![9]);
        (a.locked, a.expired, a.changed_us) = (true, true, -5);
        (a.lifetime, a.history, a.reuse_days) = (Lifetime::Days(90), Some(3), Some(0));
        a.require_current = Some(false);
        a.past = vec![(7, vec![1, 2])];
        a.login_lock = LoginLock { attempts: 3, days: -1 };
        a.require =
            Require::Specified { subject: "s".into(), issuer: String::new(), cipher: "c".into() };
        a.limits = Limits { queries: 1, updates: 2, connections: 3, at_once: 4 };
        a.attribute = Some("{}".into());
        a.grants.global = Privileges::SELECT | Privileges::GRANT;
        a.grants.dynamic.insert("BACKUP_ADMIN".into(), true);
        a.grants.restrictions.insert("mysql".into(), Privileges::SELECT);
        a.grants.schemas.insert("a\\_b".into(), Privileges::OF_SCHEMA);
        let mut table = TableGrant { grantor: "root@localhost".into(), ..TableGrant::default() };
        let column = ColumnGrant { name: "Id".into(), privileges: Privileges::UPDATE };
        table.columns.insert("id".into(), column);
        a.grants.tables.insert(("s".into(), "t".into()), table);
        a.grants.proxies.insert(AccountName::new("", ""), ProxyGrant::default());
        a.roles.insert(AccountName::new("r", "%"), true);
        a.default_roles.insert(AccountName::new("r", "%"));
        a
    }

    #[test]
    fn accounts_come_back() {
        let account = full();
        assert_eq!(decode(&encode(&account)), Ok(account));
        let plain = Account::new(AccountName::new("root", "localhost"), "p");
        assert_eq!(decode(&encode(&plain)), Ok(plain));
    }

    #[test]
    fn hosts_are_read_in_small_letters() {
        let name = AccountName { user: "U".into(), host: "Host.Example".into() };
        let read = decode(&encode(&Account::new(name, "p"))).map(|account| account.name);
        assert_eq!(read, Ok(AccountName { user: "U".into(), host: "host.example".into() }));
    }

    #[test]
    fn bytes_that_are_none_are_refused() {
        let stored = encode(&full());
        for len in 0..stored.len() {
            assert!(decode(&stored[..len]).is_err(), "cut at {len}");
        }
        // Whatever a byte becomes, it is an account or an error.
        for at in 0..stored.len() {
            for change in [1, 0x80, 0xff] {
                let mut other = stored.clone();
                other[at] ^= change;
                let _ = decode(&other);
            }
        }
        let long = [&stored[..], &[0]].concat();
        assert_eq!(decode(&long), Err("bytes behind an account"));
    }
}
