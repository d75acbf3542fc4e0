//! `quillet test`: runs the fixtures beside scripts and prompts.

mod cassette;
mod files;
mod fixture_report;
mod json;
mod junit;
mod models;
mod prompt;
mod show;
mod snapshots;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use files::FixtureFile;
use fixture_report::FixtureReport;
use prompt::Prompt;
use quillet::settings::Settings;
use quillet_core::Exit;
use quillet_script::host;
use quillet_script::library;
use quillet_script::testing::{
    self, Answers, CaseReport, Fixture, ScriptSubject, TestCase, TestCounts, TestFilter,
    TestHarness, TestTarget,
};
use quillet_script::{ErrorKind, ScriptError};
use quillet_template::TemplateFactory;
use snapshots::SnapshotFolder;

use crate::args::Test;
use crate::failure::CliError;
use crate::prompt_target;
use crate::scripts;
use crate::terminal;

pub(crate) async fn run(args: &Test, config: &Settings) -> Result<(), CliError> {
    let found = files::find(&args.paths)?;
    let models = Arc::new(scripts::models(config)?);
    let mut all = Vec::new();
    for fixture in &found {
        let tested = test(args, config, fixture, models.clone()).await?;
        if !args.json {
            show::fixture(&tested, args.with.models().len() > 1)?;
        }
        all.push(tested);
    }
    finish(args, &all, models.as_ref())
}

fn finish(
    args: &Test,
    all: &[FixtureReport],
    models: &dyn host::ModelSource,
) -> Result<(), CliError> {
    if let Some(path) = &args.junit {
        let written = std::fs::write(path, junit::xml(all));
        let wrong = |error| CliError::Other(format!("--junit {}: {error}", path.display()));
        written.map_err(wrong)?;
    }
    let counts = TestCounts::of(all.iter().flat_map(|tested| &tested.reports));
    let broken: usize = all.iter().map(|tested| tested.broken.len()).sum();
    if args.json {
        terminal::line(&json::report(all, &counts))?
    } else {
        if args.with.models().len() > 1 {
            models::table(all, models)?;
        }
        show::summary(&counts, broken)?;
    }
    // If the filters match no test, for example because of a typo, CI must fail.
    if counts.passed + counts.failed + counts.broken + broken == 0 {
        return Err(CliError::Usage(
            "no tests were run: -i, -x and -t exclude all of them, or all are skipped".into(),
        ));
    }
    match (counts.failed, counts.broken + broken) {
        (0, 0) => Ok(()),
        (0, _) => Err(CliError::Said(Exit::Template)),
        _ => Err(CliError::Said(Exit::Failure)),
    }
}

/// Runs the tests of one fixture with each of its scripts.
async fn test(
    args: &Test,
    config: &Settings,
    found: &FixtureFile,
    models: Arc<quillet_host::script::ScriptModels>,
) -> Result<FixtureReport, CliError> {
    let mut tested = FixtureReport {
        path: found.path.clone(),
        fixture: None,
        reports: Vec::new(),
        broken: Vec::new(),
    };
    let source = files::source(&found.path)?;
    let fixture = match testing::read(source, &TemplateFactory::standard()).await {
        Ok(fixture) => fixture,
        Err(diagnostics) => {
            let why = ScriptError::plain(ErrorKind::Script, &found.path, "");
            tested.broken.push(ScriptError { diagnostics, ..why });
            return Ok(tested);
        }
    };
    let mut running = FixtureRun {
        args,
        config,
        found,
        models,
        fixture: &fixture,
        generated: Vec::new(),
    };
    let names = running.names(&mut tested.broken);
    let opened = running.open(names, &mut tested.broken).await?;
    let has_only = opened.iter().any(|opened| opened.wish.only);
    for TestSubject {
        name,
        subject,
        wish,
    } in opened
    {
        let is_left_out = wish.skip || (has_only && !wish.only);
        running
            .subject(&name, subject.as_ref(), is_left_out, &mut tested)
            .await?;
    }
    // Called after all tests, because the new text depends on the outputs of all of them.
    running.write_generated()?;
    tested.fixture = Some(fixture);
    Ok(tested)
}

