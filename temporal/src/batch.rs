//! `quillet worker batch`: starts a run for each line of a file. The run ids are derived from the
//! file, so rerunning the command resumes it and runs no row twice.

use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use futures::{StreamExt, stream};
use quillet_core as core;
use quillet_core::history::Digest;
use quillet_core::journal::JournalEvent;
use quillet_host::agent::AgentRequest;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::client::{StartResult, WorkflowClient, build_request};
use crate::failure::CliError;
use crate::step_store::StepStore;

/// Arguments of `quillet worker batch`.
#[derive(Debug, clap::Args)]
pub struct BatchArgs {
    /// File that contains one JSON object per line: `input` (a question) or `variables` (an object,
    /// for scripts), and an optional `custom_id`.
    file: PathBuf,
    /// Model, agent/NAME, or prompt/ID of a script.
    #[arg(short, long, value_name = "MODEL")]
    model: Option<String>,
    /// Output file; its lines are in the order of the input.
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,
    /// Maximum number of concurrent rows.
    #[arg(short, long, value_name = "N", default_value = "100")]
    concurrency: usize,
}

/// A line of the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BatchRow {
    #[serde(default)]
    custom_id: Option<String>,
    #[serde(default)]
    input: Option<String>,
    #[serde(default)]
    variables: Option<serde_json::Map<String, Value>>,
}

/// Runs every row and writes the output when all have ended.
pub(crate) async fn run(desk: &WorkflowClient<'_>, batch: &BatchArgs) -> Result<(), CliError> {
    let rows = read(&batch.file)?;
    let host = desk.host().await?;
    let shelf = desk.step_store_of(&host)?;
    // The model is part of the id: the same file with another model is another batch.
    let mut about = fs::read(&batch.file)?;
    about.extend(batch.model.as_deref().unwrap_or_default().bytes());
    let name: String = Digest::of(&about).to_string().chars().take(16).collect();
    let answers = stream::iter(rows.into_iter().enumerate()).map(|(number, row)| {
        let custom_id = row
            .custom_id
            .unwrap_or_else(|| format!("row-{}", number + 1));
        let id = format!("batch-{name}-{}", number + 1);
        let variables = core::Value::from(Value::Object(row.variables.unwrap_or_default()));
        let variables = variables.as_map().cloned().unwrap_or_default();
        let (host, shelf, model) = (&host, &shelf, batch.model.as_deref());
        async move {
            let request =
                build_request(host, model, row.input.unwrap_or_default(), variables).await?;
            answer(desk, shelf, custom_id, &id, request).await
        }
    });
    let mut answers = answers.buffered(batch.concurrency.max(1));
    let part = part_of(&batch.output);
    let mut out = BufWriter::new(fs::File::create(&part)?);
    let (mut done, mut failed) = (0_usize, 0_usize);
    while let Some(answer) = answers.next().await {
        let answer = answer?;
        done += 1;
        failed += usize::from(answer["error"] != Value::Null);
        writeln!(out, "{answer}")?;
    }
    out.into_inner()
        .map_err(io::IntoInnerError::into_error)?
        .sync_all()?;
    fs::rename(&part, &batch.output)?;
    eprintln!("{done} rows");
    match failed {
        0 => Ok(()),
        _ => Err(CliError::Ended(format!(
            "{failed} rows failed: see {}",
            batch.output.display()
        ))),
    }
}

/// Starts the run of a row, if it was not started before, and waits for its end.
async fn answer(
    desk: &WorkflowClient<'_>,
    shelf: &StepStore,
    custom_id: String,
    id: &str,
    request: AgentRequest,
) -> Result<Value, CliError> {
    let (StartResult::Now(run) | StartResult::Before(run)) =
        desk.begin(shelf, request, Some(id)).await?;
    let end = match desk.end(&run).await {
        Ok(end) => end,
        Err(CliError::Temporal { what, .. }) => {
            return Ok(json!({"custom_id": custom_id, "run": run, "text": null, "error": what}));
        }
        Err(error) => return Err(error),
    };
    let steps = shelf.steps(&end.kept).await?;
    let text = match steps.last() {
        Some(JournalEvent::Ended { text, .. }) => text.as_str(),
        _ => "",
    };
    Ok(json!({"custom_id": custom_id, "run": run, "text": text, "error": end.error}))
}

/// Reads all rows before the first run, so an invalid line costs nothing.
fn read(path: &Path) -> Result<Vec<BatchRow>, CliError> {
    let wrong = |what: String| CliError::Usage(format!("{}{what}", path.display()));
    let text = fs::read_to_string(path).map_err(|error| wrong(format!(": {error}")))?;
    let lines = text.lines().enumerate();
    let lines = lines.filter(|(_, line)| !line.trim().is_empty());
    let rows = lines.map(|(number, line)| {
        let row: Result<BatchRow, _> = serde_json::from_str(line);
        let said = match &row {
            Ok(row) if row.input.is_none() && row.variables.is_none() => "missing input".to_owned(),
            Ok(_) => String::new(),
            Err(error) => error.to_string(),
        };
        row.ok().filter(|_| said.is_empty()).ok_or_else(|| {
            wrong(format!(
                ":{}: {said}: write one object per line, {{\"input\": \"…\"}}",
                number + 1
            ))
        })
    });
    rows.collect()
}

fn part_of(output: &Path) -> PathBuf {
    let mut name = output.as_os_str().to_owned();
    name.push(".part");
    name.into()
}
