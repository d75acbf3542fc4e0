//! `${env:NAME}`, `${env:NAME:default}` and `${file:path}` in a prompty file.
//!
//! References are resolved only through the caller's [`FileEnvironment`], and no path may leave the
//! folder of the prompt file.

use std::path::{Component, Path};

use quillet_core::{Diagnostic, Span};

use super::yaml::{self, Report, YamlData, YamlNode};
use super::{AccessError, FileEnvironment};

/// Keys of connection data in version 2 and version 1 of prompty.
const CONNECTIONS: [&str; 2] = ["connection", "configuration"];

/// Replaces all references in a value.
pub(super) fn resolve(node: &mut YamlNode, outside: &dyn FileEnvironment, report: &mut Report<'_>) {
    visit(node, true, outside, report);
}

/// Visits a value. `used` is false in connection data that is left unresolved.
fn visit(node: &mut YamlNode, used: bool, outside: &dyn FileEnvironment, report: &mut Report<'_>) {
    match &mut node.data {
        YamlData::List(items) => {
            for item in items {
                visit(item, used, outside, report);
            }
        }
        YamlData::Map(entries) => {
            for entry in entries {
                let is_connection = CONNECTIONS.contains(&entry.key.as_str());
                let kept = is_connection && !outside.fills_connections();
                visit(&mut entry.value, used && !kept, outside, report);
            }
        }
        YamlData::Scalar(_) => replace(node, used, outside, report),
    }
}

fn replace(
    node: &mut YamlNode,
    used: bool,
    outside: &dyn FileEnvironment,
    report: &mut Report<'_>,
) {
    let Some((protocol, rest)) = node.as_str().and_then(reference) else {
        return;
    };
    // A path that leaves the folder is an error even if the reference is not resolved.
    if !used && (protocol == "env" || inside(rest)) {
        return;
    }
    let found = match protocol {
        "env" => variable(rest, node.at, outside, report),
        _ => file(rest, node.at, outside),
    };
    match found {
        Ok(data) => node.data = data,
        Err(wrong) => report.error(node.at, wrong.to_string(), None),
    }
}

/// Error of a reference without a value.
#[derive(Debug, thiserror::Error)]
enum ReferenceError {
    #[error("cannot read {0:?}: {1}")]
    Refused(String, AccessError),
    #[error("Environment variable '{0}' not set: set it, or write ${{env:{0}:default}}")]
    NotSet(String),
    #[error("{0}")]
    Content(String),
}

/// Splits a text that is a single reference into the protocol and the rest.
fn reference(text: &str) -> Option<(&'static str, &str)> {
    let inside = text.strip_prefix("${")?.strip_suffix('}')?;
    let (protocol, rest) = inside.split_once(':')?;
    let known = ["env", "file"];
    let known = known
        .into_iter()
        .find(|known| protocol.eq_ignore_ascii_case(known));
    known.map(|known| (known, rest))
}

fn variable(
    rest: &str,
    at: usize,
    outside: &dyn FileEnvironment,
    report: &mut Report<'_>,
) -> Result<YamlData, ReferenceError> {
    let (name, default) = rest.split_once(':').unwrap_or((rest, ""));
    let refused = |why: AccessError| ReferenceError::Refused(format!("env:{name}"), why);
    let value = match outside.variable(name) {
        Ok(value) => value,
        Err(why) if default.is_empty() => return Err(refused(why)),
        Err(why @ AccessError::NotAllowed(_)) => {
            let help = Some("its default is used".into());
            report.warning(at, refused(why).to_string(), help);
            None
        }
        Err(_) => None,
    };
    match value {
        Some(value) => Ok(YamlData::Scalar(value.into())),
        None if !default.is_empty() => Ok(YamlData::Scalar(default.into())),
        None => Err(ReferenceError::NotSet(name.to_owned())),
    }
}

/// The content of a file: JSON and YAML as values, anything else as text.
fn file(path: &str, at: usize, outside: &dyn FileEnvironment) -> Result<YamlData, ReferenceError> {
    let refused = |why: AccessError| ReferenceError::Refused(path.to_owned(), why);
    if !inside(path) {
        return Err(refused(AccessError::Outside));
    }
    let text = outside.file(path).map_err(refused)?;
    let ending = path.rsplit_once('.').map_or("", |(_, ending)| ending);
    if !matches!(ending, "json" | "yaml" | "yml") {
        return Ok(YamlData::Scalar(text.into()));
    }
    let end = text.len();
    let read = yaml::parse(path, &text, Span { start: 0, end });
    let mut node = read.map_err(|found| ReferenceError::Content(format_diagnostics(&found)))?;
    settle(&mut node, at);
    Ok(node.data)
}

fn format_diagnostics(found: &[Diagnostic]) -> String {
    found.iter().map(Diagnostic::to_string).collect()
}

/// Whether a path stays in its folder. Only the text of the path is checked, not the disk.
fn inside(path: &str) -> bool {
    let plain = |part| matches!(part, Component::Normal(_) | Component::CurDir);
    !path.is_empty() && !path.contains(['\\', '\0']) && Path::new(path).components().all(plain)
}

/// Sets all locations of an included value to the reference, so that errors are reported there.
fn settle(node: &mut YamlNode, at: usize) {
    node.at = at;
    match &mut node.data {
        YamlData::List(items) => items.iter_mut().for_each(|item| settle(item, at)),
        YamlData::Map(entries) => {
            for entry in entries {
                entry.at = at;
                settle(&mut entry.value, at);
            }
        }
        YamlData::Scalar(_) => {}
    }
}
