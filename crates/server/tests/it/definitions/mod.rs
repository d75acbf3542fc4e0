//! Definitions with their histories over HTTP: who may, what is written, what is kept of it.

mod databases;
mod doors;
mod ids;
mod labels;
mod lists;
mod place;
mod races;
mod rights;
mod unstored;
mod versions;
mod watch;
mod writing;
