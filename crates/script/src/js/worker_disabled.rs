//! The worker of a build without the feature `js`. It answers every job with an error.

use std::sync::Arc;

use quillet_core::build::FeatureDisabled;

use super::error::{JsError, JsErrorKind};
use super::port::{Control, Port, ReceiveResult};
use super::protocol::{FromWorker, ToWorker, WorkerLimits};

const JAVASCRIPT: FeatureDisabled = FeatureDisabled {
    what: "JavaScript",
    feature: "js",
};

/// Serves one run until its port closes or it is asked to stop.
#[expect(
    clippy::needless_pass_by_value,
    reason = "the worker that has an engine keeps both"
)]
pub(crate) fn serve(_: &WorkerLimits, port: Box<dyn Port>, control: Arc<Control>) {
    while let ReceiveResult::Message(message) = port.receive(None) {
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
