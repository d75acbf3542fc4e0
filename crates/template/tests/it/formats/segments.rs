//! Origins of the segments of a text, in every format.

use quillet_core::Map;
use quillet_template::{
    CompileOptions, CompiledTemplate, MessageSyntax, Render, RenderLimits, RenderedTemplate,
    SegmentKind, TemplateSource, TextSegment, render_segments,
};

use super::data::{ATTACKS, STRUCTURE};
use super::tools::RecordedCalls;
use super::{compile, compile_all, factory, generous, rows, run, strict, variables, with_x};

async fn noted(
    template: &dyn CompiledTemplate,
    variables: &Map,
    limits: &RenderLimits,
) -> RenderedTemplate {
    render_segments(&Render {
        template,
        entries: &["main"],
        variables,
        functions: &RecordedCalls::default(),
        limits,
    })
    .await
    .expect("it renders")
}

fn of_kind(segments: &[TextSegment], kind: SegmentKind) -> Vec<&str> {
    let found = segments.iter().filter(|segment| segment.kind == kind);
    found.map(|segment| segment.text.as_str()).collect()
}

#[tokio::test]
async fn pieces_are_the_template_s_text_and_the_values_by_name() {
    for (format, row) in rows() {
        let template = compile(&*format, row.hello);
        for value in ATTACKS.iter().chain(STRUCTURE) {
            let rendered = noted(&*template, &with_x(value), &generous()).await;
            let segments = rendered.segments(0);
            let name = row.format;
            let shown = (row.shown)(value);
            let (literals, values) = if row.paths {
                (vec!["Hi ", ", ", "!"], vec![&*shown, "K"])
            } else {
                (vec!["Hi ", "!"], vec![&*shown])
            };
            assert_eq!(of_kind(&segments, SegmentKind::Literal), literals, "{name}");
            assert_eq!(of_kind(&segments, SegmentKind::Interp), values, "{name}");
            let sources: Vec<&str> = segments
                .iter()
                .filter_map(|segment| segment.source.as_deref())
                .collect();
            assert!(
                matches!(sources[..], ["x"] | ["x", "m.k" | "m[k]"]),
                "{name}: {sources:?}"
            );
        }
    }
}

/// Returns every template of a row that renders.
fn templates(row: &super::Row) -> Vec<Vec<(&'static str, &'static str)>> {
    let single = [row.hello, row.print, row.ten].map(|text| vec![("main", text)]);
    let some = [row.chain, row.turns].into_iter().flatten();
    let decisions = row.decisions.iter().map(|(text, _)| *text);
    let more = some.chain(decisions).map(|text| vec![("main", text)]);
    let partial = row.partial.map(|sources| sources.to_vec());
    single.into_iter().chain(more).chain(partial).collect()
}

#[tokio::test]
async fn pieces_together_are_the_text_that_a_render_gives() {
    for (format, row) in rows() {
        for sources in templates(&row) {
            let template = compile_all(&*format, &sources);
            let rendered = noted(&*template, variables(), &generous()).await;
            let plain = run(
                &*template,
                variables(),
                &RecordedCalls::default(),
                &generous(),
            )
            .await;
            let segments = rendered.segments(0);
            let joined: String = segments.iter().map(|part| part.text.as_str()).collect();
            let name = row.format;
            assert_eq!(joined, rendered.text(0), "{name}: {sources:?}");
            assert_eq!(
                joined,
                plain.expect("it renders").text(0),
                "{name}: {sources:?}"
            );
            assert!(
                segments.iter().all(|part| !part.text.is_empty()),
                "{segments:?}"
            );
            // Literal segments must consist of text from the sources.
            let own: String = sources.iter().map(|(_, text)| *text).collect();
            for literal in of_kind(&segments, SegmentKind::Literal) {
                assert!(own.contains(literal), "{name}: {literal:?} of {sources:?}");
            }
        }
    }
}

#[tokio::test]
async fn no_value_is_ever_a_piece_of_the_template() {
    let limits = generous();
    for (format, row) in rows() {
        for sources in templates(&row) {
            let template = compile_all(&*format, &sources);
            for value in STRUCTURE {
                let hostile = format!("\u{1F58B}{value}\n\u{1F58B}");
                let rendered = noted(&*template, &with_x(&hostile), &limits).await;
                for literal in of_kind(&rendered.segments(0), SegmentKind::Literal) {
                    assert!(!literal.contains('\u{1F58B}'), "{}: {literal}", row.format);
                }
            }
        }
    }
}

#[tokio::test]
async fn marks_of_structure_are_in_no_piece() {
    for (format, row) in rows() {
        let texts = [
            (MessageSyntax::RoleLines, "system:\nBe kind.\n# User:\n", ""),
            (
                MessageSyntax::Elements,
                "<message role=\"user\">a &lt; b ",
                "</message>",
            ),
        ];
        let factory = factory();
        for (messages, before, after) in texts {
            if messages == MessageSyntax::Elements && !row.elements {
                continue;
            }
            let text = format!("{before}{}{after}", row.print);
            let options = CompileOptions {
                messages,
                ..strict()
            };
            let sources = [TemplateSource::new("main", &text)];
            let template = factory.compile(format.name(), &sources, &options);
            let template = template.expect("it compiles");
            for value in STRUCTURE {
                let rendered = noted(&*template, &with_x(value), &generous()).await;
                assert!(rendered.messages(0, &[]).is_some(), "{}", row.format);
                let segments = rendered.segments(0);
                let shown = (row.shown)(value);
                let mut expected = vec![before, shown.as_str(), after];
                expected.retain(|text| !text.is_empty());
                let found: Vec<&str> = segments.iter().map(|part| part.text.as_str()).collect();
                assert_eq!(found, expected, "{}", row.format);
                assert_eq!(segments[1].source.as_deref(), Some("x"), "{}", row.format);
            }
        }
    }
}

#[tokio::test]
async fn who_does_not_ask_gets_none() {
    for (format, row) in rows() {
        let template = compile(&*format, row.hello);
        let rendered = run(
            &*template,
            variables(),
            &RecordedCalls::default(),
            &generous(),
        )
        .await;
        assert_eq!(rendered.expect("it renders").segments(0), []);
    }
}
