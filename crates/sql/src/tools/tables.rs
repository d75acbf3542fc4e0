//! The tool `list_tables`, which lists all tables or those that match a question.

use quillet_core::tool::ToolError;
use serde::Deserialize;
use serde_json::{Value as Tree, json};

use super::cut;
use crate::Databases;
use crate::catalogue::DatabaseTable;

/// Maximum number of tables in one result.
pub(super) const MOST: usize = 200;
/// Default number of tables.
const USUAL: usize = 50;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct TablesArgs {
    question: Option<String>,
    schema: Option<String>,
    limit: Option<usize>,
}

pub(super) async fn list(
    databases: &Databases,
    name: &str,
    wanted: TablesArgs,
) -> Result<Tree, ToolError> {
    let prepared = databases.prepared(name, false, &|_, _, _| {}).await?;
    let catalogue = &prepared.catalogue;
    let most = wanted.limit.unwrap_or(USUAL).clamp(1, MOST);
    let in_schema = |table: &&DatabaseTable| {
        let schema = wanted.schema.as_deref();
        schema.is_none_or(|schema| table.schema_name.eq_ignore_ascii_case(schema))
    };
    let total = catalogue.tables.iter().filter(in_schema).count();
    let question = wanted
        .question
        .as_deref()
        .map(str::trim)
        .unwrap_or_default();
    let found: Vec<&DatabaseTable> = if question.is_empty() {
        catalogue
            .tables
            .iter()
            .filter(in_schema)
            .take(most)
            .collect()
    } else {
        let fits = |table| catalogue.tables.get(table).is_some_and(|t| in_schema(&t));
        let ranked = prepared.rank_among(question, most, &fits);
        let ranked = ranked.iter();
        ranked
            .filter_map(|r| catalogue.tables.get(r.table))
            .collect()
    };
    let lines = found.into_iter().map(line).collect();
    let tables = cut::fitting(lines, databases.config().tool_characters);
    let note = note(tables.len(), total, !question.is_empty());
    Ok(with_note(json!({"tables": tables, "total": total}), note))
}

fn line(table: &DatabaseTable) -> Tree {
    let mut line = json!({"name": table.qualified(), "type": table.table_type});
    if let Some(comment) = &table.comment {
        line["comment"] = cut::shortened(comment.as_str().into());
    }
    if let Some(rows) = table.row_count {
        line["rows"] = rows.into();
    }
    line
}

fn note(shown: usize, total: usize, asked: bool) -> Option<String> {
    match (shown, asked) {
        (0, true) => Some(format!(
            "no table fits the question by its words; there are {total} in all"
        )),
        (shown, _) if shown >= total => None,
        (shown, true) => Some(format!("the best {shown} of {total} tables")),
        (shown, false) => Some(format!(
            "the first {shown} of {total} tables by name; give a question to see those that fit it"
        )),
    }
}

/// Adds a note about omitted tables to a result.
pub(super) fn with_note(mut result: Tree, note: Option<String>) -> Tree {
    if let Some(note) = note {
        result["note"] = note.into();
    }
    result
}
