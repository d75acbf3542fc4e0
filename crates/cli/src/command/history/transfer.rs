//! `quillet export` and `quillet import`: complete histories as JSON lines.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Write as _};
use std::path::Path;

use quillet_core::store::StoreErrorKind;
use quillet_host::definitions::{DefinitionError, ExportLine};

use super::store_session::StoreSession;
use crate::args::ExportArgs;
use crate::failure::CliError;
use crate::progress_bar::ProgressBar;
use crate::terminal;

/// Maximum number of invalid lines to report in full. Further ones are only counted.
const MOST_TOLD: usize = 20;

pub(super) async fn export(args: &ExportArgs, work: &StoreSession<'_>) -> Result<(), CliError> {
    let kinds = match args.ids.as_slice() {
        [] => args.which.kinds(),
        _ => vec![args.which.kind()],
    };
    let keys = work.keys(&kinds, &args.ids).await?;
    let mut file = args.output.as_deref().map(AtomicFile::new).transpose()?;
    let bar = ProgressBar::new();
    let mut versions = 0;
    for (at, (kind, key)) in keys.iter().enumerate() {
        bar.set_progress(at as u64, keys.len() as u64, "definitions");
        let exported = work.definitions.export(*kind, key).await?;
        versions += exported.versions.len();
        let line = serde_json::to_string(&exported);
        let line = line.map_err(|error| CliError::Other(error.to_string()))?;
        match &mut file {
            Some(file) => file.line(&line)?,
            None => terminal::line(&line)?,
        }
    }
    drop(bar);
    if let Some(file) = file {
        file.done()?;
    }
    terminal::note(&format!(
        "{} definitions with {versions} versions exported",
        keys.len()
    ));
    Ok(())
}

/// A file that is written under a temporary name and renamed when it is complete.
struct AtomicFile<'a> {
    path: &'a Path,
    new: std::path::PathBuf,
    file: io::BufWriter<File>,
}

impl<'a> AtomicFile<'a> {
    fn new(path: &'a Path) -> Result<Self, CliError> {
        let mut name = path.as_os_str().to_owned();
        name.push(".new");
        let new = std::path::PathBuf::from(name);
        // Opened before the export starts, so a path that cannot be written fails early.
        let file = File::create(&new).map_err(|error| cannot_write(path, &error))?;
        Ok(AtomicFile {
            path,
            new,
            file: io::BufWriter::new(file),
        })
    }

    fn line(&mut self, line: &str) -> Result<(), CliError> {
        let written = writeln!(self.file, "{line}");
        written.map_err(|error| cannot_write(self.path, &error))
    }

    fn done(mut self) -> Result<(), CliError> {
        let moved = self
            .file
            .flush()
            .and_then(|()| std::fs::rename(&self.new, self.path));
        moved.map_err(|error| cannot_write(self.path, &error))
    }
}

fn cannot_write(path: &Path, error: &io::Error) -> CliError {
    CliError::Other(format!("{}: {error}", path.display()))
}

/// Imports histories. All lines are parsed first, so an invalid line leaves the store unchanged.
pub(super) async fn import(file: &str, work: &StoreSession<'_>) -> Result<(), CliError> {
    let histories = read(file)?;
    let total = histories.len();
    let bar = ProgressBar::new();
    let (mut added, mut differ) = (0, 0);
    let mut lines = String::new();
    for (at, (line, exported)) in histories.into_iter().enumerate() {
        bar.set_progress(at as u64, total as u64, "histories");
        match work.definitions.import(&work.actor, line, exported).await {
            Ok(done) => {
                added += done.added;
                let what = match done.added {
                    0 => "already exists".to_owned(),
                    1 => "1 version".to_owned(),
                    count => format!("{count} versions"),
                };
                lines.push_str(&format!("{} {}: {what}\n", done.kind.name(), done.id));
            }
            // A conflicting history does not prevent the import of the others.
            Err(DefinitionError::Store(error)) if error.kind == StoreErrorKind::Conflict => {
                differ += 1;
                terminal::error(&format!("line {line}: {error}"));
            }
            Err(error) => {
                terminal::result(&lines)?;
                return Err(error.into());
            }
        }
    }
    drop(bar);
    terminal::result(&lines)?;
    let place = work.store.describe();
    terminal::note(&format!("{added} versions imported to {place}"));
    if differ > 0 {
        return Err(CliError::Other(format!(
            "{differ} of {total} histories differ from those in the store and were not imported; import them into an empty store"
        )));
    }
    Ok(())
}

/// Reads the histories of a file with their line numbers.
fn read(name: &str) -> Result<Vec<(usize, ExportLine)>, CliError> {
    let input: Box<dyn BufRead> = if name == "-" {
        Box::new(io::stdin().lock())
    } else {
        let file = File::open(name);
        let file = file.map_err(|error| CliError::Other(format!("{name}: {error}")))?;
        Box::new(BufReader::new(file))
    };
    let (mut histories, mut bad) = (Vec::new(), 0);
    // The input is split as bytes, so that text that is not UTF-8 is an error of its line only.
    for (line, text) in (1..).zip(input.split(b'\n')) {
        let text = text.map_err(|error| CliError::Other(format!("{name}: {error}")))?;
        if text.trim_ascii().is_empty() {
            continue;
        }
        match serde_json::from_slice::<ExportLine>(&text)
            .map_err(|error| json_error_message(&error))
        {
            Ok(exported) => histories.push((line, exported)),
            Err(why) => {
                bad += 1;
                if bad <= MOST_TOLD {
                    let error = DefinitionError::Import { line, why };
                    terminal::error(&format!("{name}: {error}"));
                }
            }
        }
    }
    match (bad, histories.is_empty()) {
        (0, false) => Ok(histories),
        (0, true) => Err(CliError::Other(format!("{name}: no histories in the file"))),
        (bad, _) => {
            let more = match bad.saturating_sub(MOST_TOLD) {
                0 => String::new(),
                more => format!(" ({more} more not shown)"),
            };
            Err(CliError::Other(format!(
                "{name}: {bad} invalid lines{more}, nothing was imported; import a file written by `quillet export`"
            )))
        }
    }
}

/// Returns the parser's message with its column. Its line number is dropped, because each line is
/// parsed separately.
fn json_error_message(error: &serde_json::Error) -> String {
    let message = error.to_string();
    let bare = message.split(" at line ").next().unwrap_or(&message);
    format!("{bare} at column {}", error.column())
}
