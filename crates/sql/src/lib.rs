//! Text-to-SQL: turns questions into checked, read-only SQL and returns the rows.
//!
//! A question passes these stages: a [`Catalogue`] read from the database → the relevant tables
//! ([`rank`], the model's selection, repair: [`chain`]) → their schema as text → the model → the
//! [`guard`], which parses the answer in the database's dialect and accepts only queries that read
//! → a [`Database`], which does not rely on the guard and rolls back everything → rows.
//! [`Databases`] combines the stages for named connections.
//!
//! The crate does not depend on any provider or on HTTP. Models, stores and archives are traits of
//! the core crate.
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
//! In comments, table-chat is the Python service whose HTTP API and two-prompt pipeline Quillet
//! supports. The pipeline is [`ChainMode::Seed`].

// Without some features, the compiler would report the code that only they use as dead.
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
