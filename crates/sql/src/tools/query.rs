//! The tools `query` and `ask`, whose rows are limited to what fits into a conversation.

use quillet_core::tool::{ToolContext, ToolError};
use serde::Deserialize;
use serde_json::{Value as Tree, json};

use super::cut;
use super::tables::with_note;
use crate::export::rows_json;
use crate::guard::GuardMode;
use crate::{Databases, QueryLimits, QueryRun, RunOptions, SqlConfig};

/// Maximum bytes read for one result, of which far fewer are shown.
const BYTES: usize = 1 << 20;

#[derive(Debug, Deserialize)]
pub(super) struct QueryArgs {
    sql: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct QuestionArgs {
    question: String,
}

pub(super) async fn run(
    databases: &Databases,
    name: &str,
    query: QueryArgs,
    context: &ToolContext,
) -> Result<Tree, ToolError> {
    let config = databases.config();
    let options = options(config, context);
    let ran = databases.run(name, &query.sql, &options).await?;
    Ok(shown(&ran, config))
}

pub(super) async fn ask(
    databases: &Databases,
    name: &str,
    asked: QuestionArgs,
    context: &ToolContext,
) -> Result<Tree, ToolError> {
    let config = databases.config();
    let options = RunOptions {
        mode: GuardMode::Select,
        ..options(config, context)
    };
    let (generated, ran) = databases.ask(name, &asked.question, &options).await?;
    let mut result = shown(&ran, config);
    if let Some(explanation) = generated.explanation {
        result["explanation"] = explanation.into();
    }
    Ok(result)
}

fn options(config: &SqlConfig, context: &ToolContext) -> RunOptions {
    let limits = QueryLimits {
        rows: config.tool_rows,
        bytes: config.limits.bytes.min(BYTES),
        // The timeout never exceeds the remaining time of the tool call.
        timeout: context.remaining(config.limits.timeout),
    };
    RunOptions {
        // Agents inspect schemas before they query, which includes SHOW, DESCRIBE and EXPLAIN.
        mode: GuardMode::Explore,
        limits: Some(limits),
        ..RunOptions::default()
    }
}

/// Returns `sql`, `columns`, `rows`, `rowCount`, `truncated`, and a note about missing rows.
fn shown(ran: &QueryRun, config: &SqlConfig) -> Tree {
    let mut result = rows_json(&ran.rows);
    let rows = match result["rows"].take() {
        Tree::Array(rows) => rows,
        _ => Vec::new(),
    };
    let read = rows.len();
    let rows = rows.into_iter().map(cut::shortened).collect();
    let rows = cut::fitting(rows, config.tool_characters);
    let count = rows.len();
    let note = if count < read {
        let most = config.tool_characters;
        Some(format!(
            "{count} of {read} rows fit into {most} characters; ask for fewer columns, or count and group"
        ))
    } else {
        let cut = ran.rows.truncated.is_some();
        cut.then(|| format!("there are more than these {count} rows; count and group, or page"))
    };
    let truncated = note.is_some();
    let result = json!({"sql": ran.sql, "columns": result["columns"].take(), "rows": rows,
        "rowCount": count, "truncated": truncated});
    with_note(result, note)
}
