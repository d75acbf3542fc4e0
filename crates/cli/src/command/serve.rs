//! `quillet serve`: the prompt service over HTTP, until a signal says stop.

use std::convert::Infallible;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::Path;
use std::sync::Arc;

use quillet_core::store::{Kind, Store};
use quillet_prompt::PromptService;
use quillet_server::{Rate, Server, ServerConfig, Services};
use quillet_store::MemoryStore;

use crate::agent_file;
use crate::agents;
use crate::args::Serve;
use crate::assemble;
use crate::config::{self, Config};
use crate::databases::Offered;
use crate::failure::Failure;
use crate::scripts;
use crate::terminal;
use crate::traces::Traces;

const NO_MODEL: &str = "none, prompts render and do not chat (set OPENAI_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY or OPENAI_BASE_URL, or pass --model mock)";
const NO_STORE: &str = "no store is set: serving as a gateway to models, with nothing stored beyond this process (--store dir:PATH or --store redis://HOST serves prompts)";

pub(crate) async fn run(args: &Serve, config: &Config) -> Result<(), Failure> {
    let server_config = server_config(config)?;
    let store = store(config).await?;
    let retries = Arc::default();
    let models = assemble::models(config, Arc::clone(&retries))?;
    let model = assemble::asked(config, &models)?;
    let service = assemble::service(config, store.clone(), Some(model), retries)?;
    let service = Arc::new(service);
    if let Err(error) = service.load().await {
        terminal::warning(&format!("{error}; serving what is known until it answers"));
    }
    let traces = Traces::open(config).await?;
    scripts::serve(config, &service, models.clone()).await?;
    let agents =
        agents::service(config, service.clone(), models.clone(), Vec::new(), &traces).await?;
    agents.greet_servers();
    tell_idle_names(config, store.as_ref(), &service).await;
    let databases = Offered::open(config, store, &service, models, args.demo).await?;
    let services = Services {
        agents: Some(agents),
        databases: databases.served(),
        ..Services::from(service.clone())
    };
    let server = Server::bind(server_config, services).await;
    let server = server.map_err(|error| match error {
        quillet_server::ServerError::Bind { .. } => {
            Failure::Other(format!("{error}; pass --listen ADDRESS:PORT"))
        }
        _ => Failure::Usage(error.to_string()),
    })?;
    let stop = stop_signal()?;
    tell(args, config, &service, server.local_addr());
    let watching = async {
        tokio::join!(service.watch(), databases.follow());
        // A store that reports no more changes is served as it is.
        std::future::pending::<Infallible>().await
    };
    let cut = tokio::select! {
        cut = server.run(stop) => cut,
        never = watching => match never {},
    };
    traces.flush().await;
    if cut > 0 {
        terminal::warning(&format!("{cut} connections were cut off"));
    }
    Ok(())
}

/// The configured store; without one the server is a gateway to models, and says so.
async fn store(config: &Config) -> Result<Arc<dyn Store>, Failure> {
    if let Some(store) = assemble::optional_store(config).await? {
        return Ok(store);
    }
    terminal::note(NO_STORE);
    Ok(Arc::new(MemoryStore::new()))
}

/// Says which names in stored agents nothing answers to. That a store is away has been reported
/// already.
async fn tell_idle_names(config: &Config, store: &dyn Store, service: &PromptService) {
    let Ok(agents) = store.load(Kind::Agent).await else {
        return;
    };
    let tools = agent_file::tools(&service.catalogue().snapshot());
    let skills = config.text(&config::AGENT_SKILLS).map(Path::new);
    let skills = skills.map(agent_file::skill_names);
    for entry in &agents {
        for found in agent_file::doubts(entry, &tools, skills.as_deref()) {
            terminal::warning(&found.to_string());
        }
    }
}

