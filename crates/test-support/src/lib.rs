//! What the tests and examples of several crates share: real servers, a provider that does what it is
//! told, a store that goes away, tools that answer in the process. Never part of the product.
//!
//! ```no_run
//! let server = quillet_test_support::Postgres::start();
//! server.execute("CREATE TABLE users (id int PRIMARY KEY, name text)");
//! let reader = server.create_role("reader");
//! server.execute("GRANT SELECT ON users TO reader");
//! // … connect to server.url() as the owner, or to reader …
//! ```
//!
//! Each server is a process of its own on a free port, with a data folder of its own under the
//! system's folder for temporary files. Dropping it stops the process and removes the folder. So
//! does the end of the process that started it, however it ends: a server waits on a
//! pipe whose other end only that process holds.
//!
//! Data folders are copies of one that is made once for each version of a server and kept. A server
//! that is not installed is a panic that names the package; nothing is skipped.

#![allow(
    clippy::missing_panics_doc,
    clippy::unwrap_used,
    reason = "a test that cannot go on panics"
)]

mod mariadb;
mod postgres;
mod redis;
pub mod scripted;
mod sshd;
mod store;
mod supervised;
mod template;
mod tools;
mod user;

pub use mariadb::MariaDb;
pub use postgres::Postgres;
pub use redis::{Cluster, RedisServer, SentinelSet, TempDir, free_port, wait_for};
pub use sshd::Sshd;
pub use store::TestStore;
pub use tools::EchoTools;
