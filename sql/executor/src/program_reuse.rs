//! Programs of texts whose literals were cut out, and programs that were made in other sessions.
//!
//! 1. Another text has the same program if it agrees in the [`Terms`]: the literals that are no parameters are the same, and
//! what was measured with the others' values is alike. 2. A session that takes a program over opens its tables and
//! compares their versions with those that it was planned for; the program itself is as good there as here.

use crate::prepared::Prepared;
use crate::program::{Code, Open, Program};
use crate::{Context, SqlError};
use catalog::TableCache;
use expr::OwnedDatum;
use parser::Parsed;
use parser::ast::Statement;
use planner::literals::{Literals, Probe};
use planner::parameters::Parameters;
use std::mem::size_of;
use std::sync::Arc;
use value::Datum;

/// What another text must agree in, besides its words, to have the same program.
#[derive(Debug, Clone, Default)]
pub(crate) struct Terms {
    /// By literal: it is a parameter.
    free: Vec<bool>,
    probes: Vec<Probe>,
}

/// Compiles a text that was cut, as it was parsed: some of its literals, whose values these are, become parameters. The
/// parser's warnings are raised at each run.
///
/// # Errors
/// As [`crate::prepare`].
pub fn prepare_text(
    parsed: Parsed,
    literals: Vec<OwnedDatum>,
    context: &mut Context<'_>,
) -> Result<Prepared, SqlError> {
    let (literals, parameters) = (Literals::new(literals), Parameters::default());
    let open = Open { literals, parameters, cut: true, written: parsed.warnings };
    let program = Program::compile(&Arc::new(parsed.statement), context, open)?;
    Ok(Prepared::of(program.digested(parsed.digest.map(Arc::new))))
}

impl Terms {
    pub(crate) fn of(literals: Literals) -> Terms {
        let (free, probes) = literals.finish();
        Terms { free, probes }
    }
}

impl Prepared {
    /// Whether a literal of the text is a parameter of the program.
    pub fn is_free(&self, literal: usize) -> bool {
        self.terms().is_some_and(|terms| terms.free.get(literal) == Some(&true))
    }

    /// Whether the program of a text, whose tables are locked, would be made again with these literals, as far as the
    /// estimates tell.
    #[inline]
    pub fn fits(&self, tables: &TableCache, literals: &[Datum<'_>]) -> bool {
        let probes = self.terms().map_or(&[][..], |terms| &terms.probes);
        probes.is_empty() || fit(probes, tables, literals)
    }
}

fn fit(probes: &[Probe], tables: &TableCache, literals: &[Datum<'_>]) -> bool {
    let values: Vec<_> = literals.iter().map(OwnedDatum::of).collect();
    probes.iter().all(|probe| probe.fits(tables, &values))
}

/// Bytes of a tree and of a plan's expressions per byte of text, about.
const BYTES_PER_TEXT_BYTE: usize = 64;

impl Program {
    /// Memory that it takes, in bytes, estimated for a text of that length.
    pub fn bytes(&self, text_bytes: usize) -> usize {
        let node = size_of::<planner::query_plan::Node>() + size_of::<planner::Output>();
        let nodes = match &self.code {
            Code::Point(_) => 1,
            Code::Rows(plan) => plan.size(),
            Code::Tree => 0,
        };
        let nodes = nodes + self.columns.len();
        let digest = self.digest.as_ref().map_or(0, |digest| digest.text.len());
        let needs = self.needs.bytes();
        size_of::<Program>() + nodes * node + text_bytes * BYTES_PER_TEXT_BYTE + digest + needs
    }

    /// Whether it was measured with a literal's value, so that other values may ask for another program.
    pub fn is_measured(&self) -> bool {
        self.terms.as_ref().is_some_and(|terms| !terms.probes.is_empty())
    }

    /// The statement.
    pub fn statement(&self) -> &Statement {
        &self.statement
    }

    /// Locks and opens the tables of a program of another session; `None` when one of them is not what it was planned for, or
    /// this session may not run it: what its own program would need is another question.
    ///
    /// # Errors
    /// Lock errors.
    pub fn adopt(
        self: &Arc<Program>,
        context: &mut Context<'_>,
    ) -> Result<Option<Prepared>, SqlError> {
        if self.check_rights(context).is_err() {
            return Ok(None);
        }
        if context.tables.asks() {
            self.admit_again(context)?;
        }
        let deadline = context.env.lock_deadline();
        for table in &self.tables {
            let (client, planned) = (&*context.client, (&*table.name, table.table));
            if !context.tables.adopt(client, planned, table.mode, deadline)? {
                context.tables.begin_round();
                return Ok(None);
            }
            if table.times > 1 {
                context.tables.enter_again(table.table, table.times - 1)?;
            }
        }
        Ok(Some(Prepared::of(Arc::clone(self))))
    }
}