fn server_config(config: &Config) -> Result<ServerConfig, Failure> {
    let tokens = config
        .texts(&config::TOKENS)
        .iter()
        .map(|token| token.clone().into());
    Ok(ServerConfig {
        listen: address(config)?,
        prefix: config.text(&config::PREFIX).unwrap_or_default().to_owned(),
        tokens: tokens.collect(),
        open_health: config.is_on(&config::OPEN_HEALTH),
        open_metrics: config.is_on(&config::OPEN_METRICS),
        insecure: config.is_on(&config::INSECURE),
        hosts: config.texts(&config::HOSTS).to_vec(),
        origins: config.texts(&config::ORIGINS).to_vec(),
        inline_templates: config.choice(&config::INLINE_TEMPLATES),
        change_databases: config.choice(&config::CHANGE_DATABASES),
        unready_when_stale: config.is_on(&config::UNREADY_WHEN_STALE),
        access_log: config.is_on(&config::ACCESS_LOG),
        body_bytes: config.size(&config::BODY_BYTES),
        connections: config.size(&config::CONNECTIONS),
        rate: rate(config),
        header_time: config.milliseconds(&config::HEADER_MS),
        body_time: config.milliseconds(&config::BODY_MS),
        idle_time: config.milliseconds(&config::IDLE_MS),
        write_time: config.milliseconds(&config::WRITE_MS),
        chat_time: config.milliseconds(&config::CHAT_MS),
        revision_time: config.milliseconds(&config::REVISION_MS),
        ping_time: config.milliseconds(&config::PING_MS),
        drain_time: config.milliseconds(&config::DRAIN_MS),
    })
}

/// Half a second's worth at once, or one.
fn rate(config: &Config) -> Option<Rate> {
    let per_second = u32::try_from(config.integer(&config::RATE_LIMIT)?).unwrap_or(u32::MAX);
    (per_second > 0).then(|| Rate {
        per_second: per_second.into(),
        burst: per_second.div_ceil(2),
    })
}

/// The address to listen on; names such as localhost are looked up.
fn address(config: &Config) -> Result<SocketAddr, Failure> {
    let text = config.text(&config::LISTEN).unwrap_or_default();
    // A bare port or `:8080` means this machine only.
    let whole = match text.strip_prefix(':').unwrap_or(text).parse::<u16>() {
        Ok(port) => format!("127.0.0.1:{port}"),
        Err(_) => text.to_owned(),
    };
    let found = whole
        .to_socket_addrs()
        .ok()
        .and_then(|mut found| found.next());
    found.ok_or_else(|| {
        let origin = config
            .origin(&config::LISTEN)
            .map_or_else(String::new, |origin| format!(" ({origin})"));
        Failure::Usage(format!(
            "server.listen{origin} must be ADDRESS:PORT, such as 127.0.0.1:8080, not {text:?}"
        ))
    })
}

/// What a person wants to know first, on standard error.
fn tell(args: &Serve, config: &Config, service: &PromptService, address: SocketAddr) {
    let snapshot = service.catalogue().snapshot();
    let prefix = config.text(&config::PREFIX).unwrap_or_default();
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
            "{count} broken prompts; `quillet doctor` says why"
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

/// Ready when the process is asked to end; from now on it is not killed by that.
#[cfg(unix)]
fn stop_signal() -> Result<impl Future<Output = ()>, Failure> {
    use tokio::signal::unix::{SignalKind, signal};
    let catch = |kind| signal(kind).map_err(|error| Failure::Other(format!("no signals: {error}")));
    let mut interrupt = catch(SignalKind::interrupt())?;
    let mut terminate = catch(SignalKind::terminate())?;
    // The terminal is closed: whoever is being answered gets the rest.
    let mut hang_up = catch(SignalKind::hangup())?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hang_up.recv() => {}
        }
    })
}

/// Ready when the process is asked to end.
#[cfg(not(unix))]
fn stop_signal() -> Result<impl Future<Output = ()>, Failure> {
    Ok(async {
        let _ = tokio::signal::ctrl_c().await;
    })
}
