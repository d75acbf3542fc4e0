//! `quillet serve`: the HTTP server, until a signal stops it.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use quillet::Host;
use quillet::components::{self, serving};
use quillet::settings::{self, Settings};
use quillet_agent::KnownNames;
use quillet_core::store::{EntryKind, Store};
use quillet_prompt::PromptService;
use quillet_server::{HttpServer, Services};
use quillet_store::MemoryStore;

use crate::agent_file;
use crate::args::Serve;
use crate::failure::CliError;
use crate::terminal;

const NO_MODEL: &str = "none, so prompts can only be rendered (set OPENAI_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY or OPENAI_BASE_URL, or pass --model mock)";
const NO_STORE: &str = "no store is set: serving as a model gateway without persistent data (use --store dir:PATH or --store redis://HOST to serve prompts)";

pub(crate) async fn run(args: &Serve, config: &Settings) -> Result<(), CliError> {
    let server_config = serving::server_config(config)?;
    let store = store(config).await?;
    let host = Host::with_store(config, store.clone(), args.demo).await?;
    // Connects to MCP servers in the background, so a slow server does not delay the start.
    host.agents().greet_servers();
    warn_unknown_names(config, store.as_ref(), host.prompts()).await;
    let services = Services {
        batches: Some(components::batches::open(config).await?),
        ..host.services()
    };
    let server = HttpServer::bind(server_config, services).await;
    let server = server.map_err(|error| match error {
        quillet_server::ServerError::Bind { .. } => {
            CliError::Other(format!("{error}; pass --listen ADDRESS:PORT"))
        }
        _ => CliError::Usage(error.to_string()),
    })?;
    // Installed after binding and before serving: until then a signal simply kills the process.
    let stop = stop_signal()?;
    print_banner(args, config, host.prompts(), server.local_addr());
    let watching = async {
        host.watch().await;
        // If the store stops reporting changes, the server continues with the current definitions.
        std::future::pending::<Infallible>().await
    };
    let cut = tokio::select! {
        cut = server.run(stop) => cut,
        never = watching => match never {},
    };
    // Called after the last response, because responses write traces.
    host.flush().await;
    if cut > 0 {
        terminal::warning(&format!(
            "closed {cut} connections before their responses ended"
        ));
    }
    Ok(())
}

/// Opens the configured store; without one, the server is only a model gateway.
async fn store(config: &Settings) -> Result<Arc<dyn Store>, CliError> {
    if let Some(store) = components::optional_store(config).await? {
        return Ok(store);
    }
    terminal::note(NO_STORE);
    Ok(Arc::new(MemoryStore::new()))
}

/// Warns about unknown names in stored agents. An unavailable store was already reported.
async fn warn_unknown_names(config: &Settings, store: &dyn Store, service: &PromptService) {
    let Ok(agents) = store.load(EntryKind::Agent).await else {
        return;
    };
    let tools = agent_file::tools(&service.catalogue().snapshot());
    let skills = config.text(&settings::AGENT_SKILLS).map(Path::new);
    let skills = skills.map(agent_file::skill_names);
    let known = KnownNames {
        tools: &tools,
        skills: skills.as_deref(),
        has_more: agent_file::has_servers(config),
    };
    for entry in &agents {
        for found in agent_file::unknown_names(entry, known) {
            terminal::warning(&found.to_string());
        }
    }
}

/// Prints addresses, store and model on standard error.
fn print_banner(args: &Serve, config: &Settings, service: &PromptService, address: SocketAddr) {
    let snapshot = service.catalogue().snapshot();
    let prefix = config.text(&settings::PREFIX).unwrap_or_default();
    let base = format!("http://{address}{prefix}");
    let store = service.catalogue().store().describe();
    let (prompts, tools) = (snapshot.prompts.len(), snapshot.tools.len());
    let model = service
        .model()
        .filter(|model| model.is_configured())
        .map_or_else(|| NO_MODEL.to_owned(), |model| model.describe());
    terminal::note(&format!(
        "quillet {} at {base}\n  store  {store}: {prompts} prompts, {tools} tools\n  model  {model}\n  docs   {base}/docs",
        env!("CARGO_PKG_VERSION")
    ));
    let broken = snapshot
        .prompts
        .values()
        .filter(|prompt| prompt.status() == "invalid");
    match broken.count() {
        0 => {}
        count => terminal::warning(&format!(
            "{count} invalid prompts; run `quillet doctor` for details"
        )),
    }
    if args.demo {
        let body = r#"{"variables": {"name": "Ada"}}"#;
        terminal::note(&format!(
            "  try    curl -d '{body}' {base}/api/render/prompts/hello"
        ));
        let body =
            r#"{"input": {"text": "Say hello"}, "tools": {"builtin": {"prompt/hello": {}}}}"#;
        terminal::note(&format!("  or     curl -N -d '{body}' {base}/v1/response"));
    }
}

/// Installs the signal handlers and returns a future that completes on the first signal.
#[cfg(unix)]
fn stop_signal() -> Result<impl Future<Output = ()>, CliError> {
    use tokio::signal::unix::{SignalKind, signal};
    let catch = |kind| {
        signal(kind).map_err(|error| CliError::Other(format!("cannot handle signals: {error}")))
    };
    let mut interrupt = catch(SignalKind::interrupt())?;
    let mut terminate = catch(SignalKind::terminate())?;
    // The terminal was closed, but running responses are still completed.
    let mut hang_up = catch(SignalKind::hangup())?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hang_up.recv() => {}
        }
    })
}

/// Returns a future that completes on Control-C.
#[cfg(not(unix))]
fn stop_signal() -> Result<impl Future<Output = ()>, CliError> {
    Ok(async {
        let _ = tokio::signal::ctrl_c().await;
    })
}