/// A running fixture.
struct FixtureRun<'a> {
    args: &'a Test,
    config: &'a Settings,
    found: &'a FixtureFile,
    models: Arc<quillet_host::script::ScriptModels>,
    fixture: &'a Fixture,
    /// Outputs to write to the fixture, by test number.
    generated: Vec<(usize, quillet_core::Value)>,
}

/// A script or prompt under test.
struct TestSubject<'a> {
    /// Its name in the fixture.
    name: String,
    subject: Box<dyn TestTarget + 'a>,
    wish: TestFilter,
}

impl<'a> FixtureRun<'a> {
    /// Returns the files under test: those that the fixture names, or else those beside it.
    fn names(&self, broken: &mut Vec<ScriptError>) -> Vec<String> {
        let mut names: Vec<String> = if self.fixture.scripts.is_empty() {
            self.found.subjects.clone()
        } else {
            self.fixture
                .scripts
                .iter()
                .map(|name| self.found.resolve_name(name))
                .collect()
        };
        let own = self
            .fixture
            .cases
            .iter()
            .filter_map(|case| case.script.as_deref());
        for name in own.map(|name| self.found.resolve_name(name)) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        if names.is_empty() {
            let why = "no script or prompt in this folder has its name, and the fixture does \
                       not set script:";
            broken.push(ScriptError::plain(
                ErrorKind::NotFound,
                &self.found.path,
                why,
            ));
        }
        names
    }

