//! Editor features for scripts.

use std::path::PathBuf;
use std::sync::Arc;

use quillet_core::Severity;
use quillet_script::editor::{
    self, CompletionKind, EditorContext, ScriptDocument, Symbol, complete, definition, diagnostics,
    folds, formatted, hover, references, rename, symbols,
};
use quillet_script::host::NoTools;
use quillet_script::library::Memory;
use quillet_script::syntax::ScriptSource;

const SCRIPT: &str = r#"---
name: Dobby
description: An elf.
templateFormat: hf
input:
  - topic: {required: true, default: socks, description: what it is about}
tools:
  - weather
roles:
  guide: weather
greeting: Hello
prompt:
  mood: glad
---
!fn |-
  function shout(text) { return text.toUpperCase() }
system: "{{greeting}}, I am {{name}} and {{mood}}."
---
user: "Tell me about {{topic}} 😀 and {{place}}"
assistant: "[[ANSWER:temperature=0.1]]"
guide: Hear [[/a(b)/i:ANSWER]]
$set:
  count: 1
$if: count > 1
  then:
    - $print: "?=ANSWER"
$match(ANSWER):
  :/yes/i:
    - "-> weather(city='x') -> $shout"
  _:
    - user: "[[@weather(count)]]"
"#;

const WEATHER: &str = "---\ntitle: Weather\ndescription: Says how the weather is.\ninput:\n  - city: {required: true, description: where}\n---\nuser: How is it in {{city}}?\n";

fn library() -> Memory {
    Memory::new([("weather.ai.yaml", WEATHER)])
}

fn document(text: &str) -> ScriptDocument {
    let name = "dobby.ai.yaml".to_owned();
    let path = Some(PathBuf::from(&name));
    let text = text.into();
    ScriptDocument::new(Arc::new(ScriptSource { name, path, text }))
}

/// Returns the offset of `inside` in the first occurrence of `words`.
fn at(text: &str, words: &str, inside: &str) -> usize {
    text.find(words).unwrap() + words.find(inside).unwrap() + 1
}

fn around(library: &Memory) -> EditorContext<'_> {
    EditorContext {
        library,
        tools: &NoTools,
    }
}

#[tokio::test]
async fn hovers_say_what_stands_there() {
    let document = document(SCRIPT);
    assert_eq!(document.findings, []);
    let library = library();
    let table: &[(&str, &str, &[&str])] = &[
        (
            "$set:",
            "set",
            &["Sets variables by key paths.", "Language reference: 101"],
        ),
        ("$match(", "match", &["condition?", "allMatches", "`:/re/`"]),
        (
            "$shout",
            "shout",
            &["Function `$shout`, declared in `dobby.ai.yaml`"],
        ),
        (
            "{{greeting}}",
            "greeting",
            &["Variable `greeting`", "`Hello`", "First set in line 11"],
        ),
        (
            "{{topic}}",
            "topic",
            &["An input, required, `socks` by default: what it is about"],
        ),
        ("{{mood}}", "mood", &["`glad`", "line 13"]),
        (
            "count > 1",
            "count",
            &["Variable `count`", "First set in line 23"],
        ),
        (
            "?=ANSWER",
            "ANSWER",
            &["Variable `ANSWER`", "First set in line 20"],
        ),
        (
            "-> weather",
            "weather",
            &[
                "**Weather**",
                "Says how the weather is.",
                "`city`, required: where",
            ],
        ),
        ("  - weather", "weather", &["**Weather**"]),
        ("[[@weather", "weather", &["**Weather**"]),
        ("guide: weather", "weather", &["**Weather**"]),
        ("guide: Hear", "guide", &["Role `guide`: **Weather**"]),
        ("templateFormat", "format", &[]),
        ("[[ANSWER:", "[[", &["Inserts the model's answer"]),
        (":/yes/i", "/yes", &["regular expression", "Patterns:"]),
        ("a(b)", "b", &["group 1"]),
        ("I am", "am", &["**system**", "Hello, I am Dobby and glad."]),
        (
            "Tell me",
            "Tell",
            &[
                "**user**",
                "Tell me about socks 😀 and {{place}}",
                "Known only at run time: `place`",
            ],
        ),
        (
            "Hear [[",
            "ear",
            &["with the prefix `guide: `", "is filled at run time"],
        ),
    ];
    for (words, inside, expected) in table {
        let Some(start) = words.find(inside) else {
            continue;
        };
        let at = SCRIPT.find(words).unwrap() + start + 1;
        let found = hover(&document, at, around(&library)).await;
        let markdown = found.map(|found| found.markdown).unwrap_or_default();
        for part in *expected {
            assert!(
                markdown.contains(part),
                "{words}: {part:?} is not in\n{markdown}"
            );
        }
    }
    let key = hover(
        &document,
        at(SCRIPT, "templateFormat", "Format"),
        around(&library),
    )
    .await
    .unwrap();
    assert!(
        key.markdown.contains("One of `hf`, `golang`, `fstring`"),
        "{}",
        key.markdown
    );
    assert_eq!(&SCRIPT[key.span.start..key.span.end], "templateFormat");
    assert_eq!(
        hover(
            &document,
            SCRIPT.find("---\nuser").unwrap() + 1,
            around(&library)
        )
        .await,
        None
    );
}

