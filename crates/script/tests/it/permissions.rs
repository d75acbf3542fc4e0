//! Permissions fail closed: a misspelled key or a value of a wrong type allows nothing.

use std::sync::Arc;

use quillet_agent::Permissions;
use quillet_core::Severity;
use quillet_script::ErrorKind;
use quillet_script::host::NoTools;
use quillet_script::library::permissions::permissions;
use quillet_script::library::{Library, Memory, check};
use quillet_script::reader::read;
use quillet_script::syntax::ScriptSource;

use crate::library::ran;

/// Returns all misspellings of a word by one letter: omitted, doubled, swapped, replaced, or in the
/// other case.
fn misspellings(word: &str) -> Vec<String> {
    let letters: Vec<char> = word.chars().collect();
    let mut all = Vec::new();
    for at in 0..letters.len() {
        let mut change = |edit: &dyn Fn(&mut Vec<char>)| {
            let mut changed = letters.clone();
            edit(&mut changed);
            all.push(changed.into_iter().collect::<String>());
        };
        change(&|word| {
            word.remove(at);
        });
        change(&|word| word.insert(at, word[at]));
        change(&|word| word[at] = 'z');
        change(&|word| word[at] = word[at].to_ascii_uppercase());
        change(&|word| word.insert(at, '_'));
        if at > 0 {
            change(&|word| word.swap(at - 1, at));
        }
    }
    all.retain(|changed| changed != word && !changed.is_empty());
    all.sort();
    all.dedup();
    all
}

fn of(text: &str) -> Result<Option<Permissions>, Vec<String>> {
    let source = ScriptSource {
        name: "main.ai.yaml".to_owned(),
        path: None,
        text: text.into(),
    };
    let read = read(Arc::new(source));
    assert!(
        read.diagnostics.is_empty(),
        "{text}: {:?}",
        read.diagnostics
    );
    let found = permissions(&read.script);
    found.map_err(|found| found.iter().map(ToString::to_string).collect())
}

async fn has_error(text: &str) -> bool {
    let library = Memory::new([("main.ai.yaml", text)]);
    let main = library.find("main", None).await.unwrap().unwrap();
    let found = check(&main, &library, &NoTools).await;
    let is_ours = |found: &quillet_core::Diagnostic| found.code == "script.permission";
    found
        .iter()
        .any(|found| found.severity == Severity::Error && is_ours(found))
}

/// Returns a script with a body after the front matter.
fn with(front: &str) -> String {
    format!("---\n{front}\n---\n$echo: it ran\n")
}

#[tokio::test]
async fn no_misspelling_of_a_key_widens_what_is_permitted() {
    let mut tried = 0;
    let written = |keys: [&str; 3]| {
        let [outer, ai, call] = keys;
        format!("\"{outer}\": {{\"{ai}\": {{\"{call}\": [weather]}}}}")
    };
    let right = ["permissions", "ai", "call"];
    assert_eq!(
        ran(&with(&written(right))).await.unwrap(),
        Some("it ran".into())
    );
    for (place, key) in right.iter().enumerate() {
        for wrong in misspellings(key) {
            let mut keys = right;
            keys[place] = &wrong;
            let text = with(&written(keys));
            let found = of(&text).expect_err(&text);
            assert!(
                found[0].contains(&format!("{wrong:?}")),
                "{text}: {found:?}"
            );
            assert!(found[0].contains(key), "{text}: {found:?}");
            assert!(has_error(&text).await, "{text}");
            let error = ran(&text).await.expect_err(&text);
            assert_eq!(error.kind, ErrorKind::Script, "{text}");
            tried += 1;
        }
    }
    assert!(tried > 90, "{tried}");
}

#[tokio::test]
async fn what_is_of_another_kind_permits_nothing() {
    let table = [
        (
            "permissions:",
            "2:12: permissions must be an object with `ai`, not nothing",
        ),
        (
            "permissions: weather",
            "2:14: permissions must be an object",
        ),
        (
            "permissions: [weather]",
            "2:14: permissions must be an object",
        ),
        ("permissions: {}", "2:14: missing `ai` in permissions"),
        (
            "permissions: {ai: }",
            "permissions.ai must be an object with `call`",
        ),
        (
            "permissions: {ai: [weather]}",
            "2:19: permissions.ai must be an object",
        ),
        (
            "permissions: {ai: {}}",
            "2:19: missing `call` in permissions.ai",
        ),
        (
            "permissions: {ai: {call: }}",
            "invalid permission: expected a string, not nothing",
        ),
        (
            "permissions: {ai: {call: 5}}",
            "2:26: invalid permission: expected a string, not a number",
        ),
        (
            "permissions: {ai: {call: {weather: true}}}",
            "2:26: invalid permission: expected a string",
        ),
        (
            "permissions: {ai: {call: [weather, true]}}",
            "2:36: invalid permission: expected a string",
        ),
        (
            "permissions: {ai: {call: [\"!secret\"]}}",
            "only patterns with `!`",
        ),
        (
            "permissions: {ai: {call: [\"*\", \"!!secret\"]}}",
            "2:32: invalid pattern \"!secret\"",
        ),
        (
            "permissions: {ai: {call: [\"*\", \"!a b\"]}}",
            "2:32: invalid pattern \"a b\"",
        ),
        (
            "permissions: {ai: {call: [a], deny: [b]}}",
            "2:31: unknown key \"deny\" in permissions.ai",
        ),
        (
            "permissions: {ai: {call: [a]}, call: [b]}",
            "2:32: unknown key \"call\" in permissions",
        ),
        (
            "permissions.ai.call: [a]",
            "2:1: unknown permission key \"permissions.ai.call\"",
        ),
        (
            "rights: {ai: {call: [a]}}",
            "2:1: unknown permission key \"rights\"",
        ),
        (
            "permission: [weather]",
            "2:1: unknown permission key \"permission\"",
        ),
    ];
    for (front, expected) in table {
        let text = with(front);
        let found = of(&text).expect_err(&text);
        assert!(
            found.iter().any(|found| found.contains(expected)),
            "{front}: {found:?}"
        );
        assert!(has_error(&text).await, "{front}");
        assert!(ran(&text).await.is_err(), "{front}");
    }
    let none = of(&with("permissions: {ai: {call: []}}")).unwrap().unwrap();
    assert!(!none.allows("weather"), "an empty list permits nothing");
    // A script may define its own variables, including those with a similar name.
    for front in ["permission: admin", "ai: {call: [a]}", "lang: English"] {
        assert_eq!(of(&with(front)), Ok(None), "{front}");
    }
}

#[tokio::test]
async fn what_is_inherited_is_held_to_the_same() {
    let files = [
        ("main.ai.yaml", "---\ntype: base\n---\n$echo: it ran\n"),
        (
            "base.ai.yaml",
            "---\ntype: type\npermissions: {ai: {cal: [weather]}}\n---\n",
        ),
    ];
    let error = crate::library::ran_beside(&files).await.unwrap_err();
    assert!(
        error
            .to_string()
            .contains("base.ai.yaml:3:20: unknown key \"cal\" in permissions.ai"),
        "{error}"
    );
}
