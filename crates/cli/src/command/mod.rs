//! One module for each command.

pub(crate) mod ask;
pub(crate) mod chat;
pub(crate) mod check;
pub(crate) mod convert;
pub(crate) mod demo;
pub(crate) mod demo_formats;
pub(crate) mod doctor;
pub(crate) mod fmt;
pub(crate) mod history;
pub(crate) mod js_worker;
pub(crate) mod keys;
pub(crate) mod lsp;
pub(crate) mod mcp;
pub(crate) mod models;
pub(crate) mod render;
pub(crate) mod run;
pub(crate) mod serve;
pub(crate) mod settings;
#[cfg(feature = "sql")]
pub(crate) mod sql;
#[cfg(not(feature = "sql"))]
#[path = "sql_missing.rs"]
pub(crate) mod sql;
pub(crate) mod stored;
pub(crate) mod test;
pub(crate) mod trace;
