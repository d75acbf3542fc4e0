//! Queries laid out.

use std::path::Path;

use quillet_core::{Diagnostic, nearest};
use quillet_sql::guard::GuardError;
use quillet_sql::{Dialect, layout};

use crate::failure::Failure;
use crate::report::Finding;
use crate::source;
use crate::terminal;

pub(super) fn run(sql: &str, dialect: &str) -> Result<(), Failure> {
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

fn named(name: &str) -> Result<Dialect, Failure> {
    Dialect::named(name).ok_or_else(|| {
        let known = Dialect::ALL.map(Dialect::name);
        let near = nearest(name, known).map(|near| format!(", did you mean {near}?"));
        Failure::Usage(format!(
            "--dialect {name:?} is not known{}; there are {}",
            near.unwrap_or_default(),
            known.join(", ")
        ))
    })
}

fn refused(name: &str, text: &str, error: &GuardError) -> Failure {
    let diagnostic = Diagnostic::error(error.code, name, error.message.clone());
    Failure::Findings(vec![Finding {
        diagnostic: Diagnostic {
            span: error.span,
            help: error.help.clone(),
            ..diagnostic
        },
        text: Some(text.to_owned()),
    }])
}
