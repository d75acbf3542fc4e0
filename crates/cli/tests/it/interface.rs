//! Names that clients depend on are stable: routes and schemas of the OpenAPI document, commands
//! and flags, settings, and error codes. Descriptions may change. The names are listed in
//! `conformance/interface`. After an intended change, run with `QUILLET_WRITE_INTERFACE=1` to
//! update them, and review the diff.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::Value as Json;

use crate::Place;
use crate::serve::Running;

fn compare(file: &str, lines: &[String]) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let path = root.join("conformance/interface").join(file);
    if std::env::var_os("QUILLET_WRITE_INTERFACE").is_some() {
        fs::write(&path, lines.join("\n") + "\n").unwrap();
    }
    let text = fs::read_to_string(&path).unwrap();
    let expected: BTreeSet<&str> = text.lines().collect();
    let actual: BTreeSet<&str> = lines.iter().map(String::as_str).collect();
    assert!(!actual.is_empty(), "{file}: nothing was read");
    let removed: Vec<_> = expected.difference(&actual).collect();
    let added: Vec<_> = actual.difference(&expected).collect();
    assert!(
        removed.is_empty() && added.is_empty(),
        "{file}: removed {removed:#?}, added {added:#?}"
    );
}

/// Returns one line for each leaf of the document, without descriptions.
fn flatten(value: &Json, pointer: &str, lines: &mut Vec<String>) {
    match value {
        Json::Object(members) if !members.is_empty() => {
            let mut names: Vec<&String> = members.keys().collect();
            names.sort();
            for name in names {
                let member = &members[name];
                let is_text = matches!(name.as_str(), "description" | "summary" | "title");
                let is_sample = matches!(name.as_str(), "example" | "examples" | "default");
                if is_sample || is_text && member.is_string() {
                    continue;
                }
                let name = name.replace('~', "~0").replace('/', "~1");
                flatten(member, &format!("{pointer}/{name}"), lines);
            }
        }
        Json::Array(items) if items.iter().any(|item| item.is_object() || item.is_array()) => {
            for (index, item) in items.iter().enumerate() {
                flatten(item, &format!("{pointer}/{index}"), lines);
            }
        }
        leaf => lines.push(format!("{pointer} = {leaf}")),
    }
}

/// Returns the given columns of each table row in a page whose first cell is code.
fn table(page: &str, columns: &[usize]) -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = fs::read_to_string(root.join("docs").join(page)).unwrap();
    let row = |line: &str| {
        let line = line.replace("\\|", "\u{1}");
        let cells: Vec<&str> = line.split('|').skip(1).map(str::trim).collect();
        let cell = |column: &usize| cells.get(*column).copied().unwrap_or_default();
        let picked: Vec<&str> = columns.iter().map(cell).collect();
        let joined = picked.join(" | ").replace('\u{1}', "\\|");
        joined.trim_end_matches([' ', '|']).to_owned()
    };
    let rows = text.lines().filter(|line| line.starts_with("| `"));
    rows.map(row).collect()
}

#[test]
fn openapi_names_are_unchanged() {
    let place = Place::new();
    let server = Running::start_with(&place, &["--demo"], &[]);
    let answer = server.request("GET", "/openapi.json", "");
    let document = answer.split_once("\r\n\r\n").unwrap().1;
    let mut lines = Vec::new();
    flatten(&serde_json::from_str(document).unwrap(), "", &mut lines);
    compare("openapi.txt", &lines);
}

#[test]
fn commands_and_flags_are_unchanged() {
    let place = Place::new();
    let script = place.run(&["completions", "bash"]).out;
    let mut lines = Vec::new();
    let mut command = "";
    for line in script.lines() {
        if let Some(name) = line
            .strip_prefix("        ")
            .and_then(|l| l.strip_suffix(')'))
            && name
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
        {
            command = name;
        } else if let Some(options) = line.trim_start().strip_prefix("opts=\"")
            && let Some(options) = options.strip_suffix('"')
            && !options.is_empty()
        {
            lines.push(format!("{command}: {options}"));
        }
    }
    compare("command-line.txt", &lines);
}

#[test]
fn settings_and_their_defaults_are_unchanged() {
    compare("settings.txt", &table("configuration.md", &[0, 1, 2]));
}

#[test]
fn error_codes_and_statuses_are_unchanged() {
    compare("errors.txt", &table("errors.md", &[0, 3, 4, 5, 6]));
}
