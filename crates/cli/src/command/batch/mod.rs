//! `quillet batch`: runs a file of requests on this machine.
//!
//! The queue is a file next to the output, so the same command resumes after a crash. When all rows
//! are done, the output is written from it in input order.

mod input;
mod output;
mod output_files;
mod progress;

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use quillet::Host;
use quillet::components;
use quillet::settings::Settings;
use quillet_core::Exit;
use quillet_core::batch::{Batch as Kept, BatchOptions, BatchService, Status};
use quillet_core::store::Store;
use quillet_server::{LocalWork, Services};
use quillet_store::MemoryStore;
use tokio::sync::Notify;

use self::input::InputReader;
use self::output_files::OutputFiles;
use self::progress::BatchProgress;
use crate::args::BatchArgs;
use crate::failure::CliError;
use crate::terminal;

/// Lease of rows. It can be short: the lock excludes other processes, so only a killed process
/// leaves leases behind.
const LEASE: Duration = Duration::from_secs(3);
/// Interval of progress checks.
const LOOK: Duration = Duration::from_millis(100);

pub(crate) async fn run(args: &BatchArgs, config: &Settings) -> Result<(), CliError> {
    let files = OutputFiles::of(&args.output);
    // If the queue still exists, this batch was interrupted while it wrote the output, so replacing
    // the output is safe.
    if args.output.exists() && !files.queue.exists() {
        let out = args.output.display();
        return Err(CliError::Usage(format!(
            "{out} already exists: remove it, or choose another file with -o"
        )));
    }
    let intake = InputReader::open(&args.file, args.model.as_deref(), args.provider_batch)?;
    // The lock is held until the end, because two processes with one queue would write the same
    // output.
    let _lock = files.lock()?;
    let address = format!("sqlite:{}", files.queue.display());
    let batching = components::batches::open_at(config, &address).await?;
    let batching = BatchService {
        options: BatchOptions {
            work: true,
            lease: LEASE,
            ..batching.options
        },
        ..batching
    };
    let host = Host::with_store(config, store(config).await?, args.demo).await?;
    host.agents().greet_servers();
    let services = Services {
        batches: Some(batching.clone()),
        ..host.services()
    };
    let work = LocalWork::new(services, batching.clone());
    // An invalid file must not leave a queue that blocks the next attempt.
    let begun = intake.begin(&work, &batching).await;
    if begun.is_err() && is_new(&work, &batching).await {
        files.forget_queue();
    }
    let id = begun?;
    let done = Notify::new();
    let progress = BatchProgress::new(args.progress);
    let followed = async {
        // The workers are notified even after a store error; otherwise they would not stop and
        // `join!` would never end.
        let followed = follow(&batching, &id, &progress).await;
        done.notify_one();
        followed
    };
    // Store changes are not watched, so all rows use the prompt as it was at the start.
    let working = async { tokio::join!(followed, work.run(done.notified())).0 };
    let batch = tokio::select! {
        batch = working => batch?,
        _ = tokio::signal::ctrl_c() => {
            drop(progress);
            terminal::note("stopped; run the same command to resume");
            return Err(CliError::Interrupted);
        }
    };
    drop(progress);
    host.flush().await;
    end(args, &files, &batching, &batch).await
}

/// Returns whether the queue has no batch, so that it can be deleted.
async fn is_new(work: &LocalWork, batching: &BatchService) -> bool {
    let (_, owner) = work.new_file();
    let begun = batching.store.batches(owner).await;
    begun.is_ok_and(|begun| begun.is_empty())
}

/// Reports the progress of a batch until it ends.
async fn follow(
    batching: &BatchService,
    id: &str,
    progress: &BatchProgress,
) -> Result<Kept, CliError> {
    loop {
        let batch = batching.store.batch(id).await?;
        let batch = batch.ok_or_else(|| CliError::Other(format!("batch {id} no longer exists")))?;
        progress.report(&batch);
        if batch.status.is_final() {
            return Ok(batch);
        }
        tokio::time::sleep(LOOK).await;
    }
}

async fn end(
    args: &BatchArgs,
    files: &OutputFiles,
    batching: &BatchService,
    batch: &Kept,
) -> Result<(), CliError> {
    if batch.status == Status::Failed {
        let file = args.file.display();
        for wrong in &batch.wrong {
            let line = wrong
                .line
                .map_or_else(String::new, |line| format!(":{line}"));
            terminal::error(&format!("{file}{line}: {}", wrong.message));
        }
        files.forget_queue();
        return Err(CliError::Said(Exit::Usage));
    }
    if batch.failed > 0 {
        output::write(batching, &batch.order.errors(), &files.errors).await?;
    } else {
        // An error file of an earlier run would look like errors of this one. The file may not
        // exist.
        let _ = fs::remove_file(&files.errors);
    }
    // Written last: the existence of the output means that the batch is complete.
    output::write(batching, &batch.order.output(), &args.output).await?;
    files.forget_queue();
    let (done, again) = (batch.completed + batch.failed, batch.again);
    let again = match again {
        0 => String::new(),
        again => format!("; {again} may have been sent twice"),
    };
    if batch.failed == 0 {
        let rows = if done == 1 { "row" } else { "rows" };
        terminal::note(&format!("{done} {rows}{again}"));
        return Ok(());
    }
    let errors = files.errors.display();
    terminal::error(&format!(
        "{} of {done} rows failed, see {errors}{again}",
        batch.failed
    ));
    Err(CliError::Said(Exit::Failure))
}

async fn store(config: &Settings) -> Result<Arc<dyn Store>, CliError> {
    let store = components::optional_store(config).await?;
    Ok(store.unwrap_or_else(|| Arc::new(MemoryStore::new())))
}