#[tokio::test]
async fn structured_system_messages_and_formats_are_rendered_as_they_are_sent() {
    let library = Memory::default();
    let table = [
        (
            "system:\n  background: You are {{name}}.\n  notes: [be kind, be short]\n",
            "be kind",
            "You are Ada.",
        ),
        (
            "system:\n  background: You are {{name}}.\n  notes: [be kind, be short]\n",
            "be kind",
            "Notes:\n* be kind\n* be short",
        ),
        ("user: ~Hi {{name}}\n", "Hi", "Hi {{name}}"),
        ("user: \"!Hi {{name}}\"\n", "Hi", "\nHi Ada"),
        (
            "- role: user\n  content: Hi {name}\n  templateFormat: fstring\n",
            "Hi",
            "Hi Ada",
        ),
        ("Hi {{name}}\n", "Hi", "**user**"),
        ("user: Hi {{name | nofilter}}\n", "Hi", "Not rendered"),
        ("user: \"``` {{name}}\"\n", "```", "````text"),
        ("user: \"{{greet}}\"\n", "user", "Hi Ada!"),
    ];
    for (body, inside, expected) in table {
        let text = format!("---\nname: Ada\ngreet: Hi {{{{name}}}}!\n---\n{body}");
        let document = document(&text);
        let at = text.rfind(inside).unwrap() + 1;
        let found = hover(&document, at, around(&library))
            .await
            .map(|found| found.markdown);
        let found = found.unwrap_or_default();
        assert!(
            found.contains(expected),
            "{body}: {expected:?} is not in\n{found}"
        );
    }
}

#[tokio::test]
async fn definitions_lead_to_functions_scripts_and_first_values() {
    let document = document(SCRIPT);
    let library = library();
    let table = [
        ("$shout", "shout", "dobby.ai.yaml", "shout(text)"),
        ("-> weather", "weather", "weather.ai.yaml", "---"),
        ("[[@weather", "weather", "weather.ai.yaml", "---"),
        ("guide: Hear", "guide", "weather.ai.yaml", "---"),
        (
            "{{greeting}}",
            "greeting",
            "dobby.ai.yaml",
            "greeting: Hello",
        ),
        ("{{mood}}", "mood", "dobby.ai.yaml", "mood: glad"),
        ("{{topic}}", "topic", "dobby.ai.yaml", "topic: {"),
        ("count > 1", "count", "dobby.ai.yaml", "count: 1"),
        ("$match(ANSWER", "ANSWER", "dobby.ai.yaml", "ANSWER:temp"),
    ];
    for (words, inside, file, start) in table {
        let place = definition(&document, at(SCRIPT, words, inside), around(&library)).await;
        let place = place.unwrap_or_else(|| panic!("{words} is declared nowhere"));
        assert_eq!(place.source.name, file, "{words}");
        let there = &place.source.text[place.span.start..];
        assert!(there.starts_with(start), "{words}: {}", &there[..20]);
    }
    assert_eq!(
        definition(&document, at(SCRIPT, "$set", "set"), around(&library)).await,
        None
    );
}

#[test]
fn a_variable_is_found_and_renamed_everywhere() {
    let document = document(SCRIPT);
    let at = at(SCRIPT, "$match(ANSWER", "ANSWER");
    let spans = references(&document, at);
    assert_eq!(spans.len(), 4);
    for span in &spans {
        assert_eq!(&SCRIPT[span.start..span.end], "ANSWER");
    }
    assert_eq!(rename(&document, at, "REPLY"), Some(spans));
    assert_eq!(rename(&document, at, "two words"), None);
    assert_eq!(
        rename(&document, SCRIPT.find("$set").unwrap() + 2, "x"),
        None
    );
}

