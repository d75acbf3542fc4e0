//! `quillet mcp`: the stored prompts and tools for one MCP client, on standard input
//! and output.

use std::convert::Infallible;
use std::sync::Arc;

use quillet::parts::traces::Traces;
use quillet::parts::{self, agents};
use quillet::settings::Settings;
use quillet_host::StoredOffer;
use quillet_host::agent::Who;
use quillet_tools::serve::{AVAILABLE, stdio};

use crate::databases::Offered;
use crate::failure::Failure;
use crate::terminal;

pub(crate) async fn run(config: &Settings) -> Result<(), Failure> {
    AVAILABLE.map_err(Failure::Missing)?;
    let store = parts::store(config).await?;
    let retries = Arc::default();
    let models = parts::models(config, Arc::clone(&retries))?;
    let model = parts::asked(config, &models)?;
    let service = parts::service(config, store.clone(), Some(model), retries)?;
    let service = Arc::new(service);
    if let Err(error) = service.load().await {
        terminal::warning(&format!("{error}; offering what is known until it answers"));
    }
    let traces = Traces::open(config).await?;
    let asked = agents::service(
        config,
        service.clone(),
        models.clone(),
        Vec::new(),
        None,
        &traces,
    );
    let agents = asked.await?;
    let databases = Offered::open(config, store, &service, models, false).await?;
    let offer = StoredOffer::new(service.clone()).with_agents(agents, Who::at("terminal"));
    let offer = Arc::new(offer);
    let watching = async {
        tokio::join!(service.watch(), databases.follow());
        std::future::pending::<Infallible>().await
    };
    tokio::select! {
        served = stdio(offer) => {
            served.map_err(|error| Failure::Other(format!("the MCP client is gone: {error}")))
        }
        never = watching => match never {},
    }
}
