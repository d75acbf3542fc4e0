//! `quillet test`: the fixtures beside scripts.

mod cassette;
mod files;
mod json;
mod junit;
mod show;
mod snapshots;

use std::sync::Arc;

use quillet_script::host;
use quillet_script::library::{self, Opened};
use quillet_script::syntax::Script;
use quillet_script::testing::{self, Answers, Bench, Case, CaseReport, Counts, Fixture, Wish};
use quillet_script::{ErrorKind, ScriptError};
use quillet_template::TemplateFactory;

use crate::args::Test;
use crate::config::Config;
use crate::failure::{Failure, code};
use crate::scripts;
use crate::terminal;

use files::Found;
use snapshots::Folder;

/// The tests of one fixture, as they ended.
struct Tested {
    /// The fixture's file.
    path: String,
    fixture: Option<Fixture>,
    reports: Vec<CaseReport>,
    /// Why the fixture or a script of it cannot be read.
    broken: Vec<ScriptError>,
}

pub(crate) async fn run(args: &Test, config: &Config) -> Result<(), Failure> {
    let found = files::find(&args.paths)?;
    let models = Arc::new(scripts::models(config)?);
    let mut all = Vec::new();
    for fixture in &found {
        let tested = test(args, config, fixture, models.clone()).await?;
        if !args.json {
            show::fixture(&tested)?;
        }
        all.push(tested);
    }
    finish(args, &all)
}

fn finish(args: &Test, all: &[Tested]) -> Result<(), Failure> {
    if let Some(path) = &args.junit {
        let written = std::fs::write(path, junit::xml(all));
        let wrong = |error| Failure::Other(format!("--junit {}: {error}", path.display()));
        written.map_err(wrong)?;
    }
    let counts = Counts::of(all.iter().flat_map(|tested| &tested.reports));
    let broken: usize = all.iter().map(|tested| tested.broken.len()).sum();
    match args.json {
        true => terminal::line(&json::report(all, &counts))?,
        false => show::summary(&counts, broken)?,
    }
    // A number or a title that is misspelt in CI must not pass.
    if counts.passed + counts.failed + counts.broken + broken == 0 {
        return Err(Failure::Usage(
            "no test was run: -i, -x and -t leave none, or all are skipped".into(),
        ));
    }
    match (counts.failed, counts.broken + broken) {
        (0, 0) => Ok(()),
        (0, _) => Err(Failure::Said(code::TEMPLATE)),
        _ => Err(Failure::Said(code::FAILURE)),
    }
}

/// Runs the tests of one fixture with each of its scripts.
async fn test(
    args: &Test,
    config: &Config,
    found: &Found,
    models: Arc<quillet_server::script::ScriptModels>,
) -> Result<Tested, Failure> {
    let mut tested = Tested {
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
    let mut running = Running {
        args,
        config,
        found,
        models,
        fixture: &fixture,
        generated: Vec::new(),
    };
    let names = running.scripts(&mut tested.broken);
    let opened = running.open(names, &mut tested.broken).await?;
    let wishes: Vec<Wish> = opened
        .iter()
        .map(|(_, opened)| Wish::of(&opened.script))
        .collect();
    let has_only = wishes.iter().any(|wish| wish.only);
    for ((name, opened), wish) in opened.into_iter().zip(wishes) {
        let is_left_out = wish.skip || (has_only && !wish.only);
        running
            .script(&name, opened, is_left_out, &mut tested)
            .await?;
    }
    running.write_generated()?;
    tested.fixture = Some(fixture);
    Ok(tested)
}

/// The tests of one fixture while they run.
struct Running<'a> {
    args: &'a Test,
    config: &'a Config,
    found: &'a Found,
    models: Arc<quillet_server::script::ScriptModels>,
    fixture: &'a Fixture,
    /// Outputs to be written, by the number of the test.
    generated: Vec<(usize, quillet_core::Value)>,
}

