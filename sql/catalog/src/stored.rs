//! The bytes that a table's definition is stored as.
//!
//! 1. The stored form begins with a version byte; a newer one is refused, never guessed at. Three before are read.
//! 2. What is known of each table while its definition is not in memory comes first ([`Brief`]). 3. Decoding checks everything: the bytes come from disk.

use crate::brief::Brief;
use crate::{
    CheckDef, ColumnDef, DefaultValue, ForeignKeyDef, Generated, IndexAttributes, IndexDef,
    OlderColumns, Referential, TableDef, ViewDef,
};
use base::{IndexId, PageNo, SpaceId, TableId};
use engine::TableStorage;
use std::collections::BTreeSet;
use std::iter;
use stdx::bytes::{Put, Reader, Truncated};
use value::{Collation, ColumnType, KeyPart};

pub(crate) const DEFINITION_VERSION: u8 = 6;
/// The version before: its [`Brief`] has no names of checks. Version 4 has no [`Brief`] at all.
pub(crate) const WITHOUT_CHECKS: u8 = 5;
/// The one before that: without what is known of older rows, too.
const WITHOUT_OLDER: u8 = 3;
/// Bit of a stored key part's prefix length: the part is descending.
const DESCENDING: u32 = 1 << 31;

pub(crate) type Decoded<T> = Result<T, &'static str>;

impl TableDef {
    /// The stored form.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![DEFINITION_VERSION];
        Brief::of(self).encode(&mut out);
        out.put_u64_le(self.id.0);
        out.put_u64_le(self.clustered_id.0);
        put_text(&mut out, &self.schema);
        put_text(&mut out, &self.name);
        out.put_u16_le(self.collation.id());
        put_text(&mut out, &self.comment);
        out.put_u64_le(self.created_us as u64);
        put_list(&mut out, &self.columns, encode_column);
        put_list(&mut out, &self.indexes, encode_index);
        put_list(&mut out, &self.checks, encode_check);
        put_list(&mut out, &self.foreign_keys, encode_foreign_key);
        put_list(&mut out, &self.options, |(name, value), out| {
            put_text(out, name);
            put_text(out, value);
        });
        put_option(&mut out, self.view.as_deref(), encode_view);
        out.put_u32_le(self.storage.space.0);
        put_list(&mut out, &self.storage.roots, |(index, root), out| {
            out.put_u64_le(index.0);
            out.put_u32_le(root.0);
        });
        put_list(&mut out, &self.columns, |column, out| {
            put_option(out, column.initial.as_deref(), |value, out| put_bytes(out, value));
        });
        put_list(&mut out, &self.older, encode_older);
        out
    }

    /// Reads the stored form; an error says what is wrong.
    pub fn decode(bytes: &[u8]) -> Decoded<TableDef> {
        let mut r = Reader::new(bytes);
        let version = r.u8().map_err(|_| "empty definition")?;
        if !(WITHOUT_OLDER..=DEFINITION_VERSION).contains(&version) {
            return Err("written by another version");
        }
        if version >= WITHOUT_CHECKS {
            Brief::skip(&mut r, version)?;
        }
        let mut def = decode_table(&mut r)?;
        if version != WITHOUT_OLDER {
            decode_older(&mut r, &mut def)?;
        }
        check_roots(&def)?;
        if r.remaining() == 0 { Ok(def) } else { Err("bytes after the definition") }
    }
}

fn decode_table(r: &mut Reader<'_>) -> Decoded<TableDef> {
    let id = TableId(number(r)?);
    let clustered_id = IndexId(number(r)?);
    let (schema, name) = (text(r)?, text(r)?);
    let collation = Collation::from_id(r.u16_le().map_err(cut)?).ok_or("unknown collation")?;
    let comment = text(r)?;
    let created_us = number(r)? as i64;
    let columns = list(r, decode_column)?;
    let indexes = list(r, |r| decode_index(r, columns.len()))?;
    let checks = list(r, decode_check)?;
    let foreign_keys = list(r, |r| decode_foreign_key(r, columns.len()))?;
    let options = list(r, |r| Ok((text(r)?, text(r)?)))?;
    let view = option(r, decode_view)?.map(Box::new);
    let space = SpaceId(r.u32_le().map_err(cut)?);
    let roots = list(r, |r| Ok((IndexId(number(r)?), PageNo(r.u32_le().map_err(cut)?))))?;
    let storage = TableStorage { space, roots };
    Ok(TableDef {
        id,
        clustered_id,
        schema,
        name,
        columns,
        indexes,
        checks,
        foreign_keys,
        view,
        temporary: false,
        options,
        collation,
        comment,
        created_us,
        storage,
        older: Vec::new(),
    })
}

