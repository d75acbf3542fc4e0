//! `quillet mcp`: the stored prompts and tools for one MCP client, on standard input
//! and output.

use std::convert::Infallible;
use std::sync::Arc;

use quillet_server::StoredOffer;
use quillet_server::sql::DatabaseTools;

use crate::assemble;
use crate::config::Config;
use crate::databases;
use crate::failure::Failure;
use crate::terminal;

pub(crate) async fn run(config: &Config) -> Result<(), Failure> {
    let store = assemble::store(config).await?;
    let retries = Arc::default();
    let models = assemble::models(config, Arc::clone(&retries))?;
    let model = assemble::asked(config, &models)?;
    let service = assemble::service(config, store.clone(), Some(model), retries)?;
    let service = Arc::new(service);
    if let Err(error) = service.load().await {
        terminal::warning(&format!("{error}; offering what is known until it answers"));
    }
    let databases = databases::asked(config, store, &service, models).await?;
    let tools = DatabaseTools::new(databases, service.clone());
    let offer = Arc::new(StoredOffer::new(service.clone()));
    let watching = async {
        tokio::join!(service.watch(), tools.follow());
        std::future::pending::<Infallible>().await
    };
    tokio::select! {
        served = quillet_tools::serve::stdio(offer) => {
            served.map_err(|error| Failure::Other(format!("the MCP client is gone: {error}")))
        }
        never = watching => match never {},
    }
}