#[tokio::test]
async fn completion_knows_what_can_stand_there() {
    let library = library();
    let table: &[(&str, CompletionKind, &[&str])] = &[
        (
            "$‸\n",
            CompletionKind::Directive,
            &["$if", "$AI", "$llm", "$print"],
        ),
        ("$‸\n", CompletionKind::Function, &["$shout"]),
        ("$for(‸\n", CompletionKind::Key, &["list", "as", "step"]),
        (
            "‸\n",
            CompletionKind::Role,
            &["system", "user", "assistant", "guide", "Dobby"],
        ),
        (
            "user: \"{{‸}}\"\n",
            CompletionKind::Variable,
            &["topic", "greeting", "mood", "ANSWER", "count"],
        ),
        ("$if: ‸\n", CompletionKind::Variable, &["count"]),
        ("user: \"[[@‸\"\n", CompletionKind::Script, &["weather"]),
        ("-> ‸\n", CompletionKind::Script, &["weather"]),
        ("$exec: {id: ‸}\n", CompletionKind::Script, &["weather"]),
        (
            "$match(x):\n  :‸\n",
            CompletionKind::Pattern,
            &[":/re/i", ":1..5"],
        ),
    ];
    for (more, kind, expected) in table {
        let text = format!("{SCRIPT}{more}");
        let at = text.find('‸').unwrap();
        let document = document(&text.replace('‸', ""));
        let found = complete(&document, at, around(&library)).await;
        let labels: Vec<&str> = found
            .iter()
            .filter(|item| item.kind == *kind)
            .map(|item| item.label.as_str())
            .collect();
        for label in *expected {
            assert!(labels.contains(label), "{more}: no {label} in {labels:?}");
        }
        assert!(found.iter().all(|item| item.span.end == at));
    }
    let front = [
        ("tem", "templateFormat"),
        ("templateFormat: ", "golang"),
        ("shouldThink: ", "deep"),
        ("tools: [", "weather"),
        ("response_format:\n  type: ", "nobj"),
    ];
    for (start, label) in front {
        let text = format!("---\n{start}\n---\n");
        let found = complete(&document(&text), 4 + start.len(), around(&library)).await;
        assert!(
            found.iter().any(|item| item.label == label),
            "{start}: {found:?}"
        );
    }
}

#[tokio::test]
async fn findings_have_places_severities_and_mends() {
    let text =
        "---\ngreeting: Hello\ninput: [topic]\n---\nuser: \"{{greting}}\"\n$prnt: x\n-> nobody\n";
    let document = document(text);
    let library = library();
    let found = diagnostics(&document, around(&library)).await;
    let told: Vec<_> = found
        .iter()
        .map(|found| {
            (
                found.code,
                &text[found.span.unwrap().start..found.span.unwrap().end],
                found.severity,
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            ("script.name", "greting", Severity::Warning),
            ("script.directive", "prnt", Severity::Error),
            ("script.not_found", "nobody", Severity::Error),
        ]
    );
    let (place, why) = editor::related(&document, &found[0]).unwrap();
    assert_eq!(&text[place.start..place.end], "greeting");
    assert_eq!(why, "greeting is declared here");
    assert_eq!(editor::related(&document, &found[1]), None);
}

#[test]
fn outlines_have_front_matter_dialogues_and_functions() {
    fn shown(symbols: &[Symbol], depth: usize, out: &mut String) {
        for symbol in symbols {
            *out += &format!("{}{}\n", "  ".repeat(depth), symbol.name);
            shown(&symbol.children, depth + 1, out);
        }
    }
    let document = document(SCRIPT);
    let mut out = String::new();
    shown(&symbols(&document), 0, &mut out);
    let expected = "front matter\n  name\n  description\n  templateFormat\n  input\n  tools\n  roles\n  greeting\n  prompt\n$shout\ndialogue 1\n  system\ndialogue 2\n  user\n  assistant\n  guide\n  $set\n  $if\n    $print\n  $match\n    -> weather -> $shout\n    user\n";
    assert_eq!(out, expected);
    let folded: Vec<&str> = folds(&document)
        .iter()
        .map(|span| SCRIPT[span.start..span.end].lines().next().unwrap())
        .collect();
    assert!(folded.contains(&"name: Dobby"), "{folded:?}");
    assert!(
        folded.iter().any(|line| line.starts_with("$match")),
        "{folded:?}"
    );
    assert!(
        !folded.iter().any(|line| line.starts_with("assistant")),
        "{folded:?}"
    );
}

#[test]
fn layout_is_that_of_fmt() {
    assert_eq!(
        formatted(&document("user:   Hi\n\n\n\nassistant: x\n")).as_deref(),
        Some("user: Hi\n\nassistant: x\n")
    );
    assert_eq!(formatted(&document("user: \"\n")), None);
}

#[tokio::test]
async fn texts_that_nobody_can_read_get_answers_everywhere() {
    let many = format!("user: \"{}\"\n", "[[X]] {{y}} ".repeat(2_000));
    let deep = format!("user: {}\n", "[".repeat(5_000));
    let texts = [
        "",
        "---",
        "---\n",
        "$",
        "$(",
        "[[",
        "user: \"{{\"",
        "\u{feff}---\na: b",
        "😀: 😀[[",
        "- - -",
        &many,
        &deep,
    ];
    let library = library();
    for text in texts {
        let document = document(text);
        let places = (0..=text.len()).filter(|at| text.len() < 100 || at % 1_999 == 0);
        for at in places {
            hover(&document, at, around(&library)).await;
            complete(&document, at, around(&library)).await;
            definition(&document, at, around(&library)).await;
            let _ = references(&document, at);
        }
        for span in folds(&document) {
            assert!(text.get(span.start..span.end).is_some(), "{text}");
        }
    }
}
