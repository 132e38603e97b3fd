//! Prepared statements, of the binary protocol and of SQL: [`program`] makes what one runs, [`prepare_command`],
//! [`execute_command`] and [`named`] are the ways in.
//!
//! 1. An execution decodes its parameters onto the stack unless they are many: warm, nothing is allocated.
//! 2. A statement is never run with parameters that do not match its markers: number and types are checked
//!    against the packet first.

mod execute_command;
mod named;
mod parameters;
mod prepare_command;
mod program;

use crate::core::{Core, Descriptor};
use crate::hints::Hinted;
use crate::net::Net;
use executor::{OwnedDatum, Prepared};
use parser::ast::Statement;

// What both kinds of execution do.
impl Core {
    /// Sets what hints of a prepared statement say; what is wrong with them was said by PREPARE.
    #[inline]
    fn hinted(&mut self, prepared: &Prepared) -> Option<Hinted> {
        prepared.sets_variables().then(|| self.set_hinted(prepared.statement(), false))
    }

    fn run_with_parameters(
        &mut self,
        statement: &Statement,
        kind: &Descriptor,
        params: Vec<OwnedDatum>,
        binary: bool,
        net: &mut dyn Net,
    ) -> bool {
        self.parameters = params;
        let went_well = self.run_in_session(statement, kind, binary, net);
        self.parameters.clear();
        went_well
    }
}
