//! The contract with databases: what the three drivers do alike.

use std::fmt;
use std::time::Duration;

use quillet_core::build::FeatureDisabled;
use quillet_core::{BoxFuture, ErrorCode};

use crate::stream::{RowSink, StreamEnd};
use crate::{Catalogue, RowSet, SqlDialect};

pub use crate::connect::connect;
pub use crate::limits::QueryLimits;

/// Options of connections.
#[derive(Clone, Debug)]
pub struct ConnectOptions {
    /// Whether to do without TLS. Otherwise it is used where the server has it.
    pub ssl_disabled: bool,
    /// Time to connect.
    pub connect_timeout: Duration,
    /// Time for the whole reading of a catalogue.
    pub catalogue_timeout: Duration,
    /// Functions that queries may call besides those of the dialect's list: `name`, or
    /// `schema.name`.
    pub functions: Vec<String>,
    /// Whether roles may run queries that reach outside of their database: superusers, and roles
    /// that read or write files of the server, run programs there, or replicate it.
    pub powerful_roles: bool,
    /// How PostgreSQL is asked what a query resolves to.
    pub second_judge: SecondJudge,
}

/// How PostgreSQL is asked what a query resolves to, before the query runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SecondJudge {
    /// By a temporary view; on a standby, or where the role may make none, by the tree that the
    /// server prints, which its log gets as well.
    #[default]
    Auto,
    /// By a temporary view alone: elsewhere no query runs.
    View,
    /// Not at all: the guard of the text is the only one.
    Off,
}

impl SecondJudge {
    /// Its name in settings.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            SecondJudge::Auto => "auto",
            SecondJudge::View => "view",
            SecondJudge::Off => "off",
        }
    }

    /// The judge of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<SecondJudge> {
        [SecondJudge::Auto, SecondJudge::View, SecondJudge::Off]
            .into_iter()
            .find(|judge| judge.name() == name)
    }
}

impl Default for ConnectOptions {
    /// TLS where the server has it, 10 s to connect, 5 min to read a catalogue; no functions
    /// besides the list, no powerful roles.
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

/// Called with how far a long piece of work is: `done` of `total` steps, and what is being done.
/// Called from any thread, often; must return at once.
pub type ProgressFn<'a> = &'a (dyn Fn(u64, u64, &str) + Send + Sync);

/// A database that can be read. Each call takes a connection of its own or one that
/// was reset; dropping a call's future ends it in the server, too.
pub trait Database: Send + Sync + fmt::Debug {
    /// Whose SQL it speaks.
    fn dialect(&self) -> SqlDialect;

    /// What and where it is, without secrets.
    fn describe(&self) -> String;

    /// Connects, asks for the version, and says what the role may do that reading does not
    /// need: one sentence each, empty for a role that can only read.
    fn check(&self) -> BoxFuture<'_, Result<ConnectionReport, DatabaseError>>;

    /// Reads the whole catalogue, in a bounded number of round trips.
    fn catalogue<'a>(
        &'a self,
        progress: ProgressFn<'a>,
    ) -> BoxFuture<'a, Result<Catalogue, DatabaseError>>;

    /// What changes when tables or columns do: the `fingerprint` of a catalogue read now.
    fn fingerprint(&self) -> BoxFuture<'_, Result<String, DatabaseError>>;

    /// Runs one query, whoever wrote it: prepared (which takes one statement only), in a
    /// read-only transaction that is always rolled back, with the server's own time limit,
    /// and reads no more than the limits allow. Trusts no check of the text. Rows go into the sink
    /// as they come; of a query that fails it may have taken some.
    fn query_into<'a>(
        &'a self,
        sql: &'a str,
        limits: &'a QueryLimits,
        sink: &'a mut dyn RowSink,
    ) -> BoxFuture<'a, Result<StreamEnd, DatabaseError>>;

    /// The same with all rows at once: the folded stream, so that there is one way only.
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
    /// The server's version as it says it.
    pub version: String,
    /// What the role may do besides reading, a sentence each.
    pub warnings: Vec<String>,
    /// Statements that make a role which may only read this database; for a file, how it is made
    /// one that can only be read. Names are the database's own, the password is to be chosen.
    pub reader: String,
}

/// The kind of a [`DatabaseError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DatabaseErrorKind {
    /// It cannot be reached, or the connection broke.
    Unreachable,
    /// It does not know the user or the password, or the user may not see this.
    Denied,
    /// The text is not SQL of this dialect.
    Syntax,
    /// The query names a table, a column or a function that is not there.
    UnknownName,
    /// It takes longer than it may.
    Timeout,
    /// It would change something, which reading does not.
    ReadOnly,
    /// It calls, makes or reads what a query may not, as the server itself understood it.
    Refused,
    /// The role may do more than one that runs queries of others should.
    Role,
    /// The server could not say what the query would do.
    Unjudged,
    /// A limit of ours or of the server was met.
    Limit,
    /// The query is in order and failed while it ran: division by zero, a bad cast.
    Failed,
    /// This build has no driver for it.
    Missing,
}

impl DatabaseErrorKind {
    /// Stable code, as in error bodies.
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

/// The error of a database. Never carries a password.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct DatabaseError {
    /// What kind of failure it was.
    pub kind: DatabaseErrorKind,
    /// What happened, in the database's words where it said something.
    pub message: String,
    /// The database's own code: SQLSTATE, or the number of MySQL or SQLite.
    pub native_code: Option<String>,
    /// The byte of the query that it is about, where the database says so.
    pub position: Option<usize>,
    /// How to fix it, where the database says so.
    pub hint: Option<String>,
}

impl From<FeatureDisabled> for DatabaseError {
    fn from(missing: FeatureDisabled) -> Self {
        DatabaseError::new(DatabaseErrorKind::Missing, missing.to_string())
    }
}

impl DatabaseError {
    /// An error without a place.
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
