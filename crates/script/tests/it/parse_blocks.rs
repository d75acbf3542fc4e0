//! Parses the samples of the language text and the scripts of the acceptance cases.

use std::path::PathBuf;
use std::sync::Arc;

use quillet_script::reader::{ParsedScript, read};
use quillet_script::syntax::ScriptSource;
use serde_json::Value;

fn vectors(name: &str) -> Option<Value> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../../shared/vectors/ppe")
        .join(name);
    let Ok(text) = std::fs::read_to_string(&path) else {
        println!("left out: {} is not here", path.display());
        return None;
    };
    Some(serde_json::from_str(&text).expect("JSON"))
}

fn read_text(name: &str, text: &str) -> ParsedScript {
    read(Arc::new(ScriptSource {
        name: name.to_owned(),
        path: None,
        text: text.into(),
    }))
}

#[test]
fn every_sample_is_read_and_has_its_items() {
    let Some(blocks) = vectors("parse_spec_blocks.json") else {
        return;
    };
    let mut read = 0;
    for block in blocks.as_array().expect("a list") {
        let line = &block["line"];
        let found = read_text(
            &format!("line-{line}"),
            block["text"].as_str().expect("a text"),
        );
        if block["must_parse"] == false {
            continue;
        }
        // This sample uses two notations for one function with the same name.
        let expected: &[&str] = match line.as_u64() {
            Some(1160) => &["function `func1` is declared twice: first on line 1"],
            _ => &[],
        };
        let findings: Vec<&str> = found
            .diagnostics
            .iter()
            .map(|it| it.message.as_str())
            .collect();
        assert_eq!(findings, expected, "{line}");
        assert_eq!(
            Some(found.items as u64),
            block["top_level_items"].as_u64(),
            "{line}: {:#?}",
            found.script.body
        );
        assert_eq!(
            Some(found.script.has_front_matter),
            block["has_front_matter"].as_bool(),
            "{line}"
        );
        read += 1;
    }
    assert_eq!(read, 62);
}

#[test]
fn scripts_of_the_cases_that_succeed_are_read_without_findings() {
    let names = [
        "cases_01_dialogue.json",
        "cases_02_templates_io.json",
        "cases_03_ai_chain.json",
        "cases_04_control.json",
        "cases_05_fn_import_format.json",
        "cases_06_events_chat_tools.json",
    ];
    let mut read = 0;
    for name in names {
        let Some(cases) = vectors(name) else { return };
        for case in cases.as_array().expect("a list") {
            if case["expect"]["error"] == true {
                continue;
            }
            for (file, text) in case["files"].as_object().expect("files") {
                let Some(text) = text.as_str().filter(|_| file.ends_with(".ai.yaml")) else {
                    continue;
                };
                let found = read_text(file, text);
                assert!(
                    found.diagnostics.is_empty(),
                    "{} {:#?}\n{text}",
                    case["id"],
                    found.diagnostics
                );
                read += 1;
            }
        }
    }
    assert!(read > 100, "{read} scripts");
}

#[test]
fn samples_keep_their_meaning_in_the_canonical_layout() {
    let Some(blocks) = vectors("parse_spec_blocks.json") else {
        return;
    };
    let mut laid_out = 0;
    for block in blocks.as_array().expect("a list") {
        let text = block["text"].as_str().expect("a text");
        let source = read_text("s", text).script.source;
        let Ok(made) = quillet_script::format::format(&source) else {
            continue;
        };
        let after = read_text("s", &made);
        assert!(after.diagnostics.is_empty(), "{made}");
        assert_eq!(
            Some(after.items as u64),
            block["top_level_items"].as_u64(),
            "{made}"
        );
        let again = quillet_script::format::format(&after.script.source);
        assert_eq!(again.as_deref(), Ok(made.as_str()));
        laid_out += 1;
    }
    assert_eq!(laid_out, 61);
}
