//! SQLite files.

mod catalogue;
pub(crate) mod folder;
mod names;
mod querying;
mod safety;
mod virtual_tables;