    /// Opens the scripts and prompts with these names, as far as they are readable.
    async fn open(
        &self,
        names: Vec<String>,
        broken: &mut Vec<ScriptError>,
    ) -> Result<Vec<TestSubject<'a>>, CliError> {
        let mut search = vec![self.found.folder.clone()];
        search.extend(scripts::search(&self.args.with)?);
        let mut all = Vec::new();
        for name in names {
            match self.one(&name, &search).await? {
                Ok((subject, wish)) => all.push(TestSubject {
                    name,
                    subject,
                    wish,
                }),
                Err(error) => broken.push(error),
            }
        }
        Ok(all)
    }

    /// Opens a script or a prompt by its file or id.
    async fn one(
        &self,
        name: &str,
        search: &[PathBuf],
    ) -> Result<Result<(Box<dyn TestTarget + 'a>, TestFilter), ScriptError>, CliError> {
        let is_file = Path::new(name).is_file() && prompt_target::is_prompt(name)?;
        let opened = if is_file {
            None
        } else {
            match library::open(name, search).await {
                Ok(opened) => Some(opened),
                Err(error) if error.kind != ErrorKind::NotFound => return Ok(Err(error)),
                Err(error) => {
                    if prompt_target::is_stored(name, self.config).await? {
                        None
                    } else {
                        return Ok(Err(error));
                    }
                }
            }
        };
        let Some(opened) = opened else {
            let prompt = Prompt {
                name: name.to_owned(),
                config: self.config,
            };
            return Ok(Ok((Box::new(prompt), TestFilter::default())));
        };
        let wish = TestFilter::of(&opened.script);
        let models: Arc<dyn host::ModelSource> = self.models.clone();
        let (with, asked) = (&self.args.with, scripts::McpSources::All);
        let engine = scripts::engine(with, self.config, models, opened.library, asked);
        let script = ScriptSubject {
            engine: engine.await?,
            script: opened.script,
            grants: scripts::grants(with)?,
        };
        Ok(Ok((Box::new(script), wish)))
    }

    /// Runs the tests of a script or a prompt, once for each selected model if a model is called.
    async fn subject(
        &mut self,
        name: &str,
        subject: &dyn TestTarget,
        is_left_out: bool,
        tested: &mut FixtureReport,
    ) -> Result<(), CliError> {
        let has_only = self.fixture.cases.iter().any(|case| case.only);
        let mut models: Vec<Option<String>> =
            self.args.with.models().into_iter().map(Some).collect();
        if models.is_empty() {
            models.push(None);
        }
        for (round, model) in models.into_iter().enumerate() {
            let bench = self.bench(model)?;
            for case in self.cases(name) {
                let is_scripted = matches!(case.answers, Answers::Replies(_));
                let runs = !is_left_out && self.runs(case, has_only);
                // Predefined replies and skipped tests do not depend on the model.
                if round > 0 && (is_scripted || !runs) {
                    continue;
                }
                let report = if runs {
                    self.case(&bench, case, subject).await?
                } else {
                    CaseReport::skipped(case, subject.name())
                };
                tested.reports.push(report);
            }
        }
        Ok(())
    }

    /// Whether a test is selected.
    fn runs(&self, case: &TestCase, has_only: bool) -> bool {
        let args = self.args;
        // Numbers on the command line take precedence over `skip` and `only` in the fixture.
        if !args.include.is_empty() {
            return args.include.contains(&case.number);
        }
        let has_title = |title: &String| case.title.to_lowercase().contains(&title.to_lowercase());
        args.title.as_ref().is_none_or(has_title)
            && !args.exclude.contains(&case.number)
            && !case.skip
            && (case.only || !has_only)
    }

    /// Returns the tests for a script or a prompt.
    fn cases(&self, name: &str) -> Vec<&'a TestCase> {
        let is_its = |case: &&TestCase| match &case.script {
            Some(own) => self.found.resolve_name(own) == name,
            None => {
                let own = &self.fixture.scripts;
                let named = own.iter().any(|own| self.found.resolve_name(own) == name);
                named || (own.is_empty() && self.found.subjects.iter().any(|known| known == name))
            }
        };
        self.fixture.cases.iter().filter(is_its).collect()
    }

    fn bench(&self, model: Option<String>) -> Result<TestHarness, CliError> {
        let judge = self.args.judge.as_deref();
        let judge = judge.map(|name| host::ModelSource::model(self.models.as_ref(), Some(name)));
        Ok(TestHarness {
            models: self.models.clone(),
            model,
            judge: judge.transpose().map_err(CliError::Usage)?,
            snapshots: Arc::new(SnapshotFolder::new(self.found, self.args.update)),
            repeats: self.args.count,
            stream: !self.args.no_stream,
        })
    }

    async fn case(
        &mut self,
        bench: &TestHarness,
        case: &TestCase,
        subject: &dyn TestTarget,
    ) -> Result<CaseReport, CliError> {
        let models: Option<Arc<dyn host::ModelSource>> = match &case.answers {
            Answers::Cassette(folder) => {
                let folder = self.found.folder.join(folder);
                Some(cassette::models(
                    &folder,
                    self.config,
                    self.args.record_cassettes,
                )?)
            }
            Answers::Model | Answers::Replies(_) => None,
        };
        let mut report = bench.run(self.fixture, case, subject, models).await;
        if matches!(case.answers, Answers::Replies(_)) {
            report.model = None;
        }
        if self.args.generate
            && !case.wants_output
            && let Some(output) = &report.output
        {
            self.generated.push((case.number, output.clone()));
        }
        Ok(report)
    }

    fn write_generated(&self) -> Result<(), CliError> {
        if self.generated.is_empty() {
            return Ok(());
        }
        let path = &self.found.path;
        let text = testing::appended(self.fixture, &self.generated);
        let wrong = |error| CliError::Other(format!("{path}: {error}"));
        std::fs::write(path, text).map_err(wrong)?;
        let count = self.generated.len();
        terminal::note(&format!(
            "{path}: {count} outputs were written; review them"
        ));
        Ok(())
    }
}
