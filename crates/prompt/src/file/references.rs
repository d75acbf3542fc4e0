//! `${env:NAME}`, `${env:NAME:default}` and `${file:path}` in a prompty file.
//!
//! Only what the caller's [`Surroundings`] hand out is reached, and no path
//! leads out of the folder of the prompt file.

use std::path::{Component, Path};

use quillet_core::{Diagnostic, Span};

use super::yaml::{self, Data, Node, Report};
use super::{FileRefusal, Surroundings};

/// Puts what is referenced in its place, everywhere in a value.
pub(super) fn resolve(node: &mut Node, outside: &dyn Surroundings, report: &mut Report<'_>) {
    match &mut node.data {
        Data::List(items) => {
            for item in items {
                resolve(item, outside, report);
            }
        }
        Data::Map(entries) => {
            for entry in entries {
                resolve(&mut entry.value, outside, report);
            }
        }
        Data::Scalar(_) => replace(node, outside, report),
    }
}

fn replace(node: &mut Node, outside: &dyn Surroundings, report: &mut Report<'_>) {
    let Some((protocol, rest)) = node.as_str().and_then(reference) else {
        return;
    };
    let found = match protocol {
        "env" => variable(rest, outside),
        _ => file(rest, node.at, outside),
    };
    match found {
        Ok(data) => node.data = data,
        Err(message) => report.error(node.at, message, None),
    }
}

/// Protocol and rest of a text that is all a reference.
fn reference(text: &str) -> Option<(&'static str, &str)> {
    let inside = text.strip_prefix("${")?.strip_suffix('}')?;
    let (protocol, rest) = inside.split_once(':')?;
    let known = ["env", "file"];
    let known = known
        .into_iter()
        .find(|known| protocol.eq_ignore_ascii_case(known));
    known.map(|known| (known, rest))
}

fn variable(rest: &str, outside: &dyn Surroundings) -> Result<Data, String> {
    let (name, default) = rest.split_once(':').unwrap_or((rest, ""));
    match outside.variable(name) {
        Some(value) => Ok(Data::Scalar(value.into())),
        None if !default.is_empty() => Ok(Data::Scalar(default.into())),
        None => Err(format!(
            "Environment variable '{name}' not set: set it, or write ${{env:{name}:default}}"
        )),
    }
}

/// The content of a file: JSON and YAML as values, anything else as text.
fn file(path: &str, at: usize, outside: &dyn Surroundings) -> Result<Data, String> {
    let refused = |why: FileRefusal| format!("cannot read {path:?}: {why}");
    if !inside(path) {
        return Err(refused(FileRefusal::Outside));
    }
    let text = outside.file(path).map_err(refused)?;
    let ending = path.rsplit_once('.').map_or("", |(_, ending)| ending);
    if !matches!(ending, "json" | "yaml" | "yml") {
        return Ok(Data::Scalar(text.into()));
    }
    let end = text.len();
    // JSON is YAML, but for tabs, which no one indents these with.
    let mut node =
        yaml::parse(path, &text, Span { start: 0, end }).map_err(|found| said(&found))?;
    settle(&mut node, at);
    Ok(node.data)
}

fn said(found: &[Diagnostic]) -> String {
    found.iter().map(Diagnostic::to_string).collect()
}

/// Whether a path stays in its folder, whatever is on the disk.
fn inside(path: &str) -> bool {
    let plain = |part| matches!(part, Component::Normal(_) | Component::CurDir);
    !path.is_empty() && !path.contains(['\\', '\0']) && Path::new(path).components().all(plain)
}

/// What stands in another file is reported at the reference to it.
fn settle(node: &mut Node, at: usize) {
    node.at = at;
    match &mut node.data {
        Data::List(items) => items.iter_mut().for_each(|item| settle(item, at)),
        Data::Map(entries) => {
            for entry in entries {
                entry.at = at;
                settle(&mut entry.value, at);
            }
        }
        Data::Scalar(_) => {}
    }
}
