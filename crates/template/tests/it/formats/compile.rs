//! Compilation in every format: references, errors, limits. Compiling needs no functions or
//! variables.

use std::panic::{AssertUnwindSafe, catch_unwind};

use futures_util::FutureExt;
use proptest::prelude::*;
use quillet_core::Span;
use quillet_template::{CompileLimits, CompileOptions, TemplateSource};

use super::tools::RecordedCalls;
use super::{compile, compile_all, factory, generous, rows, run, strict, variables};

#[tokio::test]
async fn text_variables_loops_and_partials_print() {
    for (format, row) in rows() {
        let cases = [
            (
                Some(vec![("main", row.hello)]),
                if row.paths { "Hi X, K!" } else { "Hi X!" },
            ),
            (Some(vec![("main", row.print)]), "X"),
            (row.turns.map(|text| vec![("main", text)]), "123"),
            (row.partial.map(Vec::from), "a text of X"),
        ];
        for (sources, expected) in cases {
            let Some(sources) = sources else { continue };
            let template = compile_all(&*format, &sources);
            let rendered = run(
                &*template,
                variables(),
                &RecordedCalls::default(),
                &generous(),
            )
            .await;
            let rendered = rendered.unwrap_or_else(|error| panic!("{}: {error}", row.format));
            assert_eq!(rendered.text(0), expected, "{}", row.format);
        }
    }
}

#[test]
fn variables_are_referenced_where_they_stand() {
    for (format, row) in rows() {
        let template = compile(&*format, row.hello);
        let references = template.references();
        let paths: Vec<Vec<String>> = references
            .variables
            .iter()
            .map(|v| v.path.clone())
            .collect();
        let mut expected = vec![vec!["x"]];
        expected.extend(row.paths.then(|| vec!["m", "k"]));
        assert_eq!(paths, expected, "{}", row.format);
        assert!(!references.dynamic, "{}", row.format);
        for variable in &references.variables {
            let last = variable.path.last().map_or("", String::as_str);
            assert_names(row.format, row.hello, variable.span, last);
            assert_eq!(variable.source, 0, "{}", row.format);
        }
    }
}

/// Asserts that the span contains the name and at most ten more bytes.
fn assert_names(format: &str, text: &str, span: Span, name: &str) {
    let found = text.get(span.start..span.end).unwrap_or_default();
    assert!(found.contains(name), "{format}: {name} is not in {found:?}");
    assert!(found.len() <= name.len() + 10, "{format}: {found:?}");
}

#[test]
fn functions_are_referenced_where_they_stand() {
    for (format, row) in rows() {
        let template = compile(&*format, row.ten);
        let references = template.references();
        // If a plain name can be a variable or a call, it is listed as a variable.
        let variables = references.variables.iter();
        let names = variables.map(|variable| (variable.path.join("."), variable.span));
        let functions = references.functions.iter();
        let mut found: Vec<_> = functions.map(|f| (f.name.clone(), f.span)).collect();
        if format.calls_by_variable() {
            found.extend(names);
        }
        for name in row.ten_names {
            let known = found.iter().find(|(found, _)| found == name);
            let (_, span) = known.unwrap_or_else(|| panic!("{}: {name}: {found:?}", row.format));
            let named = row.ten.get(span.start..span.end).unwrap_or_default();
            assert!(named.contains(name), "{}: {named:?}", row.format);
        }
    }
}

#[test]
fn a_mistake_has_its_place_and_its_mend() {
    for (format, row) in rows() {
        let Some((text, column)) = row.mistake else {
            continue;
        };
        let error = format.compile(&[TemplateSource::new("main", text)], &strict());
        let error = error.expect_err(row.format);
        let found = &error.diagnostics[0];
        let place = found.position.map(|at| (at.line, at.column));
        assert_eq!(place, Some((2, column)), "{}: {error}", row.format);
        assert_eq!(found.source, "main", "{}", row.format);
        let span = found.span.unwrap_or_default();
        assert!(text.get(span.start..span.end).is_some(), "{}", row.format);
    }
}

#[test]
fn sources_are_bounded_before_they_are_parsed() {
    for (_, row) in rows() {
        let options = CompileOptions {
            limits: CompileLimits {
                source_bytes: row.hello.len() - 1,
                ..CompileLimits::default()
            },
            ..CompileOptions::default()
        };
        let compiled = factory().compile(
            row.format,
            &[TemplateSource::new("main", row.hello)],
            &options,
        );
        let error = compiled.expect_err(row.format).to_string();
        assert!(error.contains("source_bytes"), "{}: {error}", row.format);
    }
}

#[test]
fn nesting_is_bounded_before_anything_runs() {
    for (format, row) in rows() {
        let Some(deep) = row.deep else { continue };
        for (depth, fits) in [(20, true), (60, false), (10_000, false)] {
            let options = CompileOptions {
                limits: CompileLimits {
                    nesting: 50,
                    ..CompileLimits::default()
                },
                ..CompileOptions::default()
            };
            let text = deep(depth);
            let compiled = format.compile(&[TemplateSource::new("main", &text)], &options);
            assert_eq!(compiled.is_ok(), fits, "{} at {depth}", row.format);
            let Err(error) = compiled else { continue };
            // Go has its own message for this limit.
            let said = format!("{error} {:?}", error.diagnostics[0].help);
            let named = said.contains("nesting") || said.contains("max expression depth");
            assert!(named, "{}: {said}", row.format);
            assert!(error.diagnostics[0].position.is_some(), "{}", row.format);
        }
    }
}

/// Ordinary text mixed with syntax of the formats.
fn texts() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(
        &[
            "{{",
            "}}",
            "{%",
            "%}",
            "{#",
            "#}",
            "{",
            "}",
            "[",
            "]",
            "$",
            "'",
            "\"",
            "\\",
            "`",
            "-",
            "~",
            "<message role=\"user\">",
            "</message>",
            "---\n",
            "{{{{raw}}}}",
            "{{/if}}",
            "{{!",
            "--}}",
            "{% raw %}",
            "{% endraw %}",
            " ",
            "\n",
            "\r\n",
            "x",
            "é",
            "<<<dotprompt:role:system>>>",
            "{{$x}}",
            "{x}",
            "system:\n",
            "\u{0}",
            "&amp;",
            "&",
            "<",
        ][..],
    );
    let of_pieces = prop::collection::vec(pieces, 0..12).prop_map(|pieces| pieces.concat());
    prop_oneof![any::<String>(), of_pieces]
}

proptest! {
    #[test]
    fn an_escaped_text_prints_itself(text in texts()) {
        for (format, row) in rows() {
            let Some(escaped) = format.escape(&text) else {
                prop_assert!(!row.escapes, "{} cannot write {text:?}", row.format);
                continue;
            };
            let compiled = catch_unwind(AssertUnwindSafe(|| compile(&*format, &escaped)));
            let Ok(template) = compiled else {
                return Err(TestCaseError::fail(format!("{}: {text:?}: {escaped:?}", row.format)));
            };
            let rendered = run(&*template, variables(), &RecordedCalls::default(), &generous()).now_or_never();
            let rendered = rendered.and_then(Result::ok).map(|rendered| rendered.text(0));
            prop_assert_eq!(rendered.as_ref(), Some(&text), "{}: {:?}", row.format, escaped);
        }
    }
}
