//! `quillet batch`: a file of requests, row by row, on this machine.
//!
//! The queue is a file beside the output, so that the same command goes on where it was killed. The
//! output is written from it when all rows are done, in the order of the input.

mod beside;
mod intake;
mod output;
mod progress;

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use quillet::Host;
use quillet::parts;
use quillet::settings::Settings;
use quillet_core::Exit;
use quillet_core::batch::{Batch as Kept, BatchOptions, Batching, Status};
use quillet_core::store::Store;
use quillet_server::{LocalWork, Services};
use quillet_store::MemoryStore;
use tokio::sync::Notify;

use self::beside::Files;
use self::intake::Intake;
use self::progress::Progress;
use crate::args::Batch;
use crate::failure::Failure;
use crate::terminal;

/// Nobody else works on the queue, so that what a killed process held need not be held for long.
const LEASE: Duration = Duration::from_secs(3);
/// How often it is looked at how far the batch is.
const LOOK: Duration = Duration::from_millis(100);

pub(crate) async fn run(args: &Batch, config: &Settings) -> Result<(), Failure> {
    let files = Files::of(&args.output);
    if args.output.exists() && !files.queue.exists() {
        let out = args.output.display();
        return Err(Failure::Usage(format!(
            "{out} is there already: remove it, or name another file with -o"
        )));
    }
    let intake = Intake::open(&args.file, args.model.as_deref(), args.provider_batch)?;
    let _lock = files.lock()?;
    let address = format!("sqlite:{}", files.queue.display());
    let batching = parts::batches::at(config, &address).await?;
    let batching = Batching {
        options: BatchOptions {
            work: true,
            lease: LEASE,
            ..batching.options
        },
        ..batching
    };
    let host = Host::over(config, store(config).await?, args.demo).await?;
    host.agents().greet_servers();
    let services = Services {
        batches: Some(batching.clone()),
        ..host.services()
    };
    let work = LocalWork::new(services, batching.clone());
    let begun = intake.begin(&work, &batching).await;
    if begun.is_err() && is_new(&work, &batching).await {
        files.forget_queue();
    }
    let id = begun?;
    let done = Notify::new();
    let progress = Progress::new(args.progress);
    let followed = async {
        let followed = follow(&batching, &id, &progress).await;
        done.notify_one();
        followed
    };
    // The store is not followed: all rows get the prompt that there was at the start.
    let working = async { tokio::join!(followed, work.run(done.notified())).0 };
    let batch = tokio::select! {
        batch = working => batch?,
        _ = tokio::signal::ctrl_c() => {
            drop(progress);
            terminal::note("stopped; the same command goes on");
            return Err(Failure::Interrupted);
        }
    };
    drop(progress);
    host.flush().await;
    end(args, &files, &batching, &batch).await
}

/// Whether nothing was begun in a queue, which is then of no use to anybody.
async fn is_new(work: &LocalWork, batching: &Batching) -> bool {
    let (_, owner) = work.new_file();
    let begun = batching.store.batches(owner).await;
    begun.is_ok_and(|begun| begun.is_empty())
}

/// Tells how far a batch is until its end.
async fn follow(batching: &Batching, id: &str, progress: &Progress) -> Result<Kept, Failure> {
    loop {
        let batch = batching.store.batch(id).await?;
        let batch = batch.ok_or_else(|| Failure::Other(format!("the batch {id} is gone")))?;
        progress.tell(&batch);
        if batch.status.is_final() {
            return Ok(batch);
        }
        tokio::time::sleep(LOOK).await;
    }
}

async fn end(
    args: &Batch,
    files: &Files,
    batching: &Batching,
    batch: &Kept,
) -> Result<(), Failure> {
    if batch.status == Status::Failed {
        let file = args.file.display();
        for wrong in &batch.wrong {
            let line = wrong
                .line
                .map_or_else(String::new, |line| format!(":{line}"));
            terminal::error(&format!("{file}{line}: {}", wrong.message));
        }
        files.forget_queue();
        return Err(Failure::Said(Exit::Usage));
    }
    if batch.failed > 0 {
        output::write(batching, &batch.order.errors(), &files.errors).await?;
    } else {
        let _ = fs::remove_file(&files.errors);
    }
    // Last, since it says that all is there.
    output::write(batching, &batch.order.output(), &args.output).await?;
    files.forget_queue();
    let (done, again) = (batch.completed + batch.failed, batch.again);
    let again = match again {
        0 => String::new(),
        again => format!("; {again} may have been asked twice"),
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
    Err(Failure::Said(Exit::Failure))
}

async fn store(config: &Settings) -> Result<Arc<dyn Store>, Failure> {
    let store = parts::optional_store(config).await?;
    Ok(store.unwrap_or_else(|| Arc::new(MemoryStore::new())))
}