/// Each index has a tree of its own: a statement that writes to two which share one would wait for itself.
fn check_roots(def: &TableDef) -> Decoded<()> {
    let roots = &def.storage.roots;
    let mut ids: BTreeSet<u64> = roots.iter().map(|(id, _)| id.0).collect();
    let pages: BTreeSet<u32> = roots.iter().map(|(_, root)| root.0).collect();
    if ids.len() < roots.len() || pages.len() < roots.len() {
        return Err("two indexes have one id or one root page");
    }
    let mut own = iter::once(def.clustered_id).chain(def.secondaries().iter().map(|i| i.id));
    // A view has none, nor has a table that is not stored yet.
    match roots.is_empty() || own.all(|id| ids.remove(&id.0)) {
        true => Ok(()),
        false => Err("an index has no root page of its own"),
    }
}

fn encode_older(older: &OlderColumns, out: &mut Vec<u8>) {
    put_list(out, &older.types, encode_type);
    // 0: the column was not there.
    put_list(out, &older.from, |from, out| out.put_u16_le(from.map_or(0, |at| at as u16 + 1)));
}

fn decode_older(r: &mut Reader<'_>, def: &mut TableDef) -> Decoded<()> {
    let initial = list(r, |r| option(r, |r| bytes(r).map(<[u8]>::to_vec)))?;
    if initial.len() != def.columns.len() {
        return Err("first values of more or fewer columns than there are");
    }
    def.columns.iter_mut().zip(initial).for_each(|(column, value)| column.initial = value);
    def.older = list(r, |r| {
        let types = list(r, decode_type)?;
        let from = list(r, |r| Ok(usize::from(r.u16_le().map_err(cut)?).checked_sub(1)))?;
        Ok(OlderColumns { types, from })
    })?;
    def.check_older()
}

fn encode_index(index: &IndexDef, out: &mut Vec<u8>) {
    out.put_u64_le(index.id.0);
    put_text(out, &index.name);
    let IndexAttributes { invisible, using_btree, key_block_size, generated } = index.attributes;
    let IndexDef { unique, primary, clustered, .. } = *index;
    out.put_u8(flags(&[unique, primary, clustered, invisible, using_btree, generated]));
    put_text(out, &index.comment);
    out.put_u64_le(key_block_size);
    put_list(out, &index.parts, |part, out| {
        out.put_u16_le(part.column as u16);
        let flag = if part.descending { DESCENDING } else { 0 };
        out.put_u32_le(part.prefix_chars.unwrap_or(0) | flag);
    });
}

fn decode_index(r: &mut Reader<'_>, columns: usize) -> Decoded<IndexDef> {
    let id = IndexId(number(r)?);
    let name = text(r)?;
    let [unique, primary, clustered, invisible, using_btree, generated] = unflag(r)?;
    let comment = text(r)?;
    let key_block_size = number(r)?;
    let parts = list(r, |r| {
        let column = usize::from(r.u16_le().map_err(cut)?);
        let prefix = r.u32_le().map_err(cut)?;
        if column >= columns {
            return Err("an index names a column that is not there");
        }
        let (prefix, descending) = (prefix & !DESCENDING, prefix & DESCENDING != 0);
        Ok(KeyPart { column, prefix_chars: (prefix > 0).then_some(prefix), descending })
    })?;
    let attributes = IndexAttributes { invisible, using_btree, key_block_size, generated };
    Ok(IndexDef { id, name, unique, primary, clustered, parts, comment, attributes })
}

