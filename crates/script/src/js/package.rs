//! `package.json`: maps names to the files of a package (see "Packages" in Node's documentation).

use std::fs;
use std::path::Path;

use serde_json::Value as Json;

/// Maximum size of a `package.json` in bytes.
const LARGEST: u64 = 1 << 20;

/// Maximum depth of nested conditions.
const DEEPEST: usize = 16;

/// The `package.json` of a package. An invalid file is treated as missing.
#[derive(Clone, Debug, Default)]
pub(super) struct Package(Json);

impl Package {
    /// Reads the `package.json` of a folder.
    pub(super) fn read(folder: &Path) -> Option<Self> {
        let file = folder.join("package.json");
        if fs::metadata(&file).ok()?.len() > LARGEST {
            return None;
        }
        serde_json::from_slice(&fs::read(file).ok()?)
            .ok()
            .map(Package)
    }

    pub(super) fn field(&self, name: &str) -> Option<&Json> {
        self.0.get(name).filter(|value| !value.is_null())
    }

    pub(super) fn name(&self) -> Option<&str> {
        self.field("name")?.as_str()
    }

    pub(super) fn exports(&self) -> Option<&Json> {
        self.field("exports")
    }

    /// Returns the entry file of a package without `exports`.
    pub(super) fn main(&self, required: bool) -> Option<&str> {
        let modern = if required { None } else { self.field("module") };
        modern.or_else(|| self.field("main"))?.as_str()
    }
}

/// Splits a specifier into package name and entry point: `@scope/name/inner` is `@scope/name` and
/// `./inner`.
pub(super) fn split(specifier: &str) -> Option<(&str, String)> {
    let scoped = usize::from(specifier.starts_with('@'));
    let end = specifier
        .match_indices('/')
        .nth(scoped)
        .map_or(specifier.len(), |(at, _)| at);
    let (name, inner) = specifier.split_at(end);
    let is_name = !name.is_empty()
        && name.contains('/') == (scoped == 1)
        && !name
            .split('/')
            .any(|part| part.is_empty() || part.starts_with('.'));
    is_name.then(|| (name, format!(".{inner}")))
}

/// Returns the file of an entry point in `exports`.
pub(super) fn export(exports: &Json, door: &str, required: bool) -> Option<String> {
    let doors = exports
        .as_object()
        .filter(|doors| doors.keys().any(|door| door.starts_with('.')));
    let Some(doors) = doors else {
        return (door == ".")
            .then(|| pick(exports, "", required, DEEPEST))
            .flatten();
    };
    if let Some(target) = doors.get(door) {
        return pick(target, "", required, DEEPEST);
    }
    let fitting = doors
        .iter()
        .filter_map(|(pattern, target)| Some((pattern, target, fits(pattern, door)?)));
    let (_, target, rest) =
        fitting.max_by_key(|(pattern, ..)| pattern.find('*').unwrap_or(pattern.len()))?;
    pick(target, rest, required, DEEPEST)
}

/// Returns the text that `*` matches, if the pattern fits. A pattern that ends with `/` is a
/// folder.
fn fits<'a>(pattern: &str, door: &'a str) -> Option<&'a str> {
    let (before, after) = match pattern.split_once('*') {
        Some(parts) => parts,
        None => (pattern.strip_suffix('/').map(|_| pattern)?, ""),
    };
    door.strip_prefix(before)?
        .strip_suffix(after)
        .filter(|rest| !rest.is_empty())
}

/// Returns the first matching condition or alternative. The file is never outside the package.
fn pick(target: &Json, rest: &str, required: bool, depth: usize) -> Option<String> {
    let depth = depth.checked_sub(1)?;
    match target {
        Json::String(path) => {
            let path = if path.ends_with('/') {
                format!("{path}{rest}")
            } else {
                path.replace('*', rest)
            };
            let is_inner = path.starts_with("./")
                && !path
                    .split('/')
                    .any(|part| part == ".." || part == "node_modules");
            is_inner.then_some(path)
        }
        Json::Array(targets) => targets
            .iter()
            .find_map(|target| pick(target, rest, required, depth)),
        Json::Object(conditions) => {
            let kind = if required { "require" } else { "import" };
            let holds = |name: &str| name == kind || name == "default" || name == "node";
            let mut held = conditions.iter().filter(|(name, _)| holds(name));
            held.find_map(|(_, target)| pick(target, rest, required, depth))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn names_of_packages() {
        let cases = [
            ("lodash", Some(("lodash", "."))),
            ("lodash/fp/x.js", Some(("lodash", "./fp/x.js"))),
            ("@a/b", Some(("@a/b", "."))),
            ("@a/b/c", Some(("@a/b", "./c"))),
            ("@a", None),
            ("", None),
            (".hidden", None),
            ("a/../../b", Some(("a", "./../../b"))),
        ];
        for (specifier, expected) in cases {
            let expected = expected.map(|(name, inner)| (name, inner.to_owned()));
            assert_eq!(split(specifier), expected, "{specifier}");
        }
    }

    #[test]
    fn doors_of_packages() {
        let all = json!({
            ".": {"types": "./x.d.ts", "import": "./main.mjs", "require": {"node": "./main.cjs", "default": "./no.js"}},
            "./inner": "./lib/inner.js",
            "./lib/*": "./lib/*.js",
            "./lib/deep/*": [null, "./deep/*.js"],
            "./old/": "./old/",
            "./out": "../outside.js",
            "./away": "./node_modules/x.js",
            "./secret/*": null
        });
        let cases = [
            (&all, ".", false, Some("./main.mjs")),
            (&all, ".", true, Some("./main.cjs")),
            (&all, "./inner", true, Some("./lib/inner.js")),
            (&all, "./lib/a", true, Some("./lib/a.js")),
            (&all, "./lib/deep/a", true, Some("./deep/a.js")),
            (&all, "./lib/../../a", true, None),
            (&all, "./old/x.js", true, Some("./old/x.js")),
            (&all, "./out", true, None),
            (&all, "./away", true, None),
            (&all, "./secret/a", true, None),
            (&all, "./nothere", true, None),
            (&json!("./one.js"), ".", true, Some("./one.js")),
            (&json!("./one.js"), "./two", true, None),
            (&json!({"import": "./es.js"}), ".", true, None),
        ];
        for (exports, door, required, expected) in cases {
            assert_eq!(
                export(exports, door, required).as_deref(),
                expected,
                "{door} {required}"
            );
        }
    }
}
