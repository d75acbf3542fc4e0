//! Hidden command, started by other commands: runs the JavaScript of one script run in a process
//! that can be killed.

use std::io;

use quillet_script::js::{Transport, WorkerProgram, serve_process};

use crate::failure::CliError;

/// Serves until the parent closes the pipes. Needs no settings and no runtime.
pub(crate) fn run() -> Result<(), CliError> {
    // The process exits when the parent closes the pipe, because nothing else can stop running
    // JavaScript.
    serve_process(io::stdin(), io::stdout(), || std::process::exit(0))
        .map_err(|error| CliError::Other(format!("JavaScript: {error}")))
}

/// Returns the transport that runs JavaScript in a child process of this program.
///
/// # Errors
/// The path of this program is unknown.
pub(crate) fn transport() -> io::Result<Transport> {
    Ok(Transport::Process(WorkerProgram {
        path: std::env::current_exe()?,
        arguments: vec!["js-worker".to_owned()],
    }))
}