fn encode_column(column: &ColumnDef, out: &mut Vec<u8>) {
    put_text(out, &column.name);
    encode_type(&column.ty, out);
    encode_default(&column.default, out);
    let stored = column.generated.as_ref().is_some_and(|g| g.stored);
    let own = column.own_collation;
    out.put_u8(flags(&[column.auto_increment, column.invisible, column.hidden, stored, own]));
    put_option(out, column.generated.as_ref(), |g, out| put_text(out, &g.text));
    put_option(out, column.on_update.as_ref(), |digits, out| out.put_u8(*digits));
    put_text(out, &column.comment);
}

fn decode_column(r: &mut Reader<'_>) -> Decoded<ColumnDef> {
    let name = text(r)?;
    let ty = decode_type(r)?;
    let default = decode_default(r)?;
    let [auto_increment, invisible, hidden, stored, own_collation] = unflag(r)?;
    let generated = option(r, text)?.map(|text| Generated { text, stored });
    let on_update = option(r, |r| r.u8().map_err(cut))?;
    let comment = text(r)?;
    Ok(ColumnDef {
        name,
        ty,
        default,
        auto_increment,
        comment,
        on_update,
        generated,
        invisible,
        hidden,
        own_collation,
        initial: None,
    })
}

fn encode_type(ty: &ColumnType, out: &mut Vec<u8>) {
    let mut bytes = Vec::new();
    ty.encode(&mut bytes);
    put_bytes(out, &bytes);
}

fn decode_type(r: &mut Reader<'_>) -> Decoded<ColumnType> {
    let raw = bytes(r)?;
    match ColumnType::decode(raw).map_err(|e| e.0)? {
        (ty, length) if length == raw.len() => Ok(ty),
        _ => Err("bytes after a column's type"),
    }
}

fn encode_default(default: &DefaultValue, out: &mut Vec<u8>) {
    match default {
        DefaultValue::None => out.put_u8(0),
        DefaultValue::Null => out.put_u8(1),
        DefaultValue::Int(v) => {
            out.put_u8(2);
            out.put_bytes(&v.to_le_bytes());
        }
        DefaultValue::Bytes(bytes) => {
            out.put_u8(3);
            put_bytes(out, bytes);
        }
        DefaultValue::Now(digits) => {
            out.put_u8(4);
            out.put_u8(*digits);
        }
        DefaultValue::Expr(text) => {
            out.put_u8(5);
            put_text(out, text);
        }
    }
}

fn decode_default(r: &mut Reader<'_>) -> Decoded<DefaultValue> {
    Ok(match r.u8().map_err(cut)? {
        0 => DefaultValue::None,
        1 => DefaultValue::Null,
        2 => DefaultValue::Int(i128::from_le_bytes(r.array::<16>().map_err(cut)?)),
        3 => DefaultValue::Bytes(bytes(r)?.to_vec()),
        4 => DefaultValue::Now(r.u8().map_err(cut)?),
        5 => DefaultValue::Expr(text(r)?),
        _ => return Err("unknown kind of default"),
    })
}

fn encode_check(check: &CheckDef, out: &mut Vec<u8>) {
    put_text(out, &check.name);
    put_text(out, &check.text);
    out.put_u8(u8::from(check.enforced));
}

fn decode_check(r: &mut Reader<'_>) -> Decoded<CheckDef> {
    let (name, text) = (text(r)?, text(r)?);
    Ok(CheckDef { name, text, enforced: r.u8().map_err(cut)? != 0 })
}

fn encode_foreign_key(key: &ForeignKeyDef, out: &mut Vec<u8>) {
    put_text(out, &key.name);
    put_list(out, &key.columns, |column, out| out.put_u16_le(*column as u16));
    put_text(out, &key.parent.0);
    put_text(out, &key.parent.1);
    put_list(out, &key.parent_columns, |name, out| put_text(out, name));
    out.put_u8(encode_action(key.on_delete));
    out.put_u8(encode_action(key.on_update));
}

