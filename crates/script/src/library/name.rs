//! Names of scripts and files as scripts write them, and where they can lead.
//!
//! A name is data: nothing here looks at a disk. What a name could mean is a short list of
//! paths below a root; a name that would leave the root means nothing and is refused.

use crate::error::{ErrorKind, ScriptError};
use crate::syntax::{Script, ScriptSource};

/// Extensions of scripts; either may be omitted of a name.
pub(crate) const EXTENSIONS: [&str; 2] = [".ai.yaml", ".ai.yml"];

/// Bytes of a name. Longer names are refused.
pub const MAX_NAME: usize = 512;

/// The reason why a name may not be looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// It has no characters.
    #[error("is empty")]
    Empty,
    /// It is longer than [`MAX_NAME`].
    #[error("is longer than 512 bytes")]
    Long,
    /// It contains a control character, such as NUL.
    #[error("contains a control character")]
    Control,
    /// `/x`, `C:x` or `\\x`.
    #[error("is absolute: names are relative to the script that uses them")]
    Absolute,
    /// It has a `\`.
    #[error("contains a backslash: separate folders with /")]
    Backslash,
    /// It has a dot or slash in percent encoding.
    #[error("contains an encoded dot, slash or NUL")]
    Encoded,
    /// Its `..` go above the root, or a link does.
    #[error("is outside of the script folders")]
    Leaves,
}

/// Whether a name may be looked up at all.
///
/// # Errors
/// Why not.
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

/// Whether a name is meant from the script's own folder only: `./x`, `../x`.
pub(crate) fn is_explicit(name: &str) -> bool {
    name.starts_with("./") || name.starts_with("../")
}

/// The path that a name means from a folder, both relative to one root, with `/` between.
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

/// Files that may hold the script of a path, the likeliest first: the path itself where it has a
/// script's extension; else with one; else the entry of the package of that name.
pub(crate) fn candidates(path: &str) -> Vec<String> {
    if stem(path).is_some() {
        return vec![path.to_owned()];
    }
    let base = path.rsplit('/').next().unwrap_or(path);
    let plain = EXTENSIONS.map(|extension| format!("{path}{extension}"));
    let entry = EXTENSIONS.map(|extension| format!("{path}/{base}{extension}"));
    plain.into_iter().chain(entry).collect()
}

/// A script's file name without folders and extension; `None` where it has no script's extension.
pub(crate) fn stem(path: &str) -> Option<&str> {
    let base = path.rsplit('/').next()?;
    let without = |extension: &&str| base.strip_suffix(*extension);
    EXTENSIONS.iter().find_map(without)
}

/// The folder of a path; empty for a file in the root.
pub(crate) fn folder(path: &str) -> &str {
    path.rfind('/').map_or("", |slash| &path[..slash])
}

/// A script's id: `_id` of its front matter, else its file name without `.ai.yaml`.
#[must_use]
pub fn id(script: &Script) -> &str {
    let own = script.config.get("_id").and_then(|node| node.text());
    own.filter(|id| !id.is_empty()).unwrap_or_else(|| {
        let name = &script.source.name;
        stem(name).unwrap_or(name)
    })
}

/// The error of a name that was refused.
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
