//! What stands where `quillet sql` would, in a build without the feature `sql`.

use quillet::settings::Settings;

use crate::args::Sql;
use crate::databases::SQL;
use crate::failure::CliError;

#[allow(clippy::unused_async)] // As where there are databases.
pub(crate) async fn run(_: &Sql, _: &Settings) -> Result<(), CliError> {
    Err(CliError::Missing(SQL))
}

/// A step of `quillet demo`: how to get this one.
///
/// # Errors
/// None.
#[allow(clippy::unused_async)] // As where there are databases.
pub(crate) async fn tour() -> Result<String, CliError> {
    Ok(format!("Skipped: {SQL}."))
}
