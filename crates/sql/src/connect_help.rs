//! Hints for failed connections, shared by PostgreSQL and MySQL.

use std::io;

use quillet_core::nearest;

/// Maximum number of database names in a hint.
const MAX_LISTED: usize = 5;

/// Returns a hint for a server that cannot be reached.
pub(crate) fn unreachable_hint(
    error: &io::Error,
    server: &str,
    host: &str,
    port: u16,
) -> Option<String> {
    Some(match error.kind() {
        io::ErrorKind::ConnectionRefused => {
            format!(
                "no server listens at {host}:{port}; check that {server} runs there, on this port"
            )
        }
        io::ErrorKind::NotFound => format!("socket of {server} not found; check the path"),
        io::ErrorKind::TimedOut
        | io::ErrorKind::HostUnreachable
        | io::ErrorKind::NetworkUnreachable => {
            format!("no route to {host}:{port}; check firewalls and tunnels")
        }
        // DNS errors have no error kind, so the message is the only evidence.
        _ if error.to_string().contains("lookup") => format!("unknown host {host:?}"),
        _ => return None,
    })
}

/// Returns a hint for an unknown database, from the names of those on the server.
pub(crate) fn unknown_database_hint(name: &str, known: &[String]) -> Option<String> {
    // A single similar name is enough. A list of names would only repeat it.
    if let Some(near) = nearest(name, known.iter().map(String::as_str)) {
        return Some(format!("did you mean {near:?}?"));
    }
    let listed: Vec<String> = known
        .iter()
        .take(MAX_LISTED)
        .map(|name| format!("{name:?}"))
        .collect();
    let more = if known.len() > MAX_LISTED {
        ", …"
    } else {
        ""
    };
    (!listed.is_empty()).then(|| format!("databases of this server: {}{more}", listed.join(", ")))
}
