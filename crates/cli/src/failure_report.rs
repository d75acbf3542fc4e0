//! Prints why a command failed.

use clap::CommandFactory;
use quillet_core::Exit;

use crate::args::Cli;
use crate::failure::CliError;
use crate::report::{self, LocatedDiagnostic};
use crate::terminal::{self, Stream};

/// Prints a failure on standard error, with a hint at the help text after a usage error.
pub(crate) fn print_failure(failure: &CliError) {
    match failure {
        CliError::ClosedPipe | CliError::Interrupted | CliError::Said(_) => {}
        CliError::Findings(found) => show_all(found),
        CliError::Config(error) => show_all(&error.findings()),
        other => terminal::error(&other.to_string()),
    }
    // These errors already explain the fix or were already printed.
    let is_explained = matches!(
        failure,
        CliError::Said(_) | CliError::Missing(_) | CliError::Service(_)
    );
    if failure.exit() == Exit::Usage && !is_explained {
        let command = command_name().map_or_else(String::new, |name| format!(" {name}"));
        terminal::note(&format!("see `quillet{command} --help`"));
    }
}

fn show_all(found: &[LocatedDiagnostic]) {
    let colour = Stream::Err.has_colour();
    let shown: Vec<String> = found
        .iter()
        .map(|finding| report::show(finding, colour))
        .collect();
    terminal::note(shown.join("\n").trim_end());
}

/// Returns the name of the command on the command line.
fn command_name() -> Option<String> {
    let cli = Cli::command();
    let words = std::env::args_os().skip(1);
    let mut words = words.map(|word| word.to_string_lossy().into_owned());
    // Options may precede the command, so the first known name is used.
    words.find(|word| cli.find_subcommand(word).is_some())
}
