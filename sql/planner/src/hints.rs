//! Hints: which indexes USE, FORCE and IGNORE INDEX leave to choose from, and what `/*+ ... */` asks for.
//!
//! 1. A hint never changes what a statement answers, but by ending it (MAX_EXECUTION_TIME): one that this
//! optimiser has no use for is checked and has no effect. 2. A hint is about the query block in which it stands
//! unless it names another. Hints of a view's query do not count. 3. SET_VAR is the session's; here only its
//! repetition is noticed.

use crate::error::PlanError;
use crate::logical::{Block, Leaf, Source};
use catalog::{TableCache, TableDef};
use expr::SqlError;
use parser::ast::{self, Hint, HintInside, HintTable, IndexHintScope, TableFactor};
use value::name::same_name;

/// Names that hints leave to choose from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Allowed {
    /// Only these.
    pub only: Option<Vec<String>>,
    /// Never these.
    pub never: Vec<String>,
}

impl Allowed {
    /// Whether a name is left.
    pub(crate) fn allows(&self, name: &str) -> bool {
        self.only.as_ref().is_none_or(|only| named(only, name)) && !named(&self.never, name)
    }
}

fn named(list: &[String], name: &str) -> bool {
    list.iter().any(|n| same_name(n, name))
}

/// What hints say about one source of rows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IndexChoice {
    /// Indexes to find rows by.
    pub join: Allowed,
    /// Indexes to read in their order, for ORDER BY and GROUP BY.
    pub order: Allowed,
    /// Indexes of which no ranges are read: NO_RANGE_OPTIMIZATION.
    pub no_range: Vec<String>,
    /// Indexes that may be read together with others.
    pub merge: Allowed,
    /// INDEX_MERGE: whatever `optimizer_switch` says, and rather than one of them.
    pub merge_forced: bool,
    /// Rows are not kept in a hash table: NO_BNL.
    pub no_hash: bool,
    /// A derived table or view is not merged into the query around it: NO_MERGE.
    pub no_merge: bool,
}

/// What index hints leave; a hint for a missing index is error 1176.
pub fn index_choice(def: &TableDef, factor: &TableFactor) -> Result<IndexChoice, SqlError> {
    let mut choice = IndexChoice::default();
    for hint in &factor.index_hints {
        for name in &hint.indexes {
            let is_usable =
                |i: &catalog::IndexDef| !i.attributes.invisible && same_name(&i.name, name);
            if !def.indexes.iter().any(is_usable) {
                return Err(PlanError::UnknownKey(name, &def.name).into());
            }
        }
        let IndexChoice { join, order, .. } = &mut choice;
        let scopes: &mut [&mut Allowed] = match hint.scope {
            IndexHintScope::All => &mut [join, order],
            IndexHintScope::Join => &mut [join],
            IndexHintScope::OrderBy | IndexHintScope::GroupBy => &mut [order],
        };
        for allowed in scopes {
            match hint.kind {
                ast::IndexHintKind::Ignore => allowed.never.extend(hint.indexes.iter().cloned()),
                _ => allowed.only.get_or_insert_default().extend(hint.indexes.iter().cloned()),
            }
        }
    }
    Ok(choice)
}

/// The order in which a hint wants tables to be joined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrderHint {
    /// JOIN_PREFIX: they come first.
    pub first: bool,
    /// JOIN_SUFFIX: they come last.
    pub last: bool,
    /// Names, in order.
    pub tables: Vec<String>,
}

/// Optimizer hints of a statement whose names are being resolved.
#[derive(Debug, Default)]
pub(crate) struct StatementHints {
    /// Query blocks that have a name.
    names: Vec<(u32, String)>,
    block_hints: Vec<BlockHint>,
    variables: Vec<String>,
    /// MAX_EXECUTION_TIME in milliseconds.
    pub(crate) execution_ms_max: Option<u32>,
    /// Number and text, in the order in which they are raised.
    pub(crate) warnings: Vec<(u16, String)>,
}

