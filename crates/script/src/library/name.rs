//! Names of scripts and files in scripts, and the paths that they can refer to.
//!
//! This module does not access the file system. It maps a name to a short list of paths below a
//! root, and rejects names that would lead outside it.

use crate::error::{ErrorKind, ScriptError};
use crate::syntax::{Script, ScriptSource};

/// Extensions of scripts. A name may omit them.
pub(crate) const EXTENSIONS: [&str; 2] = [".ai.yaml", ".ai.yml"];

/// Maximum length of a name in bytes.
pub const MAX_NAME: usize = 512;

/// The reason why a name is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// It is empty.
    #[error("is empty")]
    Empty,
    /// It is longer than [`MAX_NAME`].
    #[error("is longer than 512 bytes")]
    Long,
    /// It contains a control character, such as NUL.
    #[error("contains a control character")]
    Control,
    /// It is an absolute path: `/x`, `C:x` or `\\x`.
    #[error("is absolute: names are relative to the script that uses them")]
    Absolute,
    /// It contains a `\`.
    #[error("contains a backslash: separate folders with /")]
    Backslash,
    /// It contains a percent-encoded dot or slash.
    #[error("contains an encoded dot, slash or NUL")]
    Encoded,
    /// Its `..` or a link leads outside the root.
    #[error("is outside of the script folders")]
    Leaves,
}

/// Checks whether a name may be looked up.
///
/// Returns the reason if the name is rejected.
pub fn check(name: &str) -> Result<(), NameError> {
    let lower = name.to_ascii_lowercase();
    let drive = matches!(name.as_bytes(), [letter, b':', ..] if letter.is_ascii_alphabetic());
    let encoded = ["%2e", "%2f", "%5c", "%00"];
    match () {
        () if name.is_empty() => Err(NameError::Empty),
        () if name.len() > MAX_NAME => Err(NameError::Long),
        () if name.chars().any(char::is_control) => Err(NameError::Control),
        () if name.starts_with('/') || name.starts_with('\\') || drive => Err(NameError::Absolute),
        () if name.contains('\\') => Err(NameError::Backslash),
        () if encoded.iter().any(|code| lower.contains(code)) => Err(NameError::Encoded),
        () => Ok(()),
    }
}

/// Returns whether a name refers only to the script's own folder: `./x`, `../x`.
pub(crate) fn is_explicit(name: &str) -> bool {
    name.starts_with("./") || name.starts_with("../")
}

/// Joins a folder and a name. Both are relative to the same root and use `/`.
pub(crate) fn join(folder: &str, name: &str) -> Result<String, NameError> {
    check(name)?;
    let mut parts: Vec<&str> = Vec::new();
    for part in folder.split('/').chain(name.split('/')) {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop().ok_or(NameError::Leaves)?;
            }
            _ => parts.push(part),
        }
    }
    Ok(parts.join("/"))
}

/// Returns the possible script files for a path, most likely first: the path itself if it has a
/// script extension, otherwise the path with an extension, then the entry of the package with that
/// name.
pub(crate) fn candidates(path: &str) -> Vec<String> {
    if stem(path).is_some() {
        return vec![path.to_owned()];
    }
    let base = path.rsplit('/').next().unwrap_or(path);
    let plain = EXTENSIONS.map(|extension| format!("{path}{extension}"));
    let entry = EXTENSIONS.map(|extension| format!("{path}/{base}{extension}"));
    plain.into_iter().chain(entry).collect()
}

/// Returns a script's file name without folders and extension, or `None` without a script
/// extension.
pub(crate) fn stem(path: &str) -> Option<&str> {
    let base = path.rsplit('/').next()?;
    let without = |extension: &&str| base.strip_suffix(*extension);
    EXTENSIONS.iter().find_map(without)
}

/// Returns the folder of a path; empty for a file in the root.
pub(crate) fn folder(path: &str) -> &str {
    path.rfind('/').map_or("", |slash| &path[..slash])
}

/// Returns a script's id: the `_id` in the front matter, or the file name without `.ai.yaml` if
/// there is no `_id`.
#[must_use]
pub fn id(script: &Script) -> &str {
    let own = script.config.get("_id").and_then(|node| node.text());
    own.filter(|id| !id.is_empty()).unwrap_or_else(|| {
        let name = &script.source.name;
        stem(name).unwrap_or(name)
    })
}

/// Returns the error for a rejected name.
pub(super) fn denied(name: &str, from: Option<&ScriptSource>, why: NameError) -> ScriptError {
    let source = from.map_or("library", |source| &source.name);
    let mut shown: String = name.chars().take(80).collect();
    if shown.len() < name.len() {
        shown.push('…');
    }
    ScriptError::plain(
        ErrorKind::Denied,
        source,
        format!("the name {shown:?} {why}"),
    )
}
