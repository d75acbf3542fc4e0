//! `quillet sql format`: formats queries.

use std::path::Path;

use quillet_core::{Diagnostic, nearest};
use quillet_sql::guard::GuardError;
use quillet_sql::{SqlDialect, layout};

use crate::failure::CliError;
use crate::report::LocatedDiagnostic;
use crate::source;
use crate::terminal;

pub(super) fn run(sql: &str, dialect: &str) -> Result<(), CliError> {
    let dialect = named(dialect)?;
    let (name, text) = match sql {
        "-" => ("standard input", source::read("-")?),
        path if Path::new(path).is_file() => (path, source::read(path)?),
        text => ("query", text.to_owned()),
    };
    let laid_out = layout::format(&text, dialect);
    let laid_out = laid_out.map_err(|error| refused(name, &text, &error))?;
    Ok(terminal::line(&laid_out)?)
}

fn named(name: &str) -> Result<SqlDialect, CliError> {
    SqlDialect::from_name(name).ok_or_else(|| {
        let known = SqlDialect::ALL.map(SqlDialect::name);
        let near = nearest(name, known).map(|near| format!(", did you mean {near}?"));
        CliError::Usage(format!(
            "--dialect: unknown dialect {name:?}{}; expected one of {}",
            near.unwrap_or_default(),
            known.join(", ")
        ))
    })
}

fn refused(name: &str, text: &str, error: &GuardError) -> CliError {
    let diagnostic = Diagnostic::error(error.code, name, error.message.clone());
    CliError::Findings(vec![LocatedDiagnostic {
        diagnostic: Diagnostic {
            span: error.span,
            help: error.help.clone(),
            ..diagnostic
        },
        text: Some(text.to_owned()),
    }])
}