/// A hint, and the block that it is about.
#[derive(Debug, Clone)]
struct BlockHint {
    name: &'static str,
    /// The block in which it stands.
    number: u32,
    /// The block that it names.
    block: Option<String>,
    inside: HintInside,
    met: bool,
}

/// Text of warning 3125.
pub(crate) const TOP_LEVEL_ONLY: &str =
    "MAX_EXECUTION_TIME hint is supported by top-level standalone SELECT statements only";

/// INDEX and NO_INDEX are two answers to one question.
fn question(name: &str) -> &str {
    name.strip_prefix("NO_").unwrap_or(name)
}

/// Hints of which a table has one, whatever the indexes.
fn is_of_table(name: &str) -> bool {
    matches!(question(name), "INDEX" | "JOIN_INDEX" | "ORDER_INDEX" | "GROUP_INDEX")
}

fn is_order(name: &str) -> bool {
    matches!(name, "JOIN_FIXED_ORDER" | "JOIN_ORDER" | "JOIN_PREFIX" | "JOIN_SUFFIX")
}

fn quoted(list: &[String]) -> String {
    list.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(",")
}

impl StatementHints {
    /// Takes the hints of a block. `alone`: it is all of the statement.
    pub(crate) fn enter(&mut self, number: u32, hints: Option<&ast::Hints>, alone: bool) {
        let Some(hints) = hints else { return };
        if let Some(error) = &hints.error {
            self.warnings.push((1064, error.clone()));
        }
        for hint in &hints.list {
            if let Err(text) = self.take(number, hint, alone) {
                let text = format!("Hint {text} is ignored as conflicting/duplicated");
                self.warnings.push((3126, text));
            }
        }
    }

    /// # Errors
    /// The hint's text: it asks what another one has asked.
    fn take(&mut self, number: u32, hint: &Hint, alone: bool) -> Result<(), String> {
        let name = hint.name;
        match &hint.inside {
            HintInside::Name(block) if name == "QB_NAME" => {
                if self.names.iter().any(|(n, known)| *n == number || known == block) {
                    return Err(format!("QB_NAME(`{block}`)"));
                }
                self.names.push((number, block.clone()));
            }
            HintInside::Name(group) => {
                let text = format!("Resource Group '{group}' does not exist.");
                self.warnings.push((3651, text));
            }
            HintInside::Number(_) if !alone => {
                self.warnings.push((3125, TOP_LEVEL_ONLY.to_string()));
            }
            HintInside::Number(ms) if self.execution_ms_max.is_some() => {
                return Err(format!("MAX_EXECUTION_TIME({ms})"));
            }
            HintInside::Number(ms) => self.execution_ms_max = Some(*ms),
            HintInside::Variable(variable, value) => {
                if named(&self.variables, variable) {
                    return Err(format!("SET_VAR({variable}={value}) "));
                }
                self.variables.push(variable.clone());
            }
            HintInside::Tables(tables) if is_order(name) => {
                let mut there = self
                    .block_hints
                    .iter()
                    .filter(|w| w.number == number && w.block == hint.block && is_order(w.name));
                let fixed = |n: &str| n == "JOIN_FIXED_ORDER";
                let same = |n: &str| n == name && name != "JOIN_ORDER";
                if there.any(|w| fixed(w.name) || fixed(name) || same(w.name)) {
                    let names: Vec<String> = tables.iter().map(|t| t.name.clone()).collect();
                    return Err(format!("{name}( {})", quoted(&names)));
                }
                self.add_block_hint(number, hint, hint.inside.clone());
            }
            HintInside::Tables(tables) if tables.is_empty() => {
                self.only(number, hint, |w| matches!(w, HintInside::Tables(t) if t.is_empty()))?;
                self.add_block_hint(number, hint, hint.inside.clone());
            }
            HintInside::Tables(tables) => {
                for table in tables {
                    let one = HintInside::Tables(vec![table.clone()]);
                    let hint = Hint { inside: one.clone(), ..hint.clone() };
                    self.only(number, &hint, |w| *w == one)?;
                    self.add_block_hint(number, &hint, one);
                }
            }
            HintInside::Indexes(table, indexes) => {
                let of_table = is_of_table(name);
                let clash = |w: &HintInside| {
                    matches!(w, HintInside::Indexes(t, own) if t == table
                        && (of_table || own.is_empty() || indexes.iter().any(|i| named(own, i))))
                };
                self.only(number, hint, clash)?;
                self.add_block_hint(number, hint, hint.inside.clone());
            }
            HintInside::Strategies(_) => {
                self.only(number, hint, |w| matches!(w, HintInside::Strategies(_)))?;
                self.add_block_hint(number, hint, hint.inside.clone());
            }
        }
        Ok(())
    }

