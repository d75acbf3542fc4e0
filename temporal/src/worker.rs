//! The worker: runs workflows and activities from its task queue until it is stopped.

use std::sync::Arc;
use std::time::Duration;

use quillet::Host;
use quillet::settings::{self, Settings};
use temporalio_client::{Client, ClientOptions, Connection, ConnectionOptions, TlsOptions, Url};
use temporalio_sdk::runtime::RuntimeOptions;
use temporalio_sdk::runtime::worker_tuner::{FixedSizeSlotSupplier, TunerHolder};
use temporalio_sdk::{Runtime, Worker, WorkerOptions};

use crate::activities::Agents;
use crate::args::TemporalArgs;
use crate::failure::CliError;
use crate::run::AgentRun;
use crate::step_store::StepStore;

/// How long a workflow task waits for the worker that has the workflow in memory. If that worker
/// has died, other workers get the task only after this time: by default 10 s, the whole delay
/// after a crash.
const STICKY: Duration = Duration::from_millis(1_500);
/// Maximum number of workflows cached in memory between tasks.
const CACHED: usize = 1_000;
/// Maximum number of concurrent workflow tasks; each takes milliseconds.
const WORKFLOW_STEPS: usize = 100;
/// Time for running tool calls and model calls to finish when the worker is stopped.
const LAST_WORDS: Duration = Duration::from_secs(20);
/// Timeout for connecting to Temporal.
const REACH: Duration = Duration::from_secs(10);

/// Runs the workflows of the task queue until `stop` completes.
///
/// # Errors
/// A setting is invalid, or Temporal is unavailable.
pub async fn run(
    place: &TemporalArgs,
    settings: &Settings,
    stop: impl Future<Output = ()>,
) -> Result<(), CliError> {
    let host = Arc::new(Host::open(settings).await?);
    let shelf = open_step_store(&host, settings)?;
    let client = connect(place).await?;
    let agents = host.agents();
    agents.greet_servers();
    let lease = agents.options().lease;
    let options = WorkerOptions::new(&place.queue)
        .register_workflow::<AgentRun>()
        .map_err(|error| refused(place, &error))?
        .register_activities(Agents::new(agents.clone(), shelf))
        .tuner(slot_tuner(agents.options().concurrent))
        .max_cached_workflows(CACHED)
        .sticky_queue_schedule_to_start_timeout(STICKY)
        .max_heartbeat_throttle_interval(lease / 4)
        .graceful_shutdown_period(LAST_WORDS)
        .build();
    let runtime = Runtime::from_current_tokio(RuntimeOptions::default());
    let runtime = runtime.map_err(|error| refused(place, &error))?;
    let mut worker =
        Worker::new(&runtime, client, options).map_err(|error| refused(place, &error))?;
    let shut_down = worker.shutdown_handle();
    let watched = host.clone();
    let watching = tokio::spawn(async move { watched.watch().await });
    eprintln!(
        "quillet-worker {} on the queue {:?} of {} ({})\n  store    {}\n  journal  {}",
        env!("CARGO_PKG_VERSION"),
        place.queue,
        place.temporal,
        place.namespace,
        host.prompts().catalogue().store().describe(),
        agents
            .parts()
            .journal
            .as_ref()
            .map_or_else(String::new, |journal| journal.describe()),
    );
    let stopping = async {
        stop.await;
        shut_down();
        std::future::pending::<()>().await;
    };
    let done = tokio::select! {
        done = worker.run() => done.map_err(|error| refused(place, &error)),
        () = stopping => Ok(()),
    };
    watching.abort();
    agents.finish().await;
    host.flush().await;
    done
}

/// Opens the step store that is set in the settings. Its journal is shared by all workers.
///
/// # Errors
/// The journal is in the memory of this process, so workers cannot share it.
pub fn open_step_store(host: &Host, settings: &Settings) -> Result<StepStore, CliError> {
    let address = settings.text(&settings::AGENT_JOURNAL);
    let address = address.filter(|address| !address.is_empty());
    let address = address.or_else(|| settings.text(&settings::STORE_URL));
    let is_shared = |address: &str| {
        (address.starts_with("sqlite:") && !address.contains(":memory:"))
            || address.starts_with("redis")
    };
    let journal = host.agents().parts().journal.clone();
    match (address, journal) {
        (Some(address), Some(journal)) if is_shared(address) => Ok(StepStore::new(journal)),
        _ => Err(CliError::Usage(
            "events that are too large for Temporal need a persistent journal: set agent.journal \
             to redis://HOST, or to sqlite:FILE for the workers of one machine"
                .to_owned(),
        )),
    }
}

/// Connects to Temporal.
///
/// # Errors
/// The server is unavailable, or the namespace is unknown.
pub async fn connect(place: &TemporalArgs) -> Result<Client, CliError> {
    let address = &place.temporal;
    let url = match address.split_once("://") {
        Some(("http" | "https", _)) => address.clone(),
        Some((scheme, _)) => {
            let what = format!("--temporal: unknown scheme {scheme}://; expected HOST:PORT");
            return Err(CliError::Usage(what));
        }
        None => format!("http://{address}"),
    };
    if url.starts_with("https") && !cfg!(feature = "tls") {
        let what =
            "--temporal: this build of quillet-worker has no TLS; build it with --features tls";
        return Err(CliError::Usage(what.to_owned()));
    }
    let url: Url = url.parse().map_err(|error| {
        CliError::Usage(format!(
            "--temporal: invalid address {address:?}, expected HOST:PORT: {error}"
        ))
    })?;
    let tls = (url.scheme() == "https").then(TlsOptions::default);
    let options = ConnectionOptions::new(url)
        .maybe_tls_options(tls)
        .maybe_api_key(place.api_key.clone())
        .identity(format!("quillet-worker {}", std::process::id()))
        .connect_timeout(REACH)
        .build();
    let connection = Connection::connect(options).await;
    let connection = connection.map_err(|error| refused(place, &error))?;
    let options = ClientOptions::new(&place.namespace).build();
    Client::new(connection, options).map_err(|error| refused(place, &error))
}

/// Allows as many concurrent activities as the settings allow concurrent runs, because each
/// activity belongs to one run.
fn slot_tuner(concurrent: usize) -> TunerHolder {
    TunerHolder::builder()
        .workflow_task_slot_supplier(FixedSizeSlotSupplier::new(WORKFLOW_STEPS))
        .activity_task_slot_supplier(FixedSizeSlotSupplier::new(concurrent.max(1)))
        .local_activity_task_slot_supplier(FixedSizeSlotSupplier::new(1))
        .nexus_task_slot_supplier(FixedSizeSlotSupplier::new(1))
        .build()
}

fn refused(place: &TemporalArgs, error: &dyn std::error::Error) -> CliError {
    CliError::Temporal {
        address: place.temporal.clone(),
        what: error.to_string(),
    }
}
