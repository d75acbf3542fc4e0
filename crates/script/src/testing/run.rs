//! Runs a test and determines its verdict.

use std::sync::Arc;
use std::time::Instant;

use quillet_core::chat::Usage;
use quillet_core::{Map, MapTable, Span, Value};

use super::compare::Compare;
use super::expected_value::text_of;
use super::expression::TestNames;
use super::fixture::{Answers, Expectation, Fixture, RunAspect, TestCase};
use super::judge;
use super::observer::{ObservedRun, RunObserver};
use super::replies::ScriptedModels;
use super::report::{CaseReport, Mismatch, TestVerdict};
use super::snapshot::{self, Snapshots};
use super::target::{TestRequest, TestTarget};
use crate::error::{ErrorKind, ScriptError};
use crate::host::{ModelHandle, ModelSource};
use crate::run::ScriptOutcome;

/// The environment that all tests of a program share.
#[derive(Clone, Debug)]
pub struct TestHarness {
    /// The models, unless the fixture provides answers.
    pub models: Arc<dyn ModelSource>,
    /// The model to use instead of a subject's own.
    pub model: Option<String>,
    /// The model that evaluates `judge:` expectations.
    pub judge: Option<ModelHandle>,
    /// Storage for snapshots.
    pub snapshots: Arc<dyn Snapshots>,
    /// Number of runs per test, all of which must pass.
    pub repeats: u32,
    /// Whether answers are streamed.
    pub stream: bool,
}

/// Result of one run.
struct TestRun {
    verdict: TestVerdict,
    usage: Usage,
    output: Option<Value>,
}

impl TestHarness {
    /// Runs a test against a subject. `models` replaces the models of the harness if the test has
    /// recordings.
    pub async fn run(
        &self,
        fixture: &Fixture,
        case: &TestCase,
        subject: &dyn TestTarget,
        models: Option<Arc<dyn ModelSource>>,
    ) -> CaseReport {
        let begun = Instant::now();
        let mut report = CaseReport::new(case, subject.name());
        report.model.clone_from(&self.model);
        // With zero repeats, a test that never ran would be reported as passed.
        for _ in 0..self.repeats.max(1) {
            let ran = self.once(fixture, case, subject, models.clone()).await;
            report.runs += 1;
            report.usage += ran.usage;
            report.output = ran.output;
            match ran.verdict {
                TestVerdict::Passed => report.passed += 1,
                // The first failure is reported; a later repeat must not hide it.
                other if matches!(report.verdict, TestVerdict::Passed) => report.verdict = other,
                _ => {}
            }
        }
        report.took = begun.elapsed();
        report
    }

    async fn once(
        &self,
        fixture: &Fixture,
        case: &TestCase,
        subject: &dyn TestTarget,
        models: Option<Arc<dyn ModelSource>>,
    ) -> TestRun {
        let witness = Arc::new(RunObserver::default());
        let scripted = match &case.answers {
            Answers::Replies(replies) => Some(ScriptedModels::new(replies.clone())),
            Answers::Model | Answers::Cassette(_) => None,
        };
        // Replies of the test take precedence over recordings, and recordings over real models.
        let models: Arc<dyn ModelSource> = match (&scripted, models) {
            (Some(model), _) => Arc::new(model.clone()),
            (None, Some(models)) => models,
            (None, None) => self.models.clone(),
        };
        let trial = TestRequest {
            input: case.input.clone(),
            parameters: self.parameters(case),
            models,
            stream: self.stream,
            // A fixed default makes all runs of a test the same.
            seed: case.seed.unwrap_or(0),
            observer: witness.clone(),
        };
        let ran = subject.run(trial).await;
        let unused = scripted.as_ref().map_or(0, |model| model.unused());
        // Checked before the error of the run, which is only a consequence of the missing reply.
        if let Some(why) = scripted.and_then(|model| model.missed()) {
            return broken(ScriptError::plain(
                ErrorKind::Model,
                &fixture.source.name,
                why,
            ));
        }
        let found = match ran {
            Err(error) if !case.wants_failure() => return broken(error),
            ran => FinishedRun::new(ran, witness.to_run()),
        };
        let mut verdict = self.decide(fixture, case, subject, &found).await;
        // An expected failure ends the script before it uses all replies.
        if let (Some(span), 1.., None) = (case.own_replies, unused, &found.error) {
            verdict = verdict.and(left_over(unused, span));
        }
        TestRun {
            verdict,
            usage: found.usage,
            output: found.output,
        }
    }

