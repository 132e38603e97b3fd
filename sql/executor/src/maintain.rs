//! CHECK, CHECKSUM, ANALYZE (its histograms: [`crate::histogram`]) and REPAIR TABLE: one pass over each named table, answered in rows.
//!
//! 1. What is wrong with one table is a row of the answer (CHECKSUM: NULL and a warning), and the next
//! table follows; only KILL, shutdown and a syntax that cannot run end the statement. 2. CHECK reads
//! under a metadata lock that keeps writers away and lets readers go on, and gives it back before the
//! next table. 3. OPTIMIZE is refused: no table is rebuilt yet, and the answer would say so.

use crate::checksum::Checksum;
        // A view has nothing to check.
        Err(CatalogError::ViewChanged) => Ok(vec![("status", "OK".to_string())]),
        Err(error) if maintain.histogram.is_some() => {
            missing(error.into()).map(|report| report.into_iter().take(1).collect())
        }
        Err(error) => missing(error.into()),
        Ok(table) => match (verb, &maintain.histogram) {
            (_, Some(asked)) => histogram::run(asked, table, context),
            _ if context.tables.def(table).view.is_some() => missing(not_base_table(schema, name)),
            (MaintainVerb::Check, _) => check(table, context),
            (MaintainVerb::Repair, _) => Ok(vec![not_supported(verb)]),
            _ => analyze(table, context),
        },
    };
    context.tables.release_since(context.client.slot(), mark);
    result
}

/// What is said of a table that the verb cannot be applied to.
fn not_supported(verb: MaintainVerb) -> (&'static str, String) {
    let verb = format!("{verb:?}").to_ascii_lowercase();
    ("note", format!("The storage engine for the table doesn't support {verb}"))
}

/// What is said of a table that cannot be opened.
fn missing(error: SqlError) -> Result<Report, SqlError> {
    let last = match &error {
        SqlError::Catalog(CatalogError::UnknownDatabase(_)) => ("error", "Corrupt"),
        other if ends_statement(other) => return Err(error),
        _ => ("status", "Operation failed"),
    };
    Ok(vec![("Error", error.parts().2), (last.0, last.1.to_string())])
}

/// KILL and shutdown are about the session, not about the table.
fn ends_statement(error: &SqlError) -> bool {
    matches!(error.parts().0, 1317 | 1053)
}

/// ANALYZE of an open table.
fn analyze(table: TableRef, context: &mut Context<'_>) -> Result<Report, SqlError> {
    let pages = context.env.system_variable(true, "innodb_stats_persistent_sample_pages")?;
    let pages = pages.datum().as_u64().and_then(|n| u32::try_from(n).ok());
    let catalog = std::sync::Arc::clone(context.tables.catalog());
    match catalog.analyze(context.tables, table, pages) {
        Ok(()) => {}
        Err(error) => return missing(error.into()),
    }
    histogram::refresh(table, context)?;
    Ok(vec![("status", "OK".to_string())])
}

/// CHECK of an open table that nobody else changes.
fn check(table: TableRef, context: &mut Context<'_>) -> Result<Report, SqlError> {
    let engine = std::sync::Arc::clone(context.tables.catalog().engine());
    // What recovery has not undone or removed yet would look like damage.
    while engine.recovery_progress().phase != engine::RecoveryPhase::Done {
        if !context.env.sleep(RECOVERY_LOOK_S) {
            return Err(SqlError::Storage(base::Error::Killed));
        }
    }
    let def = context.tables.def(table);
    let findings = match engine.examine_table(context.tables.table(table)) {
        Ok(findings) if findings.is_empty() => return Ok(vec![("status", "OK".to_string())]),
        Ok(findings) => findings,
        Err(error) => return missing(SqlError::Storage(error)),
    };
    let mut report: Report = Vec::with_capacity(findings.len() + 1);
    for finding in &findings {
        let index = finding.index.and_then(|id| damage::index_name(def, id));
        let index = index.map_or(String::new(), |name| format!("Index '{name}': "));
        let place = match finding.place {
            Some((page, offset)) => damage::place(page, offset, finding.what),
            None => finding.what.to_string(),
        };
        report.push(("Error", format!("{index}{place}")));
    }
    report.push(("error", "Corrupt".to_string()));
    Ok(report)
}

/// The table's checksum; NULL (with a warning) when there is none, and for QUICK, which asks for a
/// stored one.
fn checksum_or_null(
    schema: &str,
    name: &str,
    quick: bool,
    context: &mut Context<'_>,
) -> Result<Option<u32>, SqlError> {
    if let Ok(Some(_)) = context.tables.catalog().virtual_table(schema, name) {
        let (number, _, text) = not_base_table(schema, name).parts();
        context.env.warn(WarningLevel::Error, number, text);
        return Ok(None);
    }
    let deadline = context.env.lock_deadline();
    let summed = context
        .tables
        .open(context.client, schema, name, Mode::SR, deadline)
        .map_err(SqlError::from)
        .and_then(|table| base_table(table, schema, name, context))
        .and_then(|table| if quick { Ok(None) } else { checksum(table, context).map(Some) });
    match summed {
        Err(error) if !ends_statement(&error) => {
            let named = damage::named(&error, context.tables.catalog());
            let (number, _, text) = named.unwrap_or(error).parts();
            context.env.warn(WarningLevel::Error, number, text);
            Ok(None)
        }
        other => other,
    }
}

fn not_base_table(schema: &str, name: &str) -> SqlError {
    CatalogError::NotBaseTable { schema: schema.to_string(), name: name.to_string() }.into()
}

/// The table, which is no view.
fn base_table(
    table: TableRef,
    schema: &str,
    name: &str,
    context: &Context<'_>,
) -> Result<TableRef, SqlError> {
    match context.tables.def(table).view {
        None => Ok(table),
        Some(_) => Err(not_base_table(schema, name)),
    }
}

fn checksum(table: TableRef, context: &mut Context<'_>) -> Result<u32, SqlError> {
    let mut sum = Checksum::new(&context.tables.def(table).columns);
    let layout = context.tables.table(table).layout().clone();
    rows::each(context, table, &mut |bytes| {
        sum.add(|column| layout.decode(bytes, column).map_err(expr::damaged))
    })?;
    Ok(sum.total())
}
