//! Exports rows in machine-readable formats while the query runs.
//!
//! A file gets its final name only when it is complete. If the query fails, an existing file is
//! kept and no partial file is left behind. A pipe receives rows immediately, and the exit code
//! reports a failure.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use quillet_core::BoxFuture;
use quillet_sql::export::ByteSink;
use quillet_sql::stream::SinkClosed;
use tokio::task::spawn_blocking;

use crate::chat::sanitize;
use crate::failure::CliError;
use crate::terminal::{self, Stream};

/// Destination of the exported bytes.
pub(super) struct Output {
    /// The file, or `None` for standard output.
    path: Option<PathBuf>,
    /// Whether standard output is a terminal, so that text must be sanitised.
    looked_at: bool,
    file: Option<File>,
    part: Option<TempFile>,
    has_bytes: bool,
    failed: Option<CliError>,
}

/// A file with a temporary name. Dropping it deletes the file.
struct TempFile {
    path: PathBuf,
    target: PathBuf,
}

impl Output {
    pub(super) fn new(path: Option<&Path>) -> Self {
        Output {
            path: path.map(Path::to_owned),
            looked_at: path.is_none() && Stream::Out.is_terminal(),
            file: None,
            part: None,
            has_bytes: false,
            failed: None,
        }
    }

    /// Whether anything was written.
    pub(super) fn has_bytes(&self) -> bool {
        self.has_bytes
    }

    /// Renames the file to its final name.
    ///
    /// # Errors
    /// The file could not be written.
    pub(super) fn finish(mut self) -> Result<(), CliError> {
        if let Some(failure) = self.failed {
            return Err(failure);
        }
        // Closes the file before the rename.
        self.file = None;
        let Some(part) = self.part.take() else {
            return Ok(());
        };
        let named = fs::rename(&part.path, &part.target);
        named.map_err(|error| wrong(&part.target, &error))
    }

    /// After a failed query, reports the state of the output.
    pub(super) fn give_up(self) {
        if !self.has_bytes {
            return;
        }
        terminal::note(&match &self.path {
            Some(path) if self.part.is_some() => {
                format!("{} was not written", sanitize(&path.to_string_lossy()))
            }
            Some(path) => format!("{} is incomplete", sanitize(&path.to_string_lossy())),
            None => "the output is incomplete".to_owned(),
        });
    }

    async fn write(&mut self, bytes: Vec<u8>) -> Result<(), CliError> {
        self.has_bytes = true;
        let Some(path) = self.path.clone() else {
            let bytes = if self.looked_at { shown(bytes) } else { bytes };
            return Ok(run_blocking(move || terminal::bytes(&bytes)).await??);
        };
        let mut file = match self.file.take() {
            Some(file) => file,
            None => self.open(&path)?,
        };
        let written = run_blocking(move || file.write_all(&bytes).map(|()| file)).await?;
        self.file = Some(written.map_err(|error| wrong(&path, &error))?);
        Ok(())
    }

    /// Opens the destination. Devices and pipes are written directly, because only regular files
    /// can be renamed.
    fn open(&mut self, path: &Path) -> Result<File, CliError> {
        let wrong = |error| wrong(path, &error);
        let there = fs::metadata(path).ok();
        if there.as_ref().is_some_and(|there| !there.is_file()) {
            return File::create(path).map_err(wrong);
        }
        let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let name = target.file_name().unwrap_or_default().to_string_lossy();
        let part = format!(".{name}.{}.part", std::process::id());
        let part = target.with_file_name(part);
        let file = File::create_new(&part).map_err(wrong)?;
        let part = self.part.insert(TempFile { path: part, target });
        if let Some(there) = there {
            fs::set_permissions(&part.path, there.permissions()).map_err(wrong)?;
        }
        Ok(file)
    }
}

impl ByteSink for Output {
    fn bytes<'a>(&'a mut self, bytes: Vec<u8>) -> BoxFuture<'a, Result<(), SinkClosed>> {
        Box::pin(async move {
            let written = self.write(bytes).await;
            written.map_err(|failure| {
                self.failed = Some(failure);
                SinkClosed
            })
        })
    }
}

impl Drop for TempFile {
    fn drop(&mut self) {
        // After a successful rename, the temporary file no longer exists and this fails.
        let _ = fs::remove_file(&self.path);
    }
}

/// Sanitises text for a terminal. In text formats, each chunk ends with a complete row, so it is
/// valid UTF-8.
fn shown(bytes: Vec<u8>) -> Vec<u8> {
    match String::from_utf8(bytes) {
        Ok(text) => sanitize(&text).into_owned().into_bytes(),
        Err(error) => error.into_bytes(),
    }
}

/// Runs a blocking write on another thread, because a slow reader of a pipe must not delay an
/// interrupt.
async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, CliError> {
    let done = spawn_blocking(work).await;
    done.map_err(|error| CliError::Other(format!("cannot write the result: {error}")))
}

fn wrong(path: &Path, error: &std::io::Error) -> CliError {
    CliError::Other(format!("{}: {error}", path.display()))
}