    /// # Errors
    /// The hint's text, where one before answers the same question.
    fn only(
        &self,
        number: u32,
        hint: &Hint,
        clash: impl Fn(&HintInside) -> bool,
    ) -> Result<(), String> {
        let asked = |w: &&BlockHint| {
            w.number == number && w.block == hint.block && question(w.name) == question(hint.name)
        };
        if !self.block_hints.iter().filter(asked).any(|w| clash(&w.inside)) {
            return Ok(());
        }
        let inside = match &hint.inside {
            HintInside::Indexes(table, indexes) if is_of_table(hint.name) => {
                format!("`{}`  {}", table.name, quoted(indexes)).trim_end().to_string()
                    + if indexes.is_empty() { " " } else { "" }
            }
            HintInside::Indexes(table, indexes) => {
                let space = if indexes.is_empty() { "" } else { " " };
                format!("`{}` {}{space}", table.name, quoted(indexes))
            }
            HintInside::Tables(tables) => {
                let names: Vec<String> = tables.iter().map(|t| t.name.clone()).collect();
                format!("{} ", quoted(&names))
            }
            _ => " ".to_string(),
        };
        Err(format!("{}({inside})", hint.name))
    }

    fn add_block_hint(&mut self, number: u32, hint: &Hint, inside: HintInside) {
        let own = match &inside {
            HintInside::Tables(tables) if !is_order(hint.name) => tables.first(),
            HintInside::Indexes(table, _) => Some(table),
            _ => None,
        };
        let block = hint.block.clone().or_else(|| own.and_then(|t| t.block.clone()));
        self.block_hints.push(BlockHint { name: hint.name, number, block, inside, met: false });
    }

    /// Does to a block what the hints about it say.
    pub(crate) fn leave(&mut self, number: u32, block: &mut Block, tables: &TableCache) {
        if self.block_hints.is_empty() {
            return;
        }
        let default = format!("select#{number}");
        let name = self.names.iter().find(|(n, _)| *n == number).map(|(_, name)| name.clone());
        let called = name.clone().unwrap_or_else(|| default.clone());
        for hint in &mut self.block_hints {
            let is_own = match &hint.block {
                None => hint.number == number,
                Some(block) => Some(block) == name.as_ref() || *block == default,
            };
            if !is_own {
                continue;
            }
            hint.met = true;
            hint.apply(block, tables, &called, &mut self.warnings);
        }
    }

    /// Warns of hints about blocks that are not there.
    pub(crate) fn finish(&mut self) {
        for hint in self.block_hints.iter().filter(|w| !w.met) {
            let block = hint.block.as_deref().unwrap_or_default();
            let text = format!("Query block name `{block}` is not found for {} hint", hint.name);
            self.warnings.push((3127, text));
        }
    }
}

