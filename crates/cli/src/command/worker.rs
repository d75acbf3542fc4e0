//! `quillet worker`: starts `quillet-worker`. The Temporal client is as large as the rest of
//! Quillet, so it is a separate program.

use std::env;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use quillet_core::Exit;

use crate::args::Cli;
use crate::failure::CliError;

/// Name of the program, without the suffix of the system.
const PROGRAM: &str = "quillet-worker";

pub(crate) fn run(cli: &Cli, arguments: &[OsString]) -> Result<(), CliError> {
    let program = find().ok_or_else(missing)?;
    let mut command = Command::new(&program);
    if let Some(config) = &cli.config {
        command.arg("--config").arg(config);
    }
    if let Some(log) = &cli.log {
        command.arg("--log").arg(log);
    }
    command.args(arguments);
    // The arguments are passed on unparsed: the two programs can have different versions.
    let done = exec_worker(&mut command);
    done.map_err(|error| CliError::Other(format!("{}: {error}", program.display())))
        .and_then(|code| match code {
            0 => Ok(()),
            // The worker has already printed its error, so only the exit code is passed on.
            2 => Err(CliError::Said(Exit::Usage)),
            _ => Err(CliError::Said(Exit::Failure)),
        })
}

/// Replaces this process, so that signals reach the worker.
#[cfg(unix)]
fn exec_worker(command: &mut Command) -> io::Result<i32> {
    use std::os::unix::process::CommandExt;
    // `exec` returns only if it fails.
    Err(command.exec())
}

#[cfg(not(unix))]
fn become_it(command: &mut Command) -> io::Result<i32> {
    Ok(command.status()?.code().unwrap_or(1))
}

/// Finds the program in the folder of this one, or in PATH.
fn find() -> Option<PathBuf> {
    let name = format!("{PROGRAM}{}", env::consts::EXE_SUFFIX);
    let beside = env::current_exe().ok();
    let beside = beside.as_deref().and_then(Path::parent).map(Path::to_owned);
    let path = env::var_os("PATH").unwrap_or_default();
    // This program's folder is searched first, so that a worker of the same version is preferred.
    let folders = beside.into_iter().chain(env::split_paths(&path));
    folders
        .map(|folder| folder.join(&name))
        .find(|program| program.is_file())
}

fn missing() -> CliError {
    CliError::Usage(format!(
        "cannot find {PROGRAM} in the folder of this program or in PATH: install it from the release, or \
         build it with `cargo build --release --manifest-path temporal/Cargo.toml` and copy \
         temporal/target/release/{PROGRAM} there"
    ))
}
