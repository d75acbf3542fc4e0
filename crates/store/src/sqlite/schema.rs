//! Schema versions of the tables in a file, one for each module.

use quillet_core::store::StoreError;
use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};

use super::error;

/// Tables of one module.
#[derive(Debug)]
pub(crate) struct SchemaModule {
    /// Name of the module, such as `sessions`.
    pub(crate) name: &'static str,
    /// Migrations from each version to the next. Append only.
    pub(crate) steps: &'static [&'static str],
}

impl SchemaModule {
    /// Creates the tables or migrates them to the newest version.
    pub(crate) fn prepare(&self, path: &str, file: &mut Connection) -> Result<(), StoreError> {
        let found = self
            .migrate(file)
            .map_err(|error| error::of(path, &error))?;
        if found > self.steps.len() {
            Err(error::newer(path, self.name, found, self.steps.len()))
        } else {
            Ok(())
        }
    }

    /// Migrates the tables and returns the version found before.
    fn migrate(&self, file: &mut Connection) -> rusqlite::Result<usize> {
        let change = file.transaction_with_behavior(TransactionBehavior::Immediate)?;
        change.execute_batch(
            "CREATE TABLE IF NOT EXISTS quillet_parts (
                name TEXT PRIMARY KEY, version INTEGER NOT NULL) STRICT",
        )?;
        let version = "SELECT version FROM quillet_parts WHERE name = ?1";
        let found = change.query_row(version, [self.name], |row| row.get(0));
        let found: usize = found.optional()?.unwrap_or_default();
        for step in self.steps.iter().skip(found) {
            change.execute_batch(step)?;
        }
        if found < self.steps.len() {
            change.execute(
                "INSERT OR REPLACE INTO quillet_parts VALUES (?1, ?2)",
                params![self.name, self.steps.len()],
            )?;
        }
        change.commit()?;
        Ok(found)
    }
}
