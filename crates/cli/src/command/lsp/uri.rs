//! Conversion between file paths and the `file:` URIs of documents.

use std::path::{Path, PathBuf};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// Characters in a path that are percent-encoded.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'/')
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~');

/// Returns the path of a URI, or `None` for a document without a file (`untitled:…`).
pub(super) fn path(uri: &str) -> Option<PathBuf> {
    let rest = uri.strip_prefix("file://")?;
    // `file://localhost/path` is the same file as `file:///path`.
    let rest = rest.strip_prefix("localhost").unwrap_or(rest);
    let path = percent_decode_str(rest).decode_utf8().ok()?;
    let drive = |path: &str| path.as_bytes().get(2) == Some(&b':');
    Some(match path.strip_prefix('/') {
        Some(bare) if drive(&path) && cfg!(windows) => PathBuf::from(bare),
        _ if path.starts_with('/') => PathBuf::from(path.as_ref()),
        _ => return None,
    })
}

/// Returns the URI of an absolute path.
pub(super) fn of(path: &Path) -> String {
    let path = path.to_string_lossy().replace('\\', "/");
    let slash = if path.starts_with('/') { "" } else { "/" };
    format!("file://{slash}{}", utf8_percent_encode(&path, ENCODED))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_paths_are_each_others_counterpart() {
        for (text, uri) in [
            ("/a/b.ai.yaml", "file:///a/b.ai.yaml"),
            ("/a b/ü.yaml", "file:///a%20b/%C3%BC.yaml"),
        ] {
            assert_eq!(path(uri).as_deref(), Some(Path::new(text)));
            assert_eq!(of(Path::new(text)), uri);
        }
        assert_eq!(path("file://localhost/a").as_deref(), Some(Path::new("/a")));
        for other in [
            "untitled:Untitled-1",
            "file:a",
            "https://x/y",
            "file:///%ff",
        ] {
            assert_eq!(path(other), None, "{other}");
        }
    }
}
