//! `quillet lsp`: a language server for scripts, on standard input and output.
//!
//! Only protocol messages go to standard output. The language features are in
//! [`quillet_script::editor`].

use std::io;
use std::thread;

use quillet::settings::Settings;
use quillet_core::Exit;
use tokio::sync::mpsc;
use tokio::time::sleep_until;

use crate::args::Lsp;
use crate::failure::CliError;
use crate::scripts;
use crate::terminal;

mod answer;
mod documents;
mod server;
mod shape;
mod uri;
mod wire;
mod workspace;

use server::{LspServer, ServerState, TaskResult};
use wire::WireMessage;
use workspace::Workspace;

/// Number of messages to read ahead, so that a cancellation can reach a running request.
const AHEAD: usize = 64;

pub(crate) async fn run(args: &Lsp, config: &Settings) -> Result<(), CliError> {
    let tools = match scripts::tools(config, scripts::McpSources::All, false).await {
        Ok(tools) => tools,
        // Scripts can be edited while the store is unavailable.
        Err(error) => {
            terminal::warning(&format!("cannot load tools: {error}"));
            std::sync::Arc::new(quillet_script::host::NoTools)
        }
    };
    let (done, results) = mpsc::unbounded_channel();
    let workspace = Workspace::new(args.search.clone(), tools);
    let server = LspServer::new(workspace, done);
    converse(server, listen(), results).await
}

/// Reads standard input on a separate thread, which cannot be stopped and ends with the process.
fn listen() -> mpsc::Receiver<WireMessage> {
    let (send, receive) = mpsc::channel(AHEAD);
    thread::spawn(move || {
        let mut input = io::stdin().lock();
        loop {
            let frame = wire::read(&mut input).unwrap_or(WireMessage::End);
            let ends = frame == WireMessage::End;
            if send.blocking_send(frame).is_err() || ends {
                return;
            }
        }
    });
    receive
}

async fn converse(
    mut server: LspServer,
    mut inbox: mpsc::Receiver<WireMessage>,
    mut results: mpsc::UnboundedReceiver<TaskResult>,
) -> Result<(), CliError> {
    loop {
        let due = server.next_due();
        let wait = async {
            match due {
                Some(due) => sleep_until(due).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            frame = inbox.recv() => server.frame(frame.unwrap_or(WireMessage::End)),
            Some(done) = results.recv() => server.done(done),
            () = wait => server.publish_due(),
        }
        let mut output = io::stdout().lock();
        for message in server.out.drain(..) {
            wire::write(&mut output, &message)?;
        }
        match server.state {
            ServerState::Ended { orderly: true } => return Ok(()),
            ServerState::Ended { orderly: false } => {
                terminal::error(
                    "the input ended before a shutdown request; `quillet lsp` is a language server, which an editor starts",
                );
                return Err(CliError::Said(Exit::Failure));
            }
            ServerState::New | ServerState::Ready | ServerState::ShutDown => {}
        }
    }
}
