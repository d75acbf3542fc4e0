//! PostgreSQL's password file (see "The Password File" in its documentation).

use std::path::{Path, PathBuf};

use quillet_sql::ConnectionUrl;

use crate::terminal;

/// Returns the password for an address from `PGPASSFILE` or `~/.pgpass`.
pub(super) fn password(url: &ConnectionUrl) -> Option<String> {
    let named = std::env::var_os("PGPASSFILE").map(PathBuf::from);
    let home = || std::env::home_dir().map(|home| home.join(".pgpass"));
    let path = named.or_else(home)?;
    let text = std::fs::read_to_string(&path).ok()?;
    if is_open_to_others(&path) {
        terminal::warning(&format!(
            "ignored {}: it is readable by other users; run `chmod 600` on it",
            path.display()
        ));
        return None;
    }
    let port = url.port.to_string();
    let wanted = [&url.host, &port, &url.database, &url.user].map(String::as_str);
    text.lines().find_map(|line| of_line(line, wanted))
}

#[cfg(unix)]
fn is_open_to_others(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata(path).is_ok_and(|found| found.mode() & 0o077 != 0)
}

#[cfg(not(unix))]
fn is_open_to_others(_: &Path) -> bool {
    false
}

/// Returns the password of a line `host:port:database:user:password` if the first four fields
/// match. `*` matches everything, and a backslash escapes a colon or a backslash.
fn of_line(line: &str, wanted: [&str; 4]) -> Option<String> {
    if line.starts_with('#') {
        return None;
    }
    let mut parts = vec![String::new()];
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        let last = parts.last_mut()?;
        match letter {
            '\\' => last.extend(letters.next()),
            ':' => parts.push(String::new()),
            letter => last.push(letter),
        }
    }
    let (password, asked) = (parts.get(4)?, parts.get(..4)?);
    let fits = |(part, wanted): (&String, &str)| part == "*" || part == wanted;
    let is_it = asked.iter().zip(wanted).all(fits) && !password.is_empty();
    is_it.then(|| password.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_fit_by_their_first_four_parts() {
        let wanted = ["db", "5432", "shop", "ann"];
        for (line, password) in [
            ("db:5432:shop:ann:s3cret", Some("s3cret")),
            ("*:*:*:*:any", Some("any")),
            ("db:5432:shop:ann:a\\:b\\\\c", Some("a:b\\c")),
            ("db:5433:shop:ann:x", None),
            ("#db:5432:shop:ann:x", None),
            ("db:5432:shop:ann", None),
            ("db:5432:shop:ann:", None),
            ("", None),
        ] {
            assert_eq!(of_line(line, wanted).as_deref(), password, "{line}");
        }
    }
}
