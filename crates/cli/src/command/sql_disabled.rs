//! Replacement of `quillet sql` in a build without the feature `sql`.

use quillet::settings::Settings;

use crate::args::Sql;
use crate::databases::SQL;
use crate::failure::CliError;

#[allow(clippy::unused_async)] // The same signature as with the feature.
pub(crate) async fn run(_: &Sql, _: &Settings) -> Result<(), CliError> {
    Err(CliError::Missing(SQL))
}

/// The step of `quillet demo` in this build: it shows how to get the feature.
///
/// # Errors
/// Never fails.
#[allow(clippy::unused_async)] // The same signature as with the feature.
pub(crate) async fn tour() -> Result<String, CliError> {
    Ok(format!("Skipped: {SQL}."))
}
