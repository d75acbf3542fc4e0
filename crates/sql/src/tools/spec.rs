//! Descriptions and parameters of the tools.

use quillet_core::tool::{Idempotency, ToolSpec};
use serde_json::{Value as Tree, json};

use super::task::Task;
use crate::{Connection, SqlConfig};

pub(super) fn of(
    prefix: &str,
    connection: &Connection,
    task: Task,
    config: &SqlConfig,
) -> ToolSpec {
    let dialect = connection.db_type.map_or("SQL", |dialect| dialect.title());
    let what = match &connection.description {
        Some(description) => format!("{} ({dialect}: {description})", connection.name),
        None => format!("{} ({dialect})", connection.name),
    };
    ToolSpec {
        name: format!("{prefix}_{}", task.name()),
        also: vec![format!("database/{}", connection.name)],
        description: described(task, &what, dialect, config),
        parameters: parameters(task),
        idempotent: true,
        repeat: Idempotency::Freely,
        ..ToolSpec::default()
    }
}

fn described(task: Task, what: &str, dialect: &str, config: &SqlConfig) -> String {
    match task {
        Task::ListTables => format!(
            "Lists tables of the database {what} with their comments; with a question, those that fit it, best first."
        ),
        Task::TableSchema => {
            format!("Shows columns, types, keys and comments of tables of the database {what}.")
        }
        Task::Query => format!(
            "Runs one {dialect} statement that reads in the database {what}. Gives at most {} rows.",
            config.tool_rows
        ),
        Task::Ask => format!(
            "Answers a question in words with rows of the database {what}: writes the query and runs it."
        ),
    }
}

fn parameters(task: Task) -> Tree {
    let text = |description: &str| json!({"type": "string", "description": description});
    let (properties, required) = match task {
        Task::ListTables => (
            json!({
                "question": text("What the tables are wanted for; all tables are listed without it."),
                "schema": text("Only tables of this schema."),
                "limit": {"type": "integer", "minimum": 1, "maximum": super::tables::MOST,
                    "description": "How many tables at most."},
            }),
            json!([]),
        ),
        Task::TableSchema => (
            json!({"tables": {"type": "array", "items": {"type": "string"},
                "description": "Names of tables, as table or schema.table."}}),
            json!(["tables"]),
        ),
        Task::Query => (
            json!({"sql": text("One statement: SELECT, WITH … SELECT, SHOW, DESCRIBE or EXPLAIN.")}),
            json!(["sql"]),
        ),
        Task::Ask => (
            json!({"question": text("The question, in any language.")}),
            json!(["question"]),
        ),
    };
    json!({"type": "object", "properties": properties, "required": required,
        "additionalProperties": false})
}