fn decode_foreign_key(r: &mut Reader<'_>, columns: usize) -> Decoded<ForeignKeyDef> {
    let name = text(r)?;
    let positions = list(r, |r| match usize::from(r.u16_le().map_err(cut)?) {
        column if column < columns => Ok(column),
        _ => Err("a foreign key names a column that is not there"),
    })?;
    let parent = (text(r)?, text(r)?);
    let parent_columns = list(r, text)?;
    if positions.is_empty() || positions.len() != parent_columns.len() {
        return Err("a foreign key has other columns than it refers to");
    }
    let (on_delete, on_update) = (decode_action(r)?, decode_action(r)?);
    Ok(ForeignKeyDef { name, columns: positions, parent, parent_columns, on_delete, on_update })
}

fn encode_action(action: Referential) -> u8 {
    match action {
        Referential::NoAction => 0,
        Referential::Restrict => 1,
        Referential::Cascade => 2,
        Referential::SetNull => 3,
        Referential::SetDefault => 4,
    }
}

fn decode_action(r: &mut Reader<'_>) -> Decoded<Referential> {
    Ok(match r.u8().map_err(cut)? {
        0 => Referential::NoAction,
        1 => Referential::Restrict,
        2 => Referential::Cascade,
        3 => Referential::SetNull,
        4 => Referential::SetDefault,
        _ => return Err("unknown referential action"),
    })
}

fn encode_view(view: &ViewDef, out: &mut Vec<u8>) {
    for part in [
        &view.text,
        &view.query,
        &view.database,
        &view.algorithm,
        &view.definer.0,
        &view.definer.1,
        &view.client_charset,
        &view.connection_collation,
    ] {
        put_text(out, part);
    }
    put_option(out, view.check.as_deref(), |text, out| put_text(out, text));
    out.put_u8(flags(&[view.invoker, view.updatable, view.listed]));
}

fn decode_view(r: &mut Reader<'_>) -> Decoded<ViewDef> {
    let (view_text, query, database) = (text(r)?, text(r)?, text(r)?);
    let algorithm = text(r)?;
    let definer = (text(r)?, text(r)?);
    let (client_charset, connection_collation) = (text(r)?, text(r)?);
    let check = option(r, text)?;
    let [invoker, updatable, listed] = unflag(r)?;
    Ok(ViewDef {
        text: view_text,
        query,
        database,
        algorithm,
        definer,
        invoker,
        check,
        updatable,
        listed,
        client_charset,
        connection_collation,
    })
}

/// Up to eight truths in a byte, the first in the lowest bit.
fn flags(set: &[bool]) -> u8 {
    set.iter().rev().fold(0, |all, flag| all << 1 | u8::from(*flag))
}

fn unflag<const N: usize>(r: &mut Reader<'_>) -> Decoded<[bool; N]> {
    let all = r.u8().map_err(cut)?;
    Ok(std::array::from_fn(|bit| all >> bit & 1 == 1))
}

fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    out.put_u32_le(bytes.len() as u32);
    out.put_bytes(bytes);
}

pub(crate) fn put_text(out: &mut Vec<u8>, text: &str) {
    put_bytes(out, text.as_bytes());
}

pub(crate) fn put_list<T>(out: &mut Vec<u8>, list: &[T], item: impl Fn(&T, &mut Vec<u8>)) {
    out.put_u16_le(list.len() as u16);
    list.iter().for_each(|i| item(i, out));
}

fn put_option<T: ?Sized>(out: &mut Vec<u8>, value: Option<&T>, item: impl Fn(&T, &mut Vec<u8>)) {
    out.put_u8(u8::from(value.is_some()));
    if let Some(value) = value {
        item(value, out);
    }
}

pub(crate) fn cut(_: Truncated) -> &'static str {
    "the definition is cut short"
}

pub(crate) fn number(r: &mut Reader<'_>) -> Decoded<u64> {
    r.u64_le().map_err(cut)
}

fn bytes<'a>(r: &mut Reader<'a>) -> Decoded<&'a [u8]> {
    let n = r.u32_le().map_err(cut)? as usize;
    r.take(n).map_err(cut)
}

pub(crate) fn text(r: &mut Reader<'_>) -> Decoded<String> {
    String::from_utf8(bytes(r)?.to_vec()).map_err(|_| "a name is not UTF-8")
}

