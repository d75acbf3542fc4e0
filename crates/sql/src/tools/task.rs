//! The tasks of a database tool.

/// What a tool does with its database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Task {
    /// Names and comments of tables.
    ListTables,
    /// Columns and keys of some tables.
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
