//! Results of the tests of one fixture.

use quillet_script::ScriptError;
use quillet_script::testing::{CaseReport, Fixture};

/// Results of the tests of one fixture.
pub(super) struct FixtureReport {
    /// Path of the fixture file.
    pub(super) path: String,
    pub(super) fixture: Option<Fixture>,
    pub(super) reports: Vec<CaseReport>,
    /// Errors in the fixture, or in a script or prompt that it tests.
    pub(super) broken: Vec<ScriptError>,
}
