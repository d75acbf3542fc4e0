//! The demo shop of `--db demo` and `serve --demo`: a temporary database file of this process.

use std::path::PathBuf;

use quillet_sql::{ConnectionDefinition, demo};

use crate::components::new_id;
use crate::error::Error;

/// The demo shop database. Dropping it deletes its file.
#[derive(Debug)]
pub struct DemoShop(PathBuf);

impl DemoShop {
    /// Creates the database in a temporary folder.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn build() -> Result<Self, Error> {
        let folder = std::env::temp_dir().join(format!("quillet-demo-{}", new_id()));
        // Other users share the temporary folder. `create` fails if the path exists, so a folder
        // that another user prepared is never used.
        let mut builder = std::fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        let made = builder.create(&folder);
        made.map_err(|error| Error::other_from(format!("{}: {error}", folder.display()), error))?;
        // Created before the database is built, so that a failure drops the folder too.
        let shop = DemoShop(folder);
        let built = demo::create(&shop.file());
        built.map_err(|error| Error::other_from(error.to_string(), error))?;
        Ok(shop)
    }

    fn file(&self) -> PathBuf {
        self.0.join("shop.db")
    }

    /// Returns the connection to the database.
    pub fn definition(&self) -> ConnectionDefinition {
        ConnectionDefinition {
            url: demo::url(&self.file()),
            description: Some(demo::DESCRIPTION.to_owned()),
            ..ConnectionDefinition::default()
        }
    }
}

impl Drop for DemoShop {
    fn drop(&mut self) {
        // The folder may already have been removed, for example by a cleanup of temporary files.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
