//! What is known of each table and view all the time, whether or not its definition is in memory: what it is found by, what its
//! foreign keys join it to, and which names its constraints take.
//!
//! 1. It says what the definition says. 2. It is stored before the rest of the definition, so that a start reads nothing else.

use crate::stored::{
    DEFINITION_VERSION, Decoded, WITHOUT_CHECKS, cut, list, number, put_list, put_text, text,
};
use crate::{FullName, TableDef};
use base::SpaceId;
use engine::TableId;
use stdx::bytes::{Put, Reader};

/// See the module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Brief {
    /// Schema and name.
    pub name: FullName,
    pub id: TableId,
    /// Where the rows lie; `None`: it is a view.
    pub space: Option<SpaceId>,
    /// Names of its foreign keys, and the tables that they refer to.
    pub keys: Vec<(String, FullName)>,
    /// Names of its checks.
    pub checks: Vec<String>,
}

impl Brief {
    pub fn of(def: &TableDef) -> Brief {
        Brief {
            name: def.full_name(),
            id: def.id,
            space: def.view.is_none().then_some(def.storage.space),
            keys: def.foreign_keys.iter().map(|k| (k.name.clone(), k.parent.clone())).collect(),
            checks: def.checks.iter().map(|check| check.name.clone()).collect(),
        }
    }

    pub fn encode(&self, out: &mut Vec<u8>) {
        out.put_u64_le(self.id.0);
        // A table's is never 0, which is the system's.
        out.put_u32_le(self.space.map_or(0, |space| space.0));
        put_list(out, &self.keys, |(name, parent), out| {
            put_text(out, name);
            put_text(out, &parent.0);
            put_text(out, &parent.1);
        });
        put_list(out, &self.checks, |name, out| put_text(out, name));
    }

    fn decode(name: FullName, r: &mut Reader<'_>, version: u8) -> Decoded<Brief> {
        let id = TableId(number(r)?);
        let space = r.u32_le().map_err(cut)?;
        let keys = list(r, |r| Ok((text(r)?, (text(r)?, text(r)?))))?;
        let checks = if version == WITHOUT_CHECKS { Vec::new() } else { list(r, text)? };
        Ok(Brief { name, id, space: (space != 0).then_some(SpaceId(space)), keys, checks })
    }

    /// Passes over it in front of a definition of a version that has one.
    pub fn skip(r: &mut Reader<'_>, version: u8) -> Decoded<()> {
        Brief::decode(FullName::default(), r, version).map(drop)
    }

    /// Reads it from the stored form of the definition of a name; an error says what is wrong.
    pub fn read(name: FullName, stored: &[u8]) -> Decoded<Brief> {
        match stored.split_first() {
            Some((&DEFINITION_VERSION, rest)) => {
                Brief::decode(name, &mut Reader::new(rest), DEFINITION_VERSION)
            }
            _ => TableDef::decode(stored).map(|def| Brief::of(&def)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ColumnDef;
    use value::{Collation, ColumnType, Kind};

    fn table() -> TableDef {
        let columns = vec![ColumnDef::new("id", ColumnType::int(Kind::Int, false))];
        let mut def = TableDef::new("s", "t", columns, Collation::Utf8mb4_0900AiCi);
        (def.id, def.storage.space) = (TableId(1030), SpaceId(17));
        def.foreign_keys.push(crate::ForeignKeyDef {
            name: "k".into(),
            columns: vec![0],
            parent: ("other".into(), "p".into()),
            parent_columns: vec!["id".into()],
            on_delete: Default::default(),
            on_update: Default::default(),
        });
        def.checks.push(crate::CheckDef {
            name: "c".into(),
            text: "(`id` > 0)".into(),
            enforced: true,
        });
        def
    }

    #[test]
    fn one_of_before_has_no_names_of_checks_and_is_read_whole() {
        let def = table();
        let brief = |brief: Brief| {
            let mut bytes = Vec::new();
            brief.encode(&mut bytes);
            bytes
        };
        let whole = brief(Brief::of(&def)).len();
        // The count of none.
        let mut before = brief(Brief { checks: Vec::new(), ..Brief::of(&def) });
        before.truncate(before.len() - 2);
        let stored = [&[WITHOUT_CHECKS][..], &before[..], &def.encode()[1 + whole..]].concat();
        assert_eq!(Brief::read(def.full_name(), &stored), Ok(Brief::of(&def)));
        assert_eq!(TableDef::decode(&stored), Ok(def));
    }

    #[test]
    fn it_is_what_the_definition_says() {
        let def = table();
        let stored = def.encode();
        assert_eq!(Brief::read(def.full_name(), &stored), Ok(Brief::of(&def)));
        // Nothing behind it is read.
        let mut brief = Vec::new();
        Brief::of(&def).encode(&mut brief);
        let read = Brief::read(def.full_name(), &stored[..=brief.len()]);
        assert_eq!(read, Ok(Brief::of(&def)));
        assert!(Brief::read(def.full_name(), &stored[..20]).is_err());
        assert!(Brief::read(def.full_name(), &[]).is_err());
    }
}