impl<'a> Running<'a> {
    /// The files of the scripts: those that the fixture names, else those beside it.
    fn scripts(&self, broken: &mut Vec<ScriptError>) -> Vec<String> {
        let mut names: Vec<String> = match self.fixture.scripts.is_empty() {
            true => self.found.scripts.clone(),
            false => self
                .fixture
                .scripts
                .iter()
                .map(|name| self.found.beside(name))
                .collect(),
        };
        let own = self
            .fixture
            .cases
            .iter()
            .filter_map(|case| case.script.as_deref());
        for name in own.map(|name| self.found.beside(name)) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        if names.is_empty() {
            let why =
                "there is no script beside it that has its name, and it names none with script:";
            broken.push(ScriptError::plain(
                ErrorKind::NotFound,
                &self.found.path,
                why,
            ));
        }
        names
    }

    /// The scripts of these names, as far as they can be read.
    async fn open(
        &self,
        names: Vec<String>,
        broken: &mut Vec<ScriptError>,
    ) -> Result<Vec<(String, Opened)>, Failure> {
        let mut search = vec![self.found.folder.clone()];
        search.extend(scripts::search(&self.args.with)?);
        let mut all = Vec::new();
        for name in names {
            match library::open(&name, &search).await {
                Ok(opened) => all.push((name, opened)),
                Err(error) => broken.push(error),
            }
        }
        Ok(all)
    }

    async fn script(
        &mut self,
        name: &str,
        opened: Opened,
        is_left_out: bool,
        tested: &mut Tested,
    ) -> Result<(), Failure> {
        let bench = self.bench(opened.library).await?;
        let has_only = self.fixture.cases.iter().any(|case| case.only);
        for case in self.cases(name) {
            let report = match !is_left_out && self.runs(case, has_only) {
                true => self.case(&bench, case, &opened.script).await?,
                false => CaseReport::skipped(case, &opened.script),
            };
            tested.reports.push(report);
        }
        Ok(())
    }

    /// Whether a test is among those that were asked for.
    fn runs(&self, case: &Case, has_only: bool) -> bool {
        let args = self.args;
        if !args.include.is_empty() {
            return args.include.contains(&case.number);
        }
        let has_title = |title: &String| case.title.to_lowercase().contains(&title.to_lowercase());
        args.title.as_ref().is_none_or(has_title)
            && !args.exclude.contains(&case.number)
            && !case.skip
            && (case.only || !has_only)
    }

    /// The tests that are for a script.
    fn cases(&self, name: &str) -> Vec<&'a Case> {
        let is_its = |case: &&Case| match &case.script {
            Some(own) => self.found.beside(own) == name,
            None => {
                let own = &self.fixture.scripts;
                let named = own.iter().any(|own| self.found.beside(own) == name);
                named || (own.is_empty() && self.found.scripts.iter().any(|known| known == name))
            }
        };
        self.fixture.cases.iter().filter(is_its).collect()
    }

    async fn bench(&self, library: Arc<dyn library::Library>) -> Result<Bench, Failure> {
        let models: Arc<dyn host::Models> = self.models.clone();
        let engine = scripts::engine(
            &self.args.with,
            self.config,
            models,
            library,
            scripts::Asked::All,
        );
        let judge = self.args.judge.as_deref();
        let judge = judge.map(|name| host::Models::model(self.models.as_ref(), Some(name)));
        Ok(Bench {
            engine: engine.await?,
            grants: scripts::grants(&self.args.with)?,
            judge: judge.transpose().map_err(Failure::Usage)?,
            snapshots: Arc::new(Folder::new(self.found, self.args.update)),
            repeats: self.args.count,
            stream: !self.args.no_stream,
        })
    }

    async fn case(
        &mut self,
        bench: &Bench,
        case: &Case,
        script: &Arc<Script>,
    ) -> Result<CaseReport, Failure> {
        let models: Option<Arc<dyn host::Models>> = match &case.answers {
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
        let report = bench.run(self.fixture, case, script, models).await;
        if self.args.generate
            && !case.wants_output
            && let Some(output) = &report.output
        {
            self.generated.push((case.number, output.clone()));
        }
        Ok(report)
    }

    fn write_generated(&self) -> Result<(), Failure> {
        if self.generated.is_empty() {
            return Ok(());
        }
        let path = &self.found.path;
        let text = testing::appended(self.fixture, &self.generated);
        let wrong = |error| Failure::Other(format!("{path}: {error}"));
        std::fs::write(path, text).map_err(wrong)?;
        let count = self.generated.len();
        terminal::note(&format!(
            "{path}: {count} outputs were written, look at them"
        ));
        Ok(())
    }
}
