//! The hidden command that others start: JavaScript of one script's run, in a process that can be
//! killed.

use std::io;

use quillet_script::js::{Transport, WorkerProgram, serve_process};

use crate::failure::CliError;

/// Serves until the run that started it closes the pipes. It needs neither settings nor a runtime.
pub(crate) fn run() -> Result<(), CliError> {
    serve_process(io::stdin(), io::stdout(), || std::process::exit(0))
        .map_err(|error| CliError::Other(format!("JavaScript: {error}")))
}

/// JavaScript in this very program, started again.
///
/// # Errors
/// That the system does not say which file this program is.
pub(crate) fn transport() -> io::Result<Transport> {
    Ok(Transport::Process(WorkerProgram {
        path: std::env::current_exe()?,
        arguments: vec!["js-worker".to_owned()],
    }))
}
