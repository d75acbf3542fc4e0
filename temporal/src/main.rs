//! The program `quillet-worker`.

use std::process::ExitCode;

use clap::Parser;
use quillet_worker::args::Cli;
use quillet_worker::failure::CliError;
use quillet_worker::{client, worker};
use tracing_subscriber::EnvFilter;

fn main() -> ExitCode {
    let cli = Cli::parse();
    match run(&cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("error: {failure}");
            ExitCode::from(failure.exit())
        }
    }
}

fn run(cli: &Cli) -> Result<(), CliError> {
    let settings = client::settings(&cli.place)?;
    let default = if cli.command.is_none() {
        "warn,quillet=info"
    } else {
        "off"
    };
    let filter = cli.place.log.as_deref().unwrap_or(default);
    tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::builder().parse_lossy(filter))
        .with_writer(std::io::stderr)
        .init();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let done = match &cli.command {
        Some(command) => runtime.block_on(client::run(command, &cli.place, &settings)),
        None => runtime.block_on(worker::run(&cli.place, &settings, stopped())),
    };
    runtime.shutdown_background();
    done
}

/// Completes when the process receives a signal to stop.
async fn stopped() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let (Ok(mut term), Ok(mut int)) = (
            signal(SignalKind::terminate()),
            signal(SignalKind::interrupt()),
        ) else {
            return std::future::pending().await;
        };
        tokio::select! {
            _ = term.recv() => {}
            _ = int.recv() => {}
        }
    }
    #[cfg(not(unix))]
    let _ = tokio::signal::ctrl_c().await;
}
