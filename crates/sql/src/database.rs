//! The `Database` trait, which all three drivers implement.

use std::fmt;
use std::time::Duration;

use quillet_core::build::FeatureDisabled;
use quillet_core::{BoxFuture, ErrorCode};

use crate::stream::{RowSink, StreamEnd};
use crate::{Catalogue, RowSet, SqlDialect};

pub use crate::connect::connect;
pub use crate::limits::QueryLimits;

/// Connection options.
#[derive(Clone, Debug)]
pub struct ConnectOptions {
    /// Disables TLS. By default, TLS is used if the server supports it.
    pub ssl_disabled: bool,
    /// Timeout for connecting.
    pub connect_timeout: Duration,
    /// Timeout for reading a catalogue.
    pub catalogue_timeout: Duration,
    /// Functions that queries may call in addition to the built-in list, written as `name` or
    /// `schema.name`.
    pub functions: Vec<String>,
    /// Allows roles with access beyond the database: superusers, and roles that read or write
    /// server files, run programs on the server, or replicate the server.
    pub powerful_roles: bool,
    /// How PostgreSQL checks a query on the server.
    pub second_judge: SecondJudge,
}

/// How PostgreSQL checks a query on the server. The check resolves the query's names before the
/// query runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SecondJudge {
    /// Uses a temporary view. On a standby, or if the role cannot create a view, uses the parse
    /// tree that the server prints. The server also writes this tree to its log.
    #[default]
    Auto,
    /// Uses a temporary view only. If the role cannot create one, queries are rejected.
    View,
    /// Disables the server-side check, so that only the guard checks the text.
    Off,
}

impl SecondJudge {
    /// Returns the name used in settings.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            SecondJudge::Auto => "auto",
            SecondJudge::View => "view",
            SecondJudge::Off => "off",
        }
    }

    /// Returns the mode with this name.
    ///
    /// ```
    /// use quillet_sql::database::SecondJudge;
    ///
    /// assert_eq!(SecondJudge::from_name("view"), Some(SecondJudge::View));
    /// assert_eq!(SecondJudge::from_name("none"), None);
    /// ```
    #[must_use]
    pub fn from_name(name: &str) -> Option<SecondJudge> {
        [SecondJudge::Auto, SecondJudge::View, SecondJudge::Off]
            .into_iter()
            .find(|judge| judge.name() == name)
    }
}

impl Default for ConnectOptions {
    /// Defaults: TLS if the server supports it, 10 s to connect, 5 min to read a catalogue, no
    /// additional functions, no powerful roles.
    fn default() -> Self {
        ConnectOptions {
            ssl_disabled: false,
            connect_timeout: Duration::from_secs(10),
            catalogue_timeout: Duration::from_secs(300),
            functions: Vec::new(),
            powerful_roles: false,
            second_judge: SecondJudge::Auto,
        }
    }
}

/// Callback for the progress of a long operation. The arguments are the numbers of completed and of
/// all steps, and the name of the current step. The callback is called often and from any thread,
/// so it must return immediately.
pub type ProgressFn<'a> = &'a (dyn Fn(u64, u64, &str) + Send + Sync);

/// A database from which queries can read. Each call uses its own connection. Dropping the future
/// of a call also cancels the operation on the server.
pub trait Database: Send + Sync + fmt::Debug {
    /// Returns its SQL dialect.
    fn dialect(&self) -> SqlDialect;

    /// Describes the database and its address, without secrets.
    fn describe(&self) -> String;

    /// Connects and returns the server version and the role's privileges beyond reading.
    fn check(&self) -> BoxFuture<'_, Result<ConnectionReport, DatabaseError>>;

