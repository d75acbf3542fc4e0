//! Tests the SQLite driver.

mod catalogue;
pub(crate) mod folder;
mod names;
mod querying;
mod safety;
mod virtual_tables;
