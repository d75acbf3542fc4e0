//! The examples as an in-memory store, so a first try needs no files.

use std::collections::BTreeMap;

use quillet_core::store::{EntryKey, EntryKind, StoreEntry};

use crate::MemoryStore;
use crate::folder::{document, kind_of};

/// Every definition in `examples/demo` with its path.
const FILES: &[(&str, &str)] = &[
    (
        "extensions/zgsm/evaluator.yaml",
        include_str!("../../../examples/demo/extensions/zgsm/evaluator.yaml"),
    ),
    (
        "prompts/choose_model.yaml",
        include_str!("../../../examples/demo/prompts/choose_model.yaml"),
    ),
    (
        "prompts/code/explain.jinja",
        include_str!("../../../examples/demo/prompts/code/explain.jinja"),
    ),
    (
        "prompts/code/review.yaml",
        include_str!("../../../examples/demo/prompts/code/review.yaml"),
    ),
    (
        "prompts/hello.yaml",
        include_str!("../../../examples/demo/prompts/hello.yaml"),
    ),
    (
        "prompts/translate_comments.yaml",
        include_str!("../../../examples/demo/prompts/translate_comments.yaml"),
    ),
    (
        "environs/codebase/current_project.yaml",
        include_str!("../../../examples/demo/environs/codebase/current_project.yaml"),
    ),
    (
        "environs/model/list.yaml",
        include_str!("../../../examples/demo/environs/model/list.yaml"),
    ),
    (
        "environs/modules/codebase.json",
        include_str!("../../../examples/demo/environs/modules/codebase.json"),
    ),
    (
        "environs/modules/translator.json",
        include_str!("../../../examples/demo/environs/modules/translator.json"),
    ),
    (
        "environs/vscode/frameworks.json",
        include_str!("../../../examples/demo/environs/vscode/frameworks.json"),
    ),
    (
        "environs/vscode/programming_language.json",
        include_str!("../../../examples/demo/environs/vscode/programming_language.json"),
    ),
    (
        "environs/vscode/rules.yaml",
        include_str!("../../../examples/demo/environs/vscode/rules.yaml"),
    ),
    (
        "tools/codebase/lookup_ref.yaml",
        include_str!("../../../examples/demo/tools/codebase/lookup_ref.yaml"),
    ),
    (
        "tools/translator/translate_zh_en.yaml",
        include_str!("../../../examples/demo/tools/translator/translate_zh_en.yaml"),
    ),
];

/// Creates a store with the same entries as `dir:examples/demo`.
pub(crate) fn store() -> MemoryStore {
    let entries = FILES
        .iter()
        .filter_map(|(path, content)| entry(path, content));
    MemoryStore::named("demo in memory", entries.collect::<BTreeMap<_, _>>())
}

fn entry(path: &str, content: &str) -> Option<((EntryKind, EntryKey), StoreEntry)> {
    let (folder, name) = path.split_once('/')?;
    let kind = kind_of(folder)?;
    let (stem, form) = document::form_of(kind, name)?;
    let key = EntryKey::new(stem.replace('/', ":"));
    let entry = document::entry(key.clone(), path, form, content);
    Some(((kind, key), entry))
}