    /// Returns the model parameters of the test, with the model that replaces all others.
    fn parameters(&self, case: &TestCase) -> Map {
        let Some(model) = &self.model else {
            return case.parameters.clone();
        };
        let mut table: MapTable = case.parameters.to_table();
        table.insert("model".into(), model.as_str().into());
        Map::new(table)
    }

    async fn decide(
        &self,
        fixture: &Fixture,
        case: &TestCase,
        subject: &dyn TestTarget,
        found: &FinishedRun,
    ) -> TestVerdict {
        let mut mismatches = Vec::new();
        if let (Some(error), false) = (&found.error, case.wants_failure()) {
            let code = error.as_map().and_then(|map| map.get("code"));
            mismatches.push(Mismatch::new("error", "no failure", code, case.span));
        }
        for expectation in &case.expectations {
            match self.check(fixture, case, subject, found, expectation).await {
                Ok(more) => mismatches.extend(more),
                Err(error) => return TestVerdict::Broken(Box::new(error)),
            }
        }
        if mismatches.is_empty() {
            TestVerdict::Passed
        } else {
            TestVerdict::Failed(mismatches)
        }
    }

    async fn check(
        &self,
        fixture: &Fixture,
        case: &TestCase,
        subject: &dyn TestTarget,
        found: &FinishedRun,
        expectation: &Expectation,
    ) -> Result<Vec<Mismatch>, ScriptError> {
        let names = found.names(case);
        let evaluate = |text: &str, actual: Option<&Value>| names.is_true(text, actual);
        let compare = Compare {
            strict: case.strict,
            evaluate: &evaluate,
        };
        match expectation {
            Expectation::Aspect(aspect, wanted) => {
                let actual = found.aspect(*aspect);
                Ok(compare.check(wanted, actual.as_ref(), aspect.name()))
            }
            Expectation::Schema(schema, span) => {
                let wanted = super::expected_value::ExpectedValue {
                    span: *span,
                    rule: super::expected_value::Rule::Schema(schema.clone()),
                };
                Ok(compare.check(&wanted, found.output.as_ref(), "output"))
            }
            Expectation::Snapshot(name, span) => {
                let file = format!("{}.{name}", stem(subject.name()));
                let text = snapshot::rendered(&found.seen.requests);
                let kept = self.snapshots.compare_or_write(&file, &text);
                let kept = kept.map_err(|why| {
                    ScriptError::plain(ErrorKind::NotFound, &fixture.source.name, why)
                })?;
                Ok(snapshot::differences(kept.as_deref(), &text, *span))
            }
            Expectation::Judged(rubric, span) => {
                let Some(judge) = &self.judge else {
                    let why = "judge: needs a model: set one with --judge MODEL";
                    let found = fixture.source.error("test.judge", why, *span);
                    return Err(ScriptError::new(ErrorKind::Model, found));
                };
                let output = found.output.as_ref().map(text_of).unwrap_or_default();
                let said = judge::ask(judge, rubric, &output).await;
                let said = said.map_err(|why| {
                    let found = fixture.source.error("test.judge", why, *span);
                    ScriptError::new(ErrorKind::Model, found)
                })?;
                Ok(if said.passes {
                    Vec::new()
                } else {
                    vec![Mismatch::new(
                        "output",
                        format!("{rubric} (the judge: {})", said.reason),
                        found.output.as_ref(),
                        *span,
                    )]
                })
            }
        }
    }
}

/// Reports unused replies: the script made fewer requests than the test has answers.
fn left_over(unused: usize, span: Span) -> Mismatch {
    let wanted = match unused {
        1 => "one more request: the last reply was not used".to_owned(),
        more => format!("{more} more requests: the last {more} replies were not used"),
    };
    Mismatch::new("requests", wanted, None, span)
}

