//! A question to the shop, as a step of `quillet demo`.

use std::sync::Arc;

use quillet::parts::demo_shop::DemoShop;
use quillet_core::chat::Bytes4;
use quillet_sql::{Databases, Parts, RunOptions, SqlConfig, demo};
use quillet_store::{ArchiveOptions, MemoryArchive, MemoryStore};

use super::DEMO;
use super::table::{self, Look};
use crate::databases;
use crate::failure::Failure;
use crate::terminal::Stream;

const QUESTION: &str = "Show the total order amount by status";

/// The question, the query and the rows. No configuration is read, and nothing is stored.
///
/// # Errors
/// The shop cannot be built.
pub(crate) async fn tour() -> Result<String, Failure> {
    let shop = DemoShop::build()?;
    let databases = Databases::new(Parts {
        store: Arc::new(MemoryStore::new()),
        archive: Arc::new(MemoryArchive::new(ArchiveOptions::default())),
        model: Some(Arc::new(demo::WordMatcher)),
        embedder: None,
        tokens: Arc::new(Bytes4),
        prompts: databases::built_in()?,
        config: SqlConfig::default(),
    });
    let failed = |error: quillet_sql::SqlError| Failure::Other(error.to_string());
    databases.lend(DEMO, &shop.definition()).map_err(failed)?;
    let options = RunOptions::default();
    let asked = databases.ask(DEMO, QUESTION, &options);
    let (generated, ran) = asked.await.map_err(failed)?;
    let look = Look {
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
