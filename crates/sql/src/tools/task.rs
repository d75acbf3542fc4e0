//! The tasks of a database tool.

/// Task of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Task {
    /// Lists names and comments of tables.
    ListTables,
    /// Describes columns and keys of tables.
    TableSchema,
    /// Runs a query.
    Query,
    /// Answers a question.
    Ask,
}

impl Task {
    pub(super) const ALL: [Task; 4] = [Task::ListTables, Task::TableSchema, Task::Query, Task::Ask];

    pub(super) fn name(self) -> &'static str {
        match self {
            Task::ListTables => "list_tables",
            Task::TableSchema => "table_schema",
            Task::Query => "query",
            Task::Ask => "ask",
        }
    }
}