impl BlockHint {
    fn apply(
        &self,
        block: &mut Block,
        tables: &TableCache,
        called: &str,
        warnings: &mut Vec<(u16, String)>,
    ) {
        let mut unresolved = |what: String| {
            warnings.push((3128, format!("Unresolved name {what} for {} hint", self.name)));
        };
        let find = |name: &str| block.leaves.iter().position(|l| l.name == name);
        match &self.inside {
            HintInside::Tables(_) if self.name == "JOIN_FIXED_ORDER" => block.straight = true,
            HintInside::Tables(list) if is_order(self.name) => {
                for table in list.iter().filter(|t| t.block.is_some() || find(&t.name).is_none()) {
                    unresolved(written(table));
                }
                let tables = list.iter().filter(|t| t.block.is_none()).map(|t| t.name.clone());
                let hint = OrderHint {
                    first: self.name == "JOIN_PREFIX",
                    last: self.name == "JOIN_SUFFIX",
                    tables: tables.collect(),
                };
                block.order_hints.push(hint);
            }
            HintInside::Tables(list) => match list.first().map(|t| (t, find(&t.name))) {
                None => block.leaves.iter_mut().for_each(|l| self.mark(&mut l.hints)),
                Some((_, Some(leaf))) => self.mark(&mut block.leaves[leaf].hints),
                Some((table, None)) => unresolved(format!("`{}`@`{called}`", table.name)),
            },
            HintInside::Indexes(table, indexes) => {
                let place = format!("`{}`@`{called}`", table.name);
                let leaf = find(&table.name);
                if leaf.is_none() {
                    unresolved(place.clone());
                }
                let def = leaf.and_then(|leaf| def_of(&block.leaves[leaf], tables));
                let is_there = |n: &String| {
                    def.is_some_and(|def| def.indexes.iter().any(|i| same_name(&i.name, n)))
                };
                for index in indexes.iter().filter(|n| !is_there(n)) {
                    unresolved(format!("{place} `{index}`"));
                }
                if let (Some(leaf), Some(def)) = (leaf, def) {
                    let known: Vec<String> =
                        indexes.iter().filter(|n| is_there(n)).cloned().collect();
                    let all = indexes.is_empty();
                    if all || !known.is_empty() {
                        self.narrow(&mut block.leaves[leaf].hints, def, &known, all);
                    }
                }
            }
            HintInside::Strategies(_) => block.no_semijoin |= self.name == "NO_SEMIJOIN",
            _ => {}
        }
    }

    fn mark(&self, hints: &mut IndexChoice) {
        hints.no_hash |= self.name == "NO_BNL";
        hints.no_merge |= self.name == "NO_MERGE";
    }

    /// Narrows the indexes of a table; what USE, FORCE and IGNORE INDEX say no longer counts.
    fn narrow(&self, choice: &mut IndexChoice, def: &TableDef, known: &[String], all: bool) {
        let IndexChoice { join, order, no_range, merge, merge_forced, .. } = choice;
        let scopes: &mut [&mut Allowed] = match question(self.name) {
            "INDEX" => &mut [join, order],
            "JOIN_INDEX" => &mut [join],
            "ORDER_INDEX" | "GROUP_INDEX" => &mut [order],
            "INDEX_MERGE" => {
                *merge_forced |= self.name == "INDEX_MERGE";
                &mut [merge]
            }
            "RANGE_OPTIMIZATION" => {
                let every = def.indexes.iter().map(|i| i.name.clone());
                no_range.extend(if all { every.collect() } else { known.to_vec() });
                return;
            }
            _ => return,
        };
        for allowed in scopes {
            **allowed = match (self.name.starts_with("NO_"), all) {
                (true, true) => Allowed { only: Some(Vec::new()), never: Vec::new() },
                (true, false) => Allowed { only: None, never: known.to_vec() },
                (false, true) => Allowed::default(),
                (false, false) => Allowed { only: Some(known.to_vec()), never: Vec::new() },
            };
        }
    }
}

fn written(table: &HintTable) -> String {
    match &table.block {
        Some(block) => format!("`{}`@`{block}`", table.name),
        None => format!("`{}`", table.name),
    }
}

fn def_of<'t>(leaf: &Leaf, tables: &'t TableCache) -> Option<&'t TableDef> {
    match &leaf.source {
        Source::Table(table) => Some(tables.def(*table)),
        _ => None,
    }
}
