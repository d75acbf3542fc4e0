//! The worker of a build without the feature `js`: it has no engine, and says so to every piece.

use std::sync::Arc;

use quillet_core::build::Missing;

use super::error::{JsError, JsErrorKind};
use super::port::{Control, Port, Received};
use super::protocol::{Bounds, FromWorker, ToWorker};

const JAVASCRIPT: Missing = Missing {
    what: "JavaScript",
    feature: "js",
};

/// Serves one run until its port closes or it is asked to stop.
#[expect(
    clippy::needless_pass_by_value,
    reason = "the worker that has an engine keeps both"
)]
pub(crate) fn serve(_: &Bounds, port: Box<dyn Port>, control: Arc<Control>) {
    while let Received::Message(message) = port.receive(None) {
        let ToWorker::Start { piece, .. } = message else {
            continue;
        };
        if control.ends(piece) {
            return;
        }
        let error = JsError::new(JsErrorKind::Missing, JAVASCRIPT.to_string());
        port.send(FromWorker::Done {
            piece,
            result: Err(error),
        });
    }
}
