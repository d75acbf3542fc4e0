//! Questions to databases: from words to checked, read-only SQL and its rows.
//!
//! The way of a question: a [`Catalogue`] read from the database → the tables that matter
//! ([`rank`], then the model's choice, then repair: [`chain`]) → their schema as text → the
//! model → the [`guard`], which reads the answer as the database's dialect and lets only
//! reading pass → a [`Database`] that does not trust the guard and rolls everything back → rows.
//! [`Databases`] ties them together under the names that people gave their connections.
//!
//! The crate knows no provider and no HTTP. Models, stores and archives are contracts of core.
//!
//! ```
//! use quillet_sql::SqlDialect;
//! use quillet_sql::guard::{Policy, check};
//!
//! let policy = Policy::default();
//! let query = "SELECT city, count(*) FROM customers GROUP BY city";
//! let approved = check(query, SqlDialect::PostgreSql, None, &policy).unwrap();
//! assert_eq!(approved.tables, ["customers"]);
//!
//! let refused = check("DELETE FROM customers", SqlDialect::PostgreSql, None, &policy);
//! assert!(refused.is_err());
//! ```
//!
//! Where comments name table-chat: that is the Python service whose HTTP API and chain of two
//! prompts Quillet keeps, the latter as [`ChainMode::Seed`].

// Code that only a feature uses which this build lacks is no dead code to report.
#![cfg_attr(
    not(all(feature = "columnar", feature = "mysql", feature = "postgres")),
    allow(dead_code)
)]

mod bounded;
pub mod catalogue;
pub mod chain;
#[cfg(not(feature = "columnar"))]
mod columnar;
mod config;
mod connect;
mod connect_help;
pub mod database;
pub mod demo;
mod dialect;
mod error;
pub mod eval;
pub mod export;
pub mod files;
pub mod guard;
pub mod layout;
mod limits;
#[cfg(feature = "mysql")]
mod mysql;
#[cfg(not(feature = "mysql"))]
#[path = "mysql_disabled.rs"]
mod mysql;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(not(feature = "postgres"))]
#[path = "postgres_disabled.rs"]
mod postgres;
pub mod rank;
pub mod rows;
mod service;
mod sqlite;
pub mod stream;
#[cfg(any(feature = "mysql", feature = "postgres"))]
mod tls;
pub mod tools;
mod tunnel;
mod url;
pub mod values;

pub use catalogue::Catalogue;
pub use config::{ChainMode, SqlConfig};
pub use connect::connect;
pub use database::{Database, DatabaseError, DatabaseErrorKind};
pub use dialect::SqlDialect;
pub use error::SqlError;
pub use limits::QueryLimits;
pub use rows::{Cell, ColumnInfo, RowSet};
pub use service::{
    Connection, ConnectionDefinition, Databases, PutResult, QueryRun, RemoveResult, RunOptions,
    ServiceParts, SshAuth, SshConfig, StreamResult,
};
pub use url::{ConnectionUrl, UrlError};