fn broken(error: ScriptError) -> TestRun {
    TestRun {
        verdict: TestVerdict::Broken(Box::new(error)),
        usage: Usage::default(),
        output: None,
    }
}

/// A finished run as expectations see it.
struct FinishedRun {
    output: Option<Value>,
    error: Option<Value>,
    messages: Value,
    usage: Usage,
    seen: ObservedRun,
}

impl FinishedRun {
    fn new(ran: Result<ScriptOutcome, ScriptError>, seen: ObservedRun) -> Self {
        match ran {
            Ok(outcome) => FinishedRun {
                output: outcome.value,
                error: None,
                messages: outcome.messages.iter().map(turn).collect::<Vec<_>>().into(),
                usage: outcome.usage,
                seen,
            },
            Err(error) => FinishedRun {
                output: None,
                error: Some(failure(&error)),
                messages: Value::from(Vec::<Value>::new()),
                usage: Usage::default(),
                seen,
            },
        }
    }

    /// Returns the names that `$expr` can use.
    fn names(&self, case: &TestCase) -> TestNames {
        const PARTS: [RunAspect; 6] = [
            RunAspect::Output,
            RunAspect::Messages,
            RunAspect::Requests,
            RunAspect::Tools,
            RunAspect::Tokens,
            RunAspect::Printed,
        ];
        let part = |part: RunAspect| Some((part.name(), self.aspect(part)?));
        TestNames::new(&case.variables, PARTS.into_iter().filter_map(part))
    }

    fn aspect(&self, aspect: RunAspect) -> Option<Value> {
        match aspect {
            RunAspect::Output => self.output.clone(),
            RunAspect::Error => self.error.clone(),
            RunAspect::Messages => Some(self.messages.clone()),
            RunAspect::Requests => {
                let requests = self.seen.requests.iter().cloned().map(Value::Map);
                Some(requests.collect::<Vec<_>>().into())
            }
            RunAspect::Tools => {
                let calls = self
                    .seen
                    .calls
                    .iter()
                    .map(super::observer::ObservedCall::value);
                Some(calls.collect::<Vec<_>>().into())
            }
            RunAspect::Printed => Some(self.seen.printed.join("\n").into()),
            RunAspect::Tokens => Some(tokens(&self.usage)),
        }
    }
}

fn turn(turn: &crate::run::DialogueTurn) -> Value {
    let mut entries = vec![
        ("role", Value::from(turn.role.as_str())),
        ("content", Value::from(turn.content.as_str())),
    ];
    if let Some(name) = &turn.name {
        entries.push(("name", Value::from(name.as_str())));
    }
    Value::Map(entries.into_iter().collect())
}

fn failure(error: &ScriptError) -> Value {
    let mut entries = vec![
        ("code", Value::from(error.kind.code().as_str())),
        ("message", Value::from(error.message())),
    ];
    if let Some(position) = error.diagnostics.first().and_then(|found| found.position) {
        let number = |number: usize| Value::Int(i64::try_from(number).unwrap_or(i64::MAX));
        entries.push(("line", number(position.line)));
        entries.push(("column", number(position.column)));
    }
    Value::Map(entries.into_iter().collect())
}

fn tokens(usage: &Usage) -> Value {
    let number = |number: u64| Value::Int(i64::try_from(number).unwrap_or(i64::MAX));
    let entries = [
        ("input", number(usage.input_tokens)),
        ("output", number(usage.output_tokens)),
        ("total", number(usage.total_tokens())),
    ];
    Value::Map(entries.into_iter().collect::<Map>())
}

/// Returns a script name without folders and extension, or any other name without folders.
fn stem(name: &str) -> &str {
    let file = name.rsplit(['/', '\\']).next().unwrap_or(name);
    let short = file.strip_suffix(".yaml").or(file.strip_suffix(".yml"));
    let file = short.unwrap_or(file);
    file.strip_suffix(".ai").unwrap_or(file)
}
