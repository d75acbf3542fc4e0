//! Databases as tools for models and agents, modelled on the tools of table-chat's agent. Results
//! are plain data of limited size, and state what was cut off.

mod cut;
mod failed;
mod names;
mod query;
mod schema;
mod spec;
mod tables;
mod task;

use std::fmt;
use std::sync::Arc;

use quillet_core::tool::{Tool, ToolContext, ToolError, ToolErrorKind, ToolSpec};
use quillet_core::{BoxFuture, Map, Value};
use serde::de::DeserializeOwned;
use serde_json::Value as Tree;

use self::task::Task;
use crate::{Connection, Databases};

/// One task on one connection. The connection is looked up for each call, so changes apply
/// immediately.
struct DatabaseTool {
    databases: Databases,
    name: String,
    task: Task,
    spec: ToolSpec,
}

/// Returns the tools of all usable connections: `db_NAME_list_tables`, `db_NAME_table_schema`,
/// `db_NAME_query`, and `db_NAME_ask` if a model is configured.
#[must_use]
pub fn all(databases: &Databases, connections: &[Connection]) -> Vec<Arc<dyn Tool>> {
    let mut tools: Vec<Arc<dyn Tool>> = Vec::new();
    let usable = connections
        .iter()
        .filter(|connection| connection.problem.is_none());
    for (connection, prefix) in names::prefixes(usable) {
        for task in Task::ALL {
            // A tool that always fails would mislead the model.
            if task == Task::Ask && !databases.has_model() {
                continue;
            }
            tools.push(Arc::new(DatabaseTool {
                databases: databases.clone(),
                name: connection.name.clone(),
                task,
                spec: spec::of(&prefix, connection, task, databases.config()),
            }));
        }
    }
    tools
}

impl fmt::Debug for DatabaseTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("DatabaseTool")
            .field(&self.spec.name)
            .finish()
    }
}

impl Tool for DatabaseTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(
        &'a self,
        arguments: Map,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, Result<Value, ToolError>> {
        Box::pin(async move {
            let (databases, name) = (&self.databases, self.name.as_str());
            let arguments = Tree::from(&Value::Map(arguments));
            let result = match self.task {
                Task::ListTables => tables::list(databases, name, self.read(arguments)?).await,
                Task::TableSchema => schema::show(databases, name, self.read(arguments)?).await,
                Task::Query => query::run(databases, name, self.read(arguments)?, context).await,
                Task::Ask => query::ask(databases, name, self.read(arguments)?, context).await,
            };
            result.map(Value::from)
        })
    }
}

impl DatabaseTool {
    fn read<T: DeserializeOwned>(&self, arguments: Tree) -> Result<T, ToolError> {
        serde_json::from_value(arguments).map_err(|error| {
            let reason = quillet_core::json::reason(&error);
            let message = format!("{}: {reason}", self.spec.name);
            ToolError::new(ToolErrorKind::Arguments, message)
        })
    }
}
