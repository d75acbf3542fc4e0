//! Tests of scripts: `name.fixture.yaml` beside `name.ai.yaml`.
//!
//! A fixture is read once, with everything that is wrong in it reported at once ([`read`]). A
//! [`TestHarness`] runs its tests of a [`TestTarget`] (a script, or what else asks models) and says in which
//! places a run was not as wanted. Files, recordings, the judge's model, and what people see of a
//! report are the caller's.
//!
//! Expectations are data: `variables` fills templates in, `wanted` and `expect` read what is
//! left, `compare` holds a value against it. None of them knows how a script runs.

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

/// Reads a fixture file.
///
/// # Errors
/// Everything that is wrong with it, with places.
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
