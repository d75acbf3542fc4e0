//! Definitions and their histories over HTTP: permissions, writes and versions.

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
