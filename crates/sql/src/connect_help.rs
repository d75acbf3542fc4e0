//! How a connection that fails is fixed: what both servers have in common.

use std::io;

use quillet_core::nearest;

/// Most names of databases that are listed.
const MOST: usize = 5;

/// What to look at where a server was not reached.
pub(crate) fn unreached(error: &io::Error, server: &str, host: &str, port: u16) -> Option<String> {
    Some(match error.kind() {
        io::ErrorKind::ConnectionRefused => {
            format!(
                "nothing listens at {host}:{port}; is {server} running there, and on this port?"
            )
        }
        io::ErrorKind::NotFound => format!("no socket of {server} is there"),
        io::ErrorKind::TimedOut
        | io::ErrorKind::HostUnreachable
        | io::ErrorKind::NetworkUnreachable => {
            format!("no way leads to {host}:{port}; is a firewall or a tunnel between?")
        }
        // What the system's resolver says has no kind of its own.
        _ if error.to_string().contains("lookup") => format!("no host is called {host:?}"),
        _ => return None,
    })
}

/// The database that was meant, by the names of those that are there.
pub(crate) fn databases(name: &str, known: &[String]) -> Option<String> {
    if let Some(near) = nearest(name, known.iter().map(String::as_str)) {
        return Some(format!("did you mean {near:?}?"));
    }
    let listed: Vec<String> = known
        .iter()
        .take(MOST)
        .map(|name| format!("{name:?}"))
        .collect();
    let more = if known.len() > MOST { ", …" } else { "" };
    (!listed.is_empty()).then(|| format!("the server has {}{more}", listed.join(", ")))
}