pub(crate) fn list<T>(
    r: &mut Reader<'_>,
    mut item: impl FnMut(&mut Reader<'_>) -> Decoded<T>,
) -> Decoded<Vec<T>> {
    let n = r.u16_le().map_err(cut)?;
    (0..n).map(|_| item(r)).collect()
}

fn option<T>(
    r: &mut Reader<'_>,
    item: impl FnOnce(&mut Reader<'_>) -> Decoded<T>,
) -> Decoded<Option<T>> {
    if r.u8().map_err(cut)? == 0 { Ok(None) } else { item(r).map(Some) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use value::Kind;

    fn child() -> TableDef {
        let int = ColumnType::int(Kind::Int, false);
        let columns = vec![ColumnDef::new("id", int), ColumnDef::new("parent", int)];
        let mut def = TableDef::new("s", "t", columns, Collation::Utf8mb4_0900AiCi);
        let mut index = IndexDef::new("parent", false, false, vec![KeyPart::whole(1)]);
        index.attributes.generated = true;
        def.indexes.push(index);
        let actions = [
            Referential::NoAction,
            Referential::Restrict,
            Referential::Cascade,
            Referential::SetNull,
            Referential::SetDefault,
        ];
        for (n, action) in actions.into_iter().enumerate() {
            def.foreign_keys.push(ForeignKeyDef {
                name: format!("t_ibfk_{n}"),
                columns: vec![1],
                parent: ("other".into(), "p".into()),
                parent_columns: vec!["id".into()],
                on_delete: action,
                on_update: actions[actions.len() - 1 - n],
            });
        }
        def
    }

    #[test]
    fn a_definition_with_foreign_keys_comes_back_and_a_cut_one_is_refused() {
        let def = child();
        let bytes = def.encode();
        assert_eq!(TableDef::decode(&bytes), Ok(def));
        for end in 0..bytes.len() {
            assert!(TableDef::decode(&bytes[..end]).is_err(), "{end} of {} bytes", bytes.len());
        }
    }

    #[test]
    fn a_foreign_key_names_columns_that_are_there() {
        let mut def = child();
        def.foreign_keys[0].columns = vec![2];
        assert!(TableDef::decode(&def.encode()).is_err());
        def.foreign_keys[0].columns = vec![0, 1];
        assert!(TableDef::decode(&def.encode()).is_err());
    }

    #[test]
    fn indexes_that_share_an_id_or_a_root_page_are_refused() {
        let mut def = child();
        (def.clustered_id, def.indexes[0].id) = (IndexId(1), IndexId(2));
        let roots = |roots: &[(u64, u32)]| -> Vec<_> {
            roots.iter().map(|(id, root)| (IndexId(*id), PageNo(*root))).collect()
        };
        let read = |def: &TableDef| TableDef::decode(&def.encode()).map(drop);
        def.storage.roots = roots(&[(1, 3), (2, 4)]);
        assert_eq!(read(&def), Ok(()));
        for bad in [&[(1, 3), (2, 3)][..], &[(1, 3), (1, 4), (2, 5)], &[(1, 3)], &[(2, 3), (3, 4)]]
        {
            def.storage.roots = roots(bad);
            assert!(read(&def).is_err(), "{bad:?}");
        }
        def.storage.roots = roots(&[(1, 3), (2, 4)]);
        def.indexes[0].id = def.clustered_id;
        assert_eq!(read(&def), Err("an index has no root page of its own"));
    }

    #[test]
    fn a_renamed_table_renames_what_is_called_after_it_and_follows_others() {
        let mut def = child();
        def.foreign_keys[1].parent = def.full_name();
        let old = def.full_name();
        let new = ("s2".to_string(), "u".to_string());
        let elsewhere = ("other".to_string(), "p".to_string());
        // The two exchange their names.
        def.follow(&crate::Renames::from([
            (old, elsewhere.clone()),
            (elsewhere.clone(), new.clone()),
        ]));
        def.rename("s2", "u");
        assert_eq!(def.foreign_keys[0].name, "u_ibfk_0");
        assert_eq!(def.foreign_keys[0].parent, new);
        assert_eq!(def.foreign_keys[1].parent, elsewhere);
    }
}
