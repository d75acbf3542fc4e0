//! `quillet fmt`: formats scripts.

use std::path::Path;
use std::sync::Arc;

use quillet_core::Exit;
use quillet_script::format::format;
use quillet_script::syntax::ScriptSource;

use crate::args::Fmt;
use crate::failure::CliError;
use crate::report;
use crate::scripts::finding;
use crate::source;
use crate::terminal::{self, Stream};

/// Result for one file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FormatOutcome {
    Same,
    Changed,
    Broken,
}

pub(crate) fn run(args: &Fmt) -> Result<(), CliError> {
    let mut all = Vec::new();
    for file in &args.files {
        all.push(one(file, args.check)?);
    }
    // The exit code is determined after all files, so that an invalid script does not hide the
    // state of the others.
    if all.contains(&FormatOutcome::Broken) {
        return Err(CliError::Said(Exit::Template));
    }
    if args.check && all.contains(&FormatOutcome::Changed) {
        Err(CliError::Said(Exit::Failure))
    } else {
        Ok(())
    }
}

fn one(file: &str, checks: bool) -> Result<FormatOutcome, CliError> {
    let source = Arc::new(ScriptSource {
        name: source::display_name(file).to_owned(),
        path: Path::new(file).canonicalize().ok(),
        text: source::read(file)?.into(),
    });
    let text = match format(&source) {
        Ok(text) => text,
        Err(found) => {
            let colour = Stream::Err.has_colour();
            for found in &found {
                let shown = report::show(&finding(found, Some(&source)), colour);
                terminal::note(shown.trim_end());
            }
            return Ok(FormatOutcome::Broken);
        }
    };
    let done = if text == *source.text {
        FormatOutcome::Same
    } else {
        FormatOutcome::Changed
    };
    match (file, checks) {
        (_, true) if done == FormatOutcome::Changed => terminal::line(&source.name)?,
        ("-", false) => terminal::result(&text)?,
        // An unchanged file is not written, so it keeps its modification time.
        (_, false) if done == FormatOutcome::Changed => {
            let wrong = |error| CliError::Other(format!("{file}: {error}"));
            std::fs::write(file, &text).map_err(wrong)?;
        }
        _ => {}
    }
    Ok(done)
}
