//! Runs JavaScript in one QuickJS engine on one thread. Jobs can wait without blocking each other.
//! All external access goes through a [`Port`].

mod commonjs;
mod convert;
mod engine;
mod failure;
mod host_functions;
mod loader;
mod shell;

use std::sync::Arc;

use super::error::{JsError, JsErrorKind};
use super::port::{Control, Port, ReceiveResult};
use super::protocol::{FromWorker, ToWorker, WorkerLimits};
use engine::JsEngine;

/// Serves one run until its port closes or JavaScript exceeds its time or memory limit. The state
/// cannot be trusted after that, so the run then starts another worker when needed.
pub(crate) fn serve(bounds: &WorkerLimits, port: Box<dyn Port>, control: Arc<Control>) {
    let engine = match JsEngine::new(bounds, port, control) {
        Ok(engine) => engine,
        Err(port) => return refuse(&*port),
    };
    loop {
        let message = match engine.shell.next() {
            ReceiveResult::Message(message) => message,
            ReceiveResult::TimedOut => {
                engine.fire();
                if engine.is_broken() {
                    return;
                }
                continue;
            }
            ReceiveResult::Closed => return,
        };
        engine.handle(message);
        if engine.is_broken() {
            return;
        }
    }
}

/// Answers the first job with an error if there is not enough memory to start.
fn refuse(port: &dyn Port) {
    while let ReceiveResult::Message(message) = port.receive(None) {
        if let ToWorker::Start { piece, .. } = message {
            let error = JsError::new(
                JsErrorKind::Memory,
                "cannot start JavaScript within its memory limit (js_memory)",
            );
            return port.send(FromWorker::Done {
                piece,
                result: Err(error),
            });
        }
    }
}
