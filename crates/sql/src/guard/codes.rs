//! Every reason to refuse, by its stable code.

/// Nothing but blanks, comments and semicolons.
pub const EMPTY: &str = "sql.guard.empty";
/// More bytes than the policy allows.
pub const LENGTH: &str = "sql.guard.length";
/// A character that no query needs and that servers read in different ways.
pub const CHARACTER: &str = "sql.guard.character";
/// Deeper nesting, or a longer chain of operators, than the policy allows.
pub const DEPTH: &str = "sql.guard.depth";
/// A comment that MySQL or MariaDB runs.
pub const COMMENT: &str = "sql.guard.comment";
/// A name or a text with Unicode escapes (`U&"…"`).
pub const ESCAPE: &str = "sql.guard.escape";
/// A command of a client program: `\d`, `.tables`.
pub const CLIENT: &str = "sql.guard.client";
/// Words around the query, or no query at all.
pub const PROSE: &str = "sql.guard.prose";
/// It cannot be read as SQL of the dialect.
pub const SYNTAX: &str = "sql.guard.syntax";
/// More than one statement.
pub const STATEMENTS: &str = "sql.guard.statements";
/// A statement of a kind that may not pass.
pub const STATEMENT: &str = "sql.guard.statement";
/// Data would be changed inside of a query.
pub const WRITES: &str = "sql.guard.writes";
/// INTO writes a table, a file or a variable.
pub const INTO: &str = "sql.guard.into";
/// Rows would be locked.
pub const LOCK: &str = "sql.guard.lock";
/// A variable would be set.
pub const ASSIGNMENT: &str = "sql.guard.assignment";
/// A variable of the session or the server.
pub const VARIABLE: &str = "sql.guard.variable";
/// A parameter that nobody gives a value.
pub const PARAMETER: &str = "sql.guard.parameter";
/// A clause that a read does not need.
pub const CLAUSE: &str = "sql.guard.clause";
/// A relation of the system.
pub const SYSTEM: &str = "sql.guard.system";
/// A function that is not on the list.
pub const FUNCTION: &str = "sql.guard.function";
/// An operator that is not on the list.
pub const OPERATOR: &str = "sql.guard.operator";
/// A type that looks into the system catalogue.
pub const TYPE: &str = "sql.guard.type";
/// A table that is not in the catalogue.
pub const TABLE: &str = "sql.guard.table";
/// A column that its tables do not have.
pub const COLUMN: &str = "sql.guard.column";
/// A table or a column that can mean more than one.
pub const AMBIGUOUS: &str = "sql.guard.ambiguous";
/// A LIMIT that cannot be set.
pub const LIMIT: &str = "sql.guard.limit";

/// All codes, each with what it says: the table of `docs/sql/safety.md`.
pub const CODES: [(&str, &str); 26] = [
    (EMPTY, "nothing but blanks, comments and semicolons"),
    (LENGTH, "more bytes than the policy allows"),
    (
        CHARACTER,
        "a character that no query needs and that servers read in different ways",
    ),
    (
        DEPTH,
        "deeper nesting, or a longer chain of operators, than the policy allows",
    ),
    (COMMENT, "a comment that MySQL or MariaDB runs"),
    (ESCAPE, "a name or a text with Unicode escapes"),
    (CLIENT, "a command of a client program"),
    (PROSE, "words around the query, or no query at all"),
    (SYNTAX, "it cannot be read as SQL of the dialect"),
    (STATEMENTS, "more than one statement"),
    (STATEMENT, "a statement of a kind that may not pass"),
    (WRITES, "data would be changed inside of a query"),
    (INTO, "INTO writes a table, a file or a variable"),
    (LOCK, "rows would be locked"),
    (ASSIGNMENT, "a variable would be set"),
    (VARIABLE, "a variable of the session or the server"),
    (PARAMETER, "a parameter that nobody gives a value"),
    (CLAUSE, "a clause that a read does not need"),
    (SYSTEM, "a relation of the system"),
    (FUNCTION, "a function that is not on the list"),
    (OPERATOR, "an operator that is not on the list"),
    (TYPE, "a type that looks into the system catalogue"),
    (TABLE, "a table that is not in the catalogue"),
    (COLUMN, "a column that its tables do not have"),
    (AMBIGUOUS, "a table or a column that can mean more than one"),
    (LIMIT, "a LIMIT that cannot be set"),
];
