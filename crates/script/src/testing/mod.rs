//! Tests of scripts: `name.fixture.yaml` beside `name.ai.yaml`.
//!
//! [`read`] parses a fixture once and reports all errors in it together. A [`TestHarness`] runs its
//! tests against a [`TestTarget`] (a script or another subject that calls models) and reports the
//! differences. Files, recordings, the judge model and the display of reports are up to the caller.
//!
//! Expectations are data: `variables` fills in templates, `expected_value` and `expect` parse the
//! result, and `compare` applies it to a value. None of these modules depends on how scripts run.

mod answers;
mod compare;
mod describe;
mod expect;
mod expected_value;
mod expression;
mod fixture;
mod judge;
mod observer;
mod pattern;
mod read;
mod replies;
mod report;
mod run;
#[cfg(test)]
mod schema;
mod snapshot;
mod split;
mod target;
#[cfg(test)]
mod tests;
mod variables;

use std::sync::Arc;

use quillet_core::Diagnostic;
use quillet_template::TemplateFactory;
use quillet_yaml::{Options, Tags};

use crate::syntax::ScriptSource;

pub use fixture::{Answers, Fixture, Reply, TestCase, TestFilter};
pub use report::{CaseReport, Mismatch, TestCounts, TestVerdict};
pub use run::TestHarness;
pub use snapshot::Snapshots;
pub use split::{appended, script_names};
pub use target::{ScriptSubject, TestRequest, TestTarget};

/// Parses a fixture file.
///
/// # Errors
/// Returns all errors in it, with locations.
pub async fn read(
    source: Arc<ScriptSource>,
    templates: &TemplateFactory,
) -> Result<Fixture, Vec<Diagnostic>> {
    let options = Options {
        code: "test.fixture",
        tags: Tags::Keep,
        ..Options::default()
    };
    let (front, body) = split::split(&source.text);
    let mut found = Vec::new();
    let mut parse = |part| {
        let (node, wrong) = quillet_yaml::parse(&source.name, &source.text, part, &options);
        found.extend(wrong);
        node
    };
    let front = front.and_then(&mut parse);
    let body = parse(body);
    if !found.is_empty() {
        return Err(found);
    }
    read::fixture(source, front, body.as_ref(), templates).await
}
