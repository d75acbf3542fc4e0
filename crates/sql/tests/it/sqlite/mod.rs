//! SQLite files.

mod catalogue;
mod folder;
mod names;
mod querying;
