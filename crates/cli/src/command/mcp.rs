//! `quillet mcp`: MCP server for one client on standard input and output.

use std::convert::Infallible;
use std::sync::Arc;

use quillet::components::traces::Traces;
use quillet::components::{self, agents};
use quillet::settings::Settings;
use quillet_host::StoredOffer;
use quillet_host::agent::Principal;
use quillet_tools::serve::{AVAILABLE, stdio};

use crate::databases::ServedDatabases;
use crate::failure::CliError;
use crate::terminal;

pub(crate) async fn run(config: &Settings) -> Result<(), CliError> {
    AVAILABLE.map_err(CliError::Missing)?;
    let store = components::store(config).await?;
    let retries = Arc::default();
    let models = components::models(config, Arc::clone(&retries))?;
    let model = components::configured_model(config, &models)?;
    let service = components::service(config, store.clone(), Some(model), retries)?;
    let service = Arc::new(service);
    // A client starts this command once, so an unavailable store must not end it.
    if let Err(error) = service.load().await {
        terminal::warning(&format!(
            "{error}; serving cached definitions until the store answers"
        ));
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
    let databases = ServedDatabases::open(config, store, &service, models, false).await?;
    let offer =
        StoredOffer::new(service.clone()).with_agents(agents, Principal::from_address("terminal"));
    let offer = Arc::new(offer);
    // This future never completes, because the session ends when the client closes standard input.
    let watching = async {
        tokio::join!(service.watch(), databases.follow());
        std::future::pending::<Infallible>().await
    };
    tokio::select! {
        served = stdio(offer) => {
            served.map_err(|error| CliError::Other(format!("lost the MCP client: {error}")))
        }
        // `Infallible` has no value, so the compiler knows that this branch cannot run.
        never = watching => match never {},
    }
}
