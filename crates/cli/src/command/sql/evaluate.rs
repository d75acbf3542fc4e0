//! Evaluates table selection on questions whose correct tables are known.

use quillet::settings::Settings;
use quillet_core::chat::Bytes4;
use quillet_sql::eval::{
    DEPTHS, RankingReport, RecallAtK, Recording, ReplayReport, Suite, measure, replay,
};
use serde::Serialize;
use serde_json::json;

use super::execution::{ExecutionReport, Runner};
use super::failed::report_error;
use crate::args::{Sql, SqlEval};
use crate::databases;
use crate::failure::CliError;
use crate::progress_bar::ProgressBar;
use crate::terminal::{self, Stream, TextStyle, styled};

pub(super) async fn run(args: &Sql, eval: &SqlEval, config: &Settings) -> Result<(), CliError> {
    let settings = databases::sql_config(config)?;
    depths(&eval.k)?;
    if let Some(missing) = eval.files.iter().find(|file| !file.exists()) {
        return Err(CliError::Usage(format!(
            "no such file: {}",
            missing.display()
        )));
    }
    let recording = eval.recorded.as_deref().map(Recording::open).transpose();
    let recording = recording.map_err(|error| report_error(&error, None))?;
    let runner = if !args.with.db.is_empty() {
        Some(Runner::open(args, config, recording.as_ref()).await?)
    } else {
        None
    };
    let mut all = Vec::new();
    for file in &eval.files {
        let suite = match &runner {
            Some(runner) => Suite::over(file, runner.catalogue()),
            None => Suite::open(file),
        };
        let suite = suite.map_err(|error| report_error(&error, None))?;
        let bar = ProgressBar::new();
        let measured = measure(&suite, &settings, &Bytes4, &|done, total, what| {
            bar.set_progress(done, total, what);
        });
        drop(bar);
        let replayed = recording
            .as_ref()
            .map(|recording| replay(&suite, recording, &settings, &Bytes4))
            .filter(|replayed| replayed.questions > 0);
        let executed = match (&runner, &recording) {
            (Some(runner), Some(recording)) => Some(runner.run(&suite, recording).await?),
            _ => None,
        };
        all.push(FileReport {
            measured,
            replayed,
            executed,
        });
    }
    if args.with.json {
        return Ok(terminal::line(&format!("{:#}", json!(all)))?);
    }
    let colour = Stream::Out.has_colour();
    let pages: Vec<String> = all
        .iter()
        .map(|page| shown(page, &eval.k, colour))
        .collect();
    Ok(terminal::result(&pages.join("\n"))?)
}

fn depths(wanted: &[usize]) -> Result<(), CliError> {
    match wanted.iter().find(|k| !DEPTHS.contains(k)) {
        None => Ok(()),
        Some(k) => {
            let known = DEPTHS.map(|depth| depth.to_string()).join(", ");
            Err(CliError::Usage(format!(
                "invalid -k {k}; expected one of {known}"
            )))
        }
    }
}

/// Result for one file.
#[derive(Serialize)]
struct FileReport {
    measured: RankingReport,
    #[serde(rename = "recorded")]
    replayed: Option<ReplayReport>,
    #[serde(rename = "execution", skip_serializing_if = "Option::is_none")]
    executed: Option<ExecutionReport>,
}

fn shown(page: &FileReport, wanted: &[usize], colour: bool) -> String {
    let measured = &page.measured;
    let head = format!(
        "{}: {} questions, {} tables",
        measured.name, measured.questions, measured.tables
    );
    let mut lines = vec![
        styled(&head, TextStyle::Bold, colour),
        "    k  recall  all found  precision".to_owned(),
    ];
    let chosen = measured.order.at.iter().filter(|at| wanted.contains(&at.k));
    lines.extend(chosen.map(at_line));
    let tokens = &measured.tokens;
    let saved = 100.0 * (1.0 - tokens.chain / tokens.full.max(1.0));
    lines.push(format!(
        "  tokens: {:.0} of {:.0} a question, {saved:.1} % saved",
        tokens.chain, tokens.full
    ));
    let timings = &measured.timings;
    lines.push(format!(
        "  time: {:.0} ms for the indexes, a question {:.2} ms (99 of 100: {:.2} ms)",
        timings.build_ms, timings.p50_ms, timings.p99_ms
    ));
    lines.extend(page.replayed.as_ref().map(recorded));
    lines.extend(page.executed.as_ref().map(ExecutionReport::line));
    lines.join("\n") + "\n"
}

fn at_line(at: &RecallAtK) -> String {
    format!(
        "  {:3}  {:5.1}%     {:5.1}%     {:5.1}%",
        at.k,
        100.0 * at.recall,
        100.0 * at.complete,
        100.0 * at.precision
    )
}

fn recorded(replayed: &ReplayReport) -> String {
    format!(
        "  recorded choices: {} questions, complete {:.1} % with {:.2} tables, after repair {:.1} % with {:.2}",
        replayed.questions,
        100.0 * replayed.complete,
        replayed.tables,
        100.0 * replayed.complete_repaired,
        replayed.tables_repaired
    )
}
