//! Checks the dependencies between crates: they form no cycles, and each heavy dependency is used
//! by the crates that own it only. ARCHITECTURE.md shows the same graph.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

/// Dependencies of each crate besides `core`, on which every crate may depend. The list is exact.
const ARROWS: &[(&str, &[&str])] = &[
    ("quillet-core", &[]),
    ("quillet-yaml", &[]),
    ("quillet-schema", &[]),
    ("quillet-llm", &[]),
    ("quillet-template", &["quillet-yaml"]),
    ("quillet-store", &["quillet-yaml"]),
    ("quillet-tools", &["quillet-schema"]),
    ("quillet-sql", &["quillet-template"]),
    ("quillet-agent", &["quillet-schema", "quillet-yaml"]),
    (
        "quillet-prompt",
        &["quillet-schema", "quillet-template", "quillet-yaml"],
    ),
    (
        "quillet-script",
        &[
            "quillet-agent",
            "quillet-schema",
            "quillet-template",
            "quillet-yaml",
        ],
    ),
    (
        "quillet-host",
        &[
            "quillet-agent",
            "quillet-llm",
            "quillet-prompt",
            "quillet-script",
            "quillet-sql",
            "quillet-template",
            "quillet-tools",
        ],
    ),
    (
        "quillet-server",
        &[
            "quillet-agent",
            "quillet-host",
            "quillet-llm",
            "quillet-prompt",
            "quillet-script",
            "quillet-sql",
            "quillet-template",
            "quillet-tools",
        ],
    ),
    (
        "quillet",
        &[
            "quillet-agent",
            "quillet-host",
            "quillet-llm",
            "quillet-prompt",
            "quillet-script",
            "quillet-server",
            "quillet-sql",
            "quillet-store",
            "quillet-template",
            "quillet-tools",
            "quillet-yaml",
        ],
    ),
    (
        "quillet-cli",
        &[
            "quillet",
            "quillet-agent",
            "quillet-host",
            "quillet-llm",
            "quillet-prompt",
            "quillet-script",
            "quillet-server",
            "quillet-sql",
            "quillet-store",
            "quillet-template",
            "quillet-tools",
            "quillet-yaml",
        ],
    ),
    ("quillet-fake-provider", &[]),
    ("quillet-test-support", &[]),
];

/// The only crates that may use each of these dependencies. SQLite has two owners: the store, and
/// the SQL crate, which queries databases of users. Both link the same library.
const OWNERS: &[(&str, &[&str])] = &[
    ("arrow-array", &["quillet-sql"]),
    ("csv", &["quillet-sql"]),
    ("jsonschema", &["quillet-schema"]),
    ("parquet", &["quillet-sql"]),
    ("redis", &["quillet-store"]),
    ("rusqlite", &["quillet-store", "quillet-sql"]),
    ("tiktoken-rs", &["quillet-llm"]),
    ("notify", &["quillet-store"]),
    ("tonic", &["quillet-tools"]),
    ("prost-reflect", &["quillet-tools"]),
    ("rmcp", &["quillet-tools"]),
    ("axum", &["quillet-server"]),
    ("utoipa", &["quillet-server"]),
    ("clap", &["quillet-cli"]),
    ("pulldown-cmark", &["quillet-cli"]),
    ("granit-parser", &["quillet-yaml"]),
    ("rquickjs", &["quillet-script"]),
    ("sqlparser", &["quillet-sql"]),
    ("tokio-postgres", &["quillet-sql"]),
    ("mysql_async", &["quillet-sql"]),
    ("wasmi", &["quillet-script"]),
];

fn dependencies() -> BTreeMap<String, BTreeSet<String>> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--format-version=1", "--offline"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo metadata runs");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    let normal = |dependency: &&serde_json::Value| dependency["kind"].is_null();
    let name = |value: &serde_json::Value| value["name"].as_str().unwrap_or_default().to_owned();
    metadata["packages"]
        .as_array()
        .expect("it lists packages")
        .iter()
        .map(|package| {
            let list = package["dependencies"]
                .as_array()
                .expect("it lists dependencies");
            (
                name(package),
                list.iter().filter(normal).map(name).collect(),
            )
        })
        .collect()
}

#[test]
fn arrows_point_one_way() {
    let found = dependencies();
    let known: BTreeSet<&str> = ARROWS.iter().map(|(name, _)| *name).collect();
    let there: BTreeSet<&str> = found.keys().map(String::as_str).collect();
    assert_eq!(known, there, "a crate came or went: draw its arrows");
    for (name, drawn) in ARROWS {
        let of_ours =
            |dependency: &&str| known.contains(dependency) && *dependency != "quillet-core";
        let found: BTreeSet<&str> = found[*name]
            .iter()
            .map(String::as_str)
            .filter(of_ours)
            .collect();
        let drawn: BTreeSet<&str> = drawn.iter().copied().collect();
        assert_eq!(
            found, drawn,
            "{name}: what it depends on, and what is drawn"
        );
    }
}

#[test]
fn heavy_dependencies_have_owners() {
    let found = dependencies();
    for (dependency, owners) in OWNERS {
        for (name, dependencies) in &found {
            assert!(
                owners.contains(&name.as_str()) || !dependencies.contains(*dependency),
                "{dependency} belongs to {owners:?}, and {name} names it too"
            );
        }
        for owner in *owners {
            assert!(
                found[*owner].contains(*dependency),
                "{owner} no longer names {dependency}"
            );
        }
    }
}