    /// Reads the whole catalogue in a bounded number of round trips.
    fn catalogue<'a>(
        &'a self,
        progress: ProgressFn<'a>,
    ) -> BoxFuture<'a, Result<Catalogue, DatabaseError>>;

    /// Returns the current fingerprint, which changes when tables or columns do; see
    /// [`Catalogue::fingerprint`].
    fn fingerprint(&self) -> BoxFuture<'_, Result<String, DatabaseError>>;

    /// Runs one untrusted query. The query is prepared, which allows one statement only. It runs in
    /// a read-only transaction that is always rolled back, with a server-side timeout and within
    /// `limits`. Implementations must not rely on a check of the text. Rows go into the sink as
    /// they arrive, so the sink may have received some if the query fails.
    fn query_into<'a>(
        &'a self,
        sql: &'a str,
        limits: &'a QueryLimits,
        sink: &'a mut dyn RowSink,
    ) -> BoxFuture<'a, Result<StreamEnd, DatabaseError>>;

    /// Runs a query with [`Database::query_into`] and collects its rows in memory.
    fn query<'a>(
        &'a self,
        sql: &'a str,
        limits: &'a QueryLimits,
    ) -> BoxFuture<'a, Result<RowSet, DatabaseError>> {
        Box::pin(async move {
            let mut rows = RowSet::default();
            let ended = self.query_into(sql, limits, &mut rows).await?;
            rows.truncated = ended.truncated();
            Ok(rows)
        })
    }
}

/// The result of checking a connection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConnectionReport {
    /// Server version.
    pub version: String,
    /// The role's privileges beyond reading, one sentence each. The list is empty if the role can
    /// only read.
    pub warnings: Vec<String>,
    /// Statements that create a role whose only permission is to read this database. The password
    /// is a placeholder. For a SQLite file, these are instructions to make the file read-only.
    pub reader: String,
}

/// The kind of a [`DatabaseError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DatabaseErrorKind {
    /// The database is unreachable or the connection was lost.
    Unreachable,
    /// Unknown user, wrong password or missing privilege.
    Denied,
    /// The text is not valid SQL of this dialect.
    Syntax,
    /// The query refers to an unknown table, column or function.
    UnknownName,
    /// The query exceeded its timeout.
    Timeout,
    /// The statement does not only read.
    ReadOnly,
    /// The server-side check rejected the query because of a function, type or relation that it
    /// uses.
    Refused,
    /// The role has too many privileges to run untrusted queries.
    Role,
    /// The server-side check could not run.
    Unjudged,
    /// The query exceeded a limit of Quillet or of the server.
    Limit,
    /// The query failed at run time, for example with a division by zero or an invalid cast.
    Failed,
    /// The driver is not part of this build.
    Missing,
}

impl DatabaseErrorKind {
    /// Returns the stable error code.
    #[must_use]
    pub fn code(self) -> ErrorCode {
        match self {
            DatabaseErrorKind::Unreachable => ErrorCode::SqlUnreachable,
            DatabaseErrorKind::Denied => ErrorCode::SqlDenied,
            DatabaseErrorKind::Syntax => ErrorCode::SqlSyntax,
            DatabaseErrorKind::UnknownName => ErrorCode::SqlUnknownName,
            DatabaseErrorKind::Timeout => ErrorCode::SqlTimeout,
            DatabaseErrorKind::ReadOnly => ErrorCode::SqlReadOnly,
            DatabaseErrorKind::Refused => ErrorCode::SqlRefused,
            DatabaseErrorKind::Role => ErrorCode::SqlRole,
            DatabaseErrorKind::Unjudged => ErrorCode::SqlUnjudged,
            DatabaseErrorKind::Limit => ErrorCode::SqlLimit,
            DatabaseErrorKind::Failed => ErrorCode::SqlFailed,
            DatabaseErrorKind::Missing => ErrorCode::FeatureMissing,
        }
    }
}

/// An error from a database. The error never contains a password.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct DatabaseError {
    /// Kind of the error.
    pub kind: DatabaseErrorKind,
    /// Error message from the database, if there is one.
    pub message: String,
    /// Native code: an SQLSTATE, or a MySQL or SQLite error number.
    pub native_code: Option<String>,
    /// Byte offset in the query, if the database reports it.
    pub position: Option<usize>,
    /// The fix, if known.
    pub hint: Option<String>,
}

impl From<FeatureDisabled> for DatabaseError {
    fn from(missing: FeatureDisabled) -> Self {
        DatabaseError::new(DatabaseErrorKind::Missing, missing.to_string())
    }
}

impl DatabaseError {
    /// Creates an error without a position.
    pub fn new(kind: DatabaseErrorKind, message: impl Into<String>) -> Self {
        DatabaseError {
            kind,
            message: message.into(),
            native_code: None,
            position: None,
            hint: None,
        }
    }
}
