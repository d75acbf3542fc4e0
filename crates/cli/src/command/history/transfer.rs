//! `quillet export` and `quillet import`: whole histories as lines of JSON.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Write as _};
use std::path::Path;

use quillet_core::store::StoreErrorKind;
use quillet_host::definitions::{DefinitionError, Exported};

use super::work::Work;
use crate::args::Export;
use crate::bar::Bar;
use crate::failure::Failure;
use crate::terminal;

/// Bad lines that are told before the rest is only counted.
const MOST_TOLD: usize = 20;

pub(super) async fn export(args: &Export, work: &Work<'_>) -> Result<(), Failure> {
    let kinds = match args.ids.as_slice() {
        [] => args.which.kinds(),
        _ => vec![args.which.kind()],
    };
    let keys = work.keys(&kinds, &args.ids).await?;
    let mut file = args.output.as_deref().map(Beside::new).transpose()?;
    let bar = Bar::new();
    let mut versions = 0;
    for (at, (kind, key)) in keys.iter().enumerate() {
        bar.tell(at as u64, keys.len() as u64, "definitions");
        let exported = work.definitions.export(*kind, key).await?;
        versions += exported.versions.len();
        let line = serde_json::to_string(&exported);
        let line = line.map_err(|error| Failure::Other(error.to_string()))?;
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

/// A file that is written beside its place and takes it when it is whole.
struct Beside<'a> {
    path: &'a Path,
    new: std::path::PathBuf,
    file: io::BufWriter<File>,
}

impl<'a> Beside<'a> {
    fn new(path: &'a Path) -> Result<Self, Failure> {
        let mut name = path.as_os_str().to_owned();
        name.push(".new");
        let new = std::path::PathBuf::from(name);
        let file = File::create(&new).map_err(|error| cannot_write(path, &error))?;
        Ok(Beside {
            path,
            new,
            file: io::BufWriter::new(file),
        })
    }

    fn line(&mut self, line: &str) -> Result<(), Failure> {
        let written = writeln!(self.file, "{line}");
        written.map_err(|error| cannot_write(self.path, &error))
    }

    fn done(mut self) -> Result<(), Failure> {
        let moved = self
            .file
            .flush()
            .and_then(|()| std::fs::rename(&self.new, self.path));
        moved.map_err(|error| cannot_write(self.path, &error))
    }
}

fn cannot_write(path: &Path, error: &io::Error) -> Failure {
    Failure::Other(format!("{}: {error}", path.display()))
}

/// All lines are read before the first is brought in, so that a file with a bad one changes nothing.
pub(super) async fn import(file: &str, work: &Work<'_>) -> Result<(), Failure> {
    let histories = read(file)?;
    let total = histories.len();
    let bar = Bar::new();
    let (mut added, mut differ) = (0, 0);
    let mut lines = String::new();
    for (at, (line, exported)) in histories.into_iter().enumerate() {
        bar.tell(at as u64, total as u64, "histories");
        match work.definitions.import(&work.actor, line, exported).await {
            Ok(done) => {
                added += done.added;
                let what = match done.added {
                    0 => "is here already".to_owned(),
                    1 => "1 version".to_owned(),
                    count => format!("{count} versions"),
                };
                lines.push_str(&format!("{} {}: {what}\n", done.kind.name(), done.id));
            }
            // One that is another history here does not keep the others out.
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
        return Err(Failure::Other(format!(
            "{differ} of {total} histories are others here and were not imported; into an empty store all of them can be"
        )));
    }
    Ok(())
}

/// The histories of a file with the numbers of their lines.
fn read(name: &str) -> Result<Vec<(usize, Exported)>, Failure> {
    let input: Box<dyn BufRead> = if name == "-" {
        Box::new(io::stdin().lock())
    } else {
        let file = File::open(name);
        let file = file.map_err(|error| Failure::Other(format!("{name}: {error}")))?;
        Box::new(BufReader::new(file))
    };
    let (mut histories, mut bad) = (Vec::new(), 0);
    for (line, text) in (1..).zip(input.split(b'\n')) {
        let text = text.map_err(|error| Failure::Other(format!("{name}: {error}")))?;
        if text.trim_ascii().is_empty() {
            continue;
        }
        match serde_json::from_slice::<Exported>(&text).map_err(|error| why(&error)) {
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
        (0, true) => Err(Failure::Other(format!("{name}: there is no history in it"))),
        (bad, _) => {
            let more = match bad.saturating_sub(MOST_TOLD) {
                0 => String::new(),
                more => format!(" ({more} more than are shown)"),
            };
            Err(Failure::Other(format!(
                "{name}: {bad} lines are no histories{more}, and nothing was imported; import a file that `quillet export` has written"
            )))
        }
    }
}

/// What the reader says, with its column: the line is the file's, not the reader's.
fn why(error: &serde_json::Error) -> String {
    let message = error.to_string();
    let bare = message.split(" at line ").next().unwrap_or(&message);
    format!("{bare} at column {}", error.column())
}
