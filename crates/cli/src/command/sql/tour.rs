//! A question to the demo database, as a step of `quillet demo`.

use std::sync::Arc;

use quillet::components::demo_shop::DemoShop;
use quillet_core::chat::Bytes4;
use quillet_sql::{Databases, RunOptions, ServiceParts, SqlConfig, demo};
use quillet_store::{ArchiveOptions, MemoryArchive, MemoryStore};

use super::DEMO;
use super::table::{self, TableStyle};
use crate::databases;
use crate::failure::CliError;
use crate::terminal::Stream;

const QUESTION: &str = "Show the total order amount by status";

/// Returns the question, the query and the rows. No configuration is read and nothing is stored.
///
/// # Errors
/// The demo database cannot be built.
pub(crate) async fn tour() -> Result<String, CliError> {
    let shop = DemoShop::build()?;
    let databases = Databases::new(ServiceParts {
        store: Arc::new(MemoryStore::new()),
        archive: Arc::new(MemoryArchive::new(ArchiveOptions::default())),
        model: Some(Arc::new(demo::RecordedModel)),
        embedder: None,
        tokens: Arc::new(Bytes4),
        prompts: databases::built_in_prompts()?,
        config: SqlConfig::default(),
    });
    let failed = |error: quillet_sql::SqlError| CliError::Other(error.to_string());
    databases
        .add_temporary(DEMO, &shop.definition())
        .map_err(failed)?;
    let options = RunOptions::default();
    let asked = databases.ask(DEMO, QUESTION, &options);
    let (generated, ran) = asked.await.map_err(failed)?;
    let look = TableStyle {
        width: None,
        colour: Stream::Out.has_colour(),
        expanded: false,
    };
    let rows = table::shown(&ran.rows, look);
    Ok(format!(
        "{QUESTION}\n\n{}\n\n{rows}",
        generated.generated_sql
    ))
}
