//! The side that runs JavaScript: one QuickJS, one thread, many pieces of work that wait for each
//! other without blocking. What it needs from outside it asks for through a [`Port`].

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

/// Serves one run until its port closes, or until JavaScript went over a bound of time or memory:
/// then its state cannot be trusted, and the run starts another worker when it needs one.
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

/// Answers the first piece when there is not even memory to begin.
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
