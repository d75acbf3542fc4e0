//! Loads data files into a temporary database for the duration of the command.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;

use quillet::settings::Settings;
use quillet_sql::ConnectionDefinition;
use quillet_sql::files::{self, FileError, LoadedFiles};

use super::cell::one_line;
use crate::chat::sanitize;
use crate::databases;
use crate::failure::CliError;
use crate::progress_bar::ProgressBar;
use crate::terminal::{self, Stream, TextStyle, styled};

/// Loads files with a progress bar. Prints the detected formats on standard error.
///
/// # Errors
/// A file has an unexpected format or exceeds a limit, which is reported, or a setting is invalid.
pub(super) async fn load(paths: &[PathBuf], config: &Settings) -> Result<LoadedFiles, CliError> {
    let options = databases::file_options(config)?;
    let bar = ProgressBar::new();
    let tell = |done, total, what: &str| bar.set_progress(done, total, what);
    let loaded = files::load(paths, &options, &tell).await;
    drop(bar);
    let loaded = loaded.map_err(|error| to_cli_error(&error))?;
    for note in &loaded.notes {
        terminal::note(&one_line(note));
    }
    Ok(loaded)
}

fn to_cli_error(error: &FileError) -> CliError {
    terminal::error(&sanitize(&error.to_string()));
    if let Some(help) = &error.help {
        let head = styled("help:", TextStyle::Bold, Stream::Err.has_colour());
        terminal::note(&format!("{head} {}", sanitize(help)));
    }
    CliError::Said(error.code.exit())
}

/// Returns the connection to the loaded files.
pub(super) fn definition(loaded: &LoadedFiles) -> ConnectionDefinition {
    ConnectionDefinition {
        url: loaded.url(),
        ..ConnectionDefinition::default()
    }
}

/// Returns a unique name for these files, so that their stored data is not mixed with that of
/// others.
pub(super) fn name(paths: &[PathBuf]) -> String {
    let mut hasher = DefaultHasher::new();
    for path in paths {
        std::path::absolute(path)
            .unwrap_or_else(|_| path.clone())
            .hash(&mut hasher);
    }
    let first = paths.first().and_then(|path| path.file_stem());
    let first = first.unwrap_or_default().to_string_lossy();
    let letters = first.chars().filter(|c| c.is_alphanumeric()).take(40);
    let letters = match letters.collect::<String>() {
        none if none.is_empty() => "files".to_owned(),
        letters => letters,
    };
    format!("{letters}-{:016x}", hasher.finish())
}
