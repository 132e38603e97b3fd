//! SET_VAR: variables that have another value for the time of one statement.
//!
//! 1. What they were is given back whatever the statement ends in. 2. A value that cannot be set is a warning;
//! the statement runs with the one that is there.

use crate::core::Core;
use crate::diagnostics::Level;
use crate::variables::{self, Effect, Value, VarId};
use executor::OwnedDatum;
use parser::ast::{HintInside, Statement};

/// Variables that MySQL lets a hint set.
const HINTABLE: [&str; 51] = [
    "auto_increment_increment",
    "auto_increment_offset",
    "big_tables",
    "bulk_insert_buffer_size",
    "cte_max_recursion_depth",
    "default_table_encryption",
    "default_tmp_storage_engine",
    "div_precision_increment",
    "end_markers_in_json",
    "eq_range_index_dive_limit",
    "foreign_key_checks",
    "group_concat_max_len",
    "insert_id",
    "internal_tmp_mem_storage_engine",
    "join_buffer_size",
    "lock_wait_timeout",
    "max_error_count",
    "max_execution_time",
    "max_heap_table_size",
    "max_join_size",
    "max_length_for_sort_data",
    "max_points_in_geometry",
    "max_seeks_for_key",
    "max_sort_length",
    "optimizer_prune_level",
    "optimizer_search_depth",
    "optimizer_switch",
    "range_alloc_block_size",
    "range_optimizer_max_mem_size",
    "read_buffer_size",
    "read_rnd_buffer_size",
    "secondary_engine_cost_threshold",
    "select_into_buffer_size",
    "select_into_disk_sync",
    "select_into_disk_sync_delay",
    "set_operations_buffer_size",
    "sort_buffer_size",
    "sql_auto_is_null",
    "sql_big_selects",
    "sql_buffer_result",
    "sql_mode",
    "sql_require_primary_key",
    "sql_safe_updates",
    "sql_select_limit",
    "time_zone",
    "timestamp",
    "tmp_table_size",
    "unique_checks",
    "updatable_views_with_limit",
    "use_secondary_engine",
    "windowing_use_high_precision",
];

const UNKNOWN: u16 = 3128;
const NOT_HINTABLE: u16 = 3637;

/// What variables were before hints set them.
#[derive(Default)]
pub struct Hinted {
    values: Vec<(VarId, Value)>,
    timestamp_us: Option<i64>,
}

impl Core {
    /// Sets what the SET_VAR hints of a statement say; `aloud` with warnings
    /// about names that cannot be set, which PREPARE gives and EXECUTE does not.
    pub fn set_hinted(&mut self, statement: &Statement, aloud: bool) -> Hinted {
        let hints = statement.hints();
        if hints.is_empty() {
            return Hinted::default();
        }
        let mut was = Hinted { timestamp_us: self.env.clock.timestamp_us, values: Vec::new() };
        let conditions = std::mem::take(&mut self.env.diagnostics);
        self.env.diagnostics.set_conditions_max(conditions.conditions_max());
        for hint in hints.into_iter().flat_map(|hints| &hints.list) {
            let HintInside::Variable(name, value) = &hint.inside else { continue };
            if let Err((code, text)) = self.set_one(name, value, &mut was)
                && (aloud || !matches!(code, UNKNOWN | NOT_HINTABLE))
            {
                self.env.diagnostics.add(Level::Warning, code, text);
            }
        }
        let raised = std::mem::replace(&mut self.env.diagnostics, conditions);
        for condition in raised.conditions() {
            let text = condition.text.clone();
            self.env.diagnostics.add(condition.level, condition.code, text);
        }
        self.env.refresh();
        was
    }

    fn set_one(&mut self, name: &str, value: &str, was: &mut Hinted) -> Result<(), (u16, String)> {
        let name = name.to_ascii_lowercase();
        let Some(id) = variables::find(&name) else {
            return Err((UNKNOWN, format!("Unresolved name '{name}' for SET_VAR hint")));
        };
        if !HINTABLE.contains(&&*name) {
            let text = format!("Variable '{name}' cannot be set using SET_VAR hint.");
            return Err((NOT_HINTABLE, text));
        }
        if was.values.iter().any(|(known, _)| *known == id) {
            // Only the first of several counts.
            return Ok(());
        }
        let before = self.env.vars.value(id).clone();
        was.values.push((id, before));
        if name == "max_join_size" {
            let follows = variables::id("sql_big_selects");
            was.values.push((follows, self.env.vars.value(follows).clone()));
        }
        let inside = value.strip_prefix('\'').and_then(|v| v.strip_suffix('\''));
        let value = match (inside, value.parse::<i64>(), value.parse::<u64>()) {
            (Some(text), ..) => OwnedDatum::Bytes(text.as_bytes().to_vec()),
            (None, Ok(number), _) => OwnedDatum::Int(number),
            (None, _, Ok(number)) => OwnedDatum::UInt(number),
            (None, ..) => OwnedDatum::Bytes(value.as_bytes().to_vec()),
        };
        let set = self.set_for_session(id, &value);
        set.map_err(|error| {
            let (code, _, text) = error.parts();
            (code, text)
        })
    }

    /// Gives back what the variables were.
    pub fn unset_hinted(&mut self, was: Hinted) {
        if was.values.is_empty() {
            return;
        }
        self.env.set_timestamp(was.timestamp_us);
        for (id, value) in was.values {
            if id.get().effect != Effect::Timestamp {
                self.env.vars.set(id, value);
            }
        }
        self.env.refresh();
        self.refresh();
    }
}
