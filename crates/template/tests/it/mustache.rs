//! Tests of Mustache that the vectors do not cover: references, error locations, calls, recursive
//! partials, limits, escapes.

use std::sync::{Arc, Mutex};

use futures_util::FutureExt;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use quillet_core::{BoxFuture, Map, Value, json};
use quillet_template::{
    CallArguments, CallError, CompileError, CompileOptions, CompiledTemplate, ErrorKind,
    FunctionHost, LimitKind, Missing, NoFunctions, Render, RenderError, RenderLimits,
    RenderedTemplate, TemplateFactory, TemplateSource, render,
};

fn compiled(
    sources: &[TemplateSource<'_>],
    missing: Missing,
) -> Result<Arc<dyn CompiledTemplate>, CompileError> {
    let options = CompileOptions {
        missing,
        ..CompileOptions::default()
    };
    TemplateFactory::standard().compile("mustache", sources, &options)
}

fn data() -> Map {
    let text = r#"{"name":"Ann","html":"<b>&","t":true,"n":3,"l":[{"v":1},{"v":2,"name":"Bo"}],
        "d":{"k":"v","e":{}},"none":null,"city":"Rome","k":"root","deep":[[[1,2],[3]]]}"#;
    let data = json::parse(text).expect("it is JSON");
    data.as_map().cloned().expect("it is an object")
}

async fn run(
    sources: &[TemplateSource<'_>],
    missing: Missing,
    functions: &dyn FunctionHost,
) -> Result<RenderedTemplate, Box<RenderError>> {
    let template = compiled(sources, missing).expect("it compiles");
    let limits = RenderLimits {
        time: std::time::Duration::from_secs(20),
        ..RenderLimits::default()
    };
    render(&Render {
        template: &*template,
        entries: &["main"],
        variables: &data(),
        functions,
        limits: &limits,
    })
    .await
}

/// Returns the output of templates without calls.
fn rendered(sources: &[TemplateSource<'_>], missing: Missing) -> Result<String, Box<RenderError>> {
    let rendered = run(sources, missing, &NoFunctions).now_or_never();
    let rendered = rendered.expect("nothing to wait for");
    rendered.map(|rendered| rendered.text(0))
}

#[test]
fn prompts_are_no_html() {
    let sources = [TemplateSource::new("main", "{{html}}{{{html}}}{{&html}}")];
    let plain = rendered(&sources, Missing::Default).expect("it renders");
    assert_eq!(plain, "<b>&<b>&<b>&");
}

/// Templates that the vectors do not contain, with their output.
const PRINTED: &[(&str, &str)] = &[
    ("{{d.e.k}}{{#d}}{{e.k}}{{/d}}", ""),
    ("{{#l}}{{v}}{{name}} {{/l}}", "1Ann 2Bo "),
    (
        "{{#deep}}{{#.}}[{{#.}}{{.}}{{/.}}]{{/.}}{{/deep}}",
        "[12][3]",
    ),
    ("{{#l}}{{#t}}{{v}}{{k}}{{/t}}{{/l}}", "1root2root"),
    ("{{^none}}no{{/none}}{{#n}}{{.}}{{/n}}", "no3"),
    ("{{l.1.name}}{{l.length}}", "Bo2"),
    (
        "{{d}}{{l}}",
        "[object Object][object Object],[object Object]",
    ),
    (
        "{{=<% %>=}}{{name}}<%name%><%={{ }}=%>{{name}}",
        "{{name}}AnnAnn",
    ),
    ("{{! {{name }} }}", " }}"),
];

#[test]
fn templates_print() {
    for (text, wanted) in PRINTED {
        let found = rendered(&[TemplateSource::new("main", text)], Missing::Default);
        assert_eq!(found.expect(text), *wanted, "{text}");
    }
}

/// Sources, the partials `p` and `q`, and the output.
const PARTIALS: &[(&str, &str, &str, &str)] = &[
    // Blank lines and the lines of a value are not indented.
    (
        "  {{> p}}\n.",
        "a\n\n{{#t}}\nb\n{{/t}}\n",
        "",
        "  a\n\n  b\n.",
    ),
    // Nested partials add their indentation.
    (
        " {{> p}}\n",
        "<\n {{> q}}\n>\n",
        "1\n2\n",
        " <\n  1\n  2\n >\n",
    ),
    // A tag at the start of a line is indented like text.
    (
        "  {{> p}}\n",
        "{{name}}\n{{k}}{{name}}\n",
        "",
        "  Ann\n  rootAnn\n",
    ),
    ("{{#l}}\n  {{> p}}\n{{/l}}", "{{v}}\n", "", "  1\n  2\n"),
    ("x {{> p}}{{> p}}\n", "1\n2\n", "", "x 1\n  2\n1\n2\n\n"),
];

#[test]
fn partials_keep_their_indentation() {
    for (main, p, q, wanted) in PARTIALS {
        let sources = [
            TemplateSource::new("main", main),
            TemplateSource::library("p", p),
            TemplateSource::library("q", q),
        ];
        let found = rendered(&sources, Missing::Default);
        assert_eq!(found.expect(main), *wanted, "{main}");
    }
}

#[test]
fn a_value_with_lines_is_not_indented() {
    let sources = [
        TemplateSource::new("main", "  {{> p}}\n"),
        TemplateSource::library("p", "{{#lines}}{{.}}{{/lines}}{{name}}\n{{two}}\n"),
    ];
    let template = compiled(&sources, Missing::Default).expect("it compiles");
    let variables: Map = [("two", Value::from("1\n2"))].into_iter().collect();
    let request = Render {
        template: &*template,
        entries: &["main"],
        variables: &variables,
        functions: &NoFunctions,
        limits: &RenderLimits::default(),
    };
    let rendered = render(&request)
        .now_or_never()
        .expect("nothing to wait for");
    assert_eq!(rendered.expect("it renders").text(0), "  \n  1\n2\n");
}

/// Templates with their variables (a `?` marks optional ones), and whether they can access others.
const REFERENCES: &[(&str, &[&str], bool)] = &[
    ("{{a}}{{{b.c}}}{{a}}", &["a", "b.c"], false),
    ("{{#a}}{{b}}{{/a}}{{c}}", &["a?", "b?", "c"], false),
    ("{{#a}}{{b}}{{/a}}{{b}}", &["a?", "b"], false),
    ("{{^a}}{{b}}{{/a}}", &["a?", "b"], false),
    ("{{#a}}{{.}}{{/a}}", &["a?"], false),
    ("{{.}}", &[], true),
    ("{{#a}}{{> p}}{{/a}}", &["a?", "x?"], false),
    ("{{> p}}", &["x"], false),
];

#[test]
fn references_are_known_without_rendering() {
    for (text, wanted, dynamic) in REFERENCES {
        let sources = [
            TemplateSource::new("main", text),
            TemplateSource::library("p", "{{x}}{{> p}}"),
            TemplateSource::library("q", "{{y}}"),
        ];
        let template = compiled(&sources, Missing::Strict).expect(text);
        let references = template.references();
        let shown = |v: &quillet_template::VariableReference| {
            let source = sources[v.source].text;
            assert_eq!(&source[v.span.start..v.span.end], v.path.join("."));
            v.path.join(".") + if v.optional { "?" } else { "" }
        };
        let found: Vec<String> = references.variables.iter().map(shown).collect();
        assert_eq!(found, *wanted, "{text}");
        assert_eq!(references.dynamic, *dynamic, "{text}");
    }
    let gone = compiled(
        &[TemplateSource::new("main", "{{> gone}}")],
        Missing::Default,
    );
    assert_eq!(gone.expect("it compiles").references().templates, ["gone"]);
}

/// Templates that do not compile, with the columns of the errors and a word of the message or the
/// help.
const BROKEN: &[(&str, &[usize], &str)] = &[
    ("é {{name", &[3], "close the tag with }}"),
    ("{{{name}}", &[1], "close the tag with }}}"),
    ("{{/t}} {{/f}}", &[1, 8], "open the section with {{#t}}"),
    ("{{#a}}{{#b}}", &[1, 7], "close it with {{/a}}"),
    ("{{#a}}{{#b}}{{/a}}", &[13], "close {{#b}} of line 1"),
    ("{{#a}}{{/b}}{{/a}}", &[7], "before {{/b}}"),
    ("{{=<%=}}", &[1], "write two delimiters"),
    ("{{<parent}}", &[1], "inheritance"),
    (
        "{{$x}}{{/x}}",
        &[1, 7],
        "{{$name}} is a variable in the format semantic-kernel",
    ),
    ("{{>*dynamic}}", &[1], "dynamic names"),
];

#[test]
fn errors_of_compiling_name_the_place_and_the_mend() {
    for (text, columns, word) in BROKEN {
        let error =
            compiled(&[TemplateSource::new("main", text)], Missing::Default).expect_err(text);
        let places = error.diagnostics.iter();
        let places = places.map(|found| found.position.map_or(0, |at| at.column));
        assert_eq!(places.collect::<Vec<_>>(), *columns, "{text}: {error}");
        assert!(error.to_string().contains(word), "{text}: {error}");
    }
}

#[test]
fn strict_templates_name_what_is_missing() {
    let cases = [
        ("{{nme}}", "did you mean name?"),
        ("{{#l}}\n{{vv}}{{/l}}", "did you mean v?"),
        ("{{d.x}}", "variable d.x is not set"),
        ("{{> mian}}", "did you mean main?"),
    ];
    for (text, word) in cases {
        let error =
            rendered(&[TemplateSource::new("main", text)], Missing::Strict).expect_err(text);
        let said = format!("{error} {}", error.help.as_deref().unwrap_or_default());
        assert!(
            error.position.is_some() && said.contains(word),
            "{text}: {said}"
        );
        let quiet = rendered(&[TemplateSource::new("main", text)], Missing::Default);
        assert_eq!(quiet.expect(text).trim(), "", "{text}");
    }
    let tested = rendered(
        &[TemplateSource::new(
            "main",
            "{{^gone}}{{#gone}}{{/gone}}a{{/gone}}",
        )],
        Missing::Strict,
    );
    assert_eq!(tested.expect("sections deal with absence"), "a");
}

/// Functions that record their calls.
#[derive(Default)]
struct RecordedCalls(Mutex<Vec<(String, CallArguments)>>);

impl FunctionHost for RecordedCalls {
    fn contains(&self, name: &str) -> bool {
        self.names().contains(&name)
    }
    fn names(&self) -> Vec<&str> {
        vec!["weather", "no", "users", "wrong", "name", "plugin.now"]
    }
    fn parameters(&self, name: &str) -> Option<Vec<String>> {
        (name == "weather").then(|| vec!["city".to_owned(), "unit".to_owned()])
    }
    fn call<'a>(
        &'a self,
        name: &'a str,
        arguments: CallArguments,
    ) -> BoxFuture<'a, Result<Value, CallError>> {
        let noted = (name.to_owned(), arguments);
        self.0.lock().expect("nobody panicked").push(noted);
        Box::pin(async move {
            Ok(match name {
                "users" => json::parse(r#"[{"name":"Cy"},{"name":"Di"}]"#).expect("it is JSON"),
                "no" => false.into(),
                other => format!("<{other}>").into(),
            })
        })
    }
}

#[tokio::test]
async fn a_name_that_no_variable_has_calls_the_function_of_that_name() {
    let cases = [
        ("{{weather}}, {{name}}", "<weather>, Ann", 2, 1),
        ("{{weather}}{{plugin.now}}", "<weather><plugin.now>", 2, 2),
        ("{{#users}}{{name}} {{/users}}", "Cy Di ", 2, 1),
        ("{{users.1.name}}{{weather.length}}", "Di9", 2, 2),
        ("{{#no}}{{wrong}}{{/no}}{{^no}}n{{/no}}", "n", 2, 2),
        (
            "{{#t}}{{weather}}{{/t}}{{^t}}{{wrong}}{{/t}}",
            "<weather>",
            2,
            1,
        ),
    ];
    for (text, wanted, passes, calls) in cases {
        let noted = RecordedCalls::default();
        let sources = [TemplateSource::new("main", text)];
        let rendered = run(&sources, Missing::Strict, &noted).await.expect(text);
        let made = noted.0.into_inner().expect("nobody panicked");
        let seen = (rendered.text(0), rendered.passes, made.len());
        assert_eq!(seen, (wanted.to_owned(), passes, calls), "{text}");
        assert!(made.iter().all(|(name, _)| name != "wrong"), "{text}");
    }
}

#[test]
fn nesting_is_bounded() {
    let sources = [TemplateSource::new("main", "{{#t}}{{> main}}{{/t}}")];
    let error = rendered(&sources, Missing::Default).expect_err("it has no end");
    assert_eq!(error.kind, ErrorKind::Limit(LimitKind::Nesting));
    // The limit also applies if the indentation grows with every level.
    let sources = [TemplateSource::new("main", "        {{> main}}\n")];
    let error = rendered(&sources, Missing::Default).expect_err("it has no end");
    assert_eq!(error.kind, ErrorKind::Limit(LimitKind::Nesting));
    // The deepest sections that compile, inside equally deep partials.
    let deep = [
        "{{#t}}".repeat(200),
        "{{> main}}".to_owned(),
        "{{/t}}".repeat(200),
    ]
    .concat();
    let sources = [TemplateSource::new("main", &deep)];
    let error = std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(2 << 20);
        let thread = thread.spawn_scoped(scope, || rendered(&sources, Missing::Default));
        thread.expect("it starts").join().expect("it ends")
    });
    assert_eq!(
        error.expect_err("it has no end").kind,
        ErrorKind::Limit(LimitKind::Nesting)
    );
}

/// Fragments of templates.
const PIECES: &[&str] = &[
    "{{",
    "}}",
    "{{{",
    "}}}",
    "{{#l}}",
    "{{/l}}",
    "{{^d}}",
    "{{/d}}",
    "{{> main}}",
    "{{>p}}",
    "{{.}}",
    "{{=<% %>=}}",
    "<%={{ }}=%>",
    "<%",
    "%>",
    "{{! c }}",
    "{{&html}}",
    "{{d.e.k}}",
    " ",
    "\n",
    "\r\n",
    "\t",
    "text",
    "é世😀",
    "{",
    "}",
    "=",
    "#",
    "name",
    ".",
    "\0",
    "{{name}}",
];

proptest! {
    #[test]
    fn any_template_ends(pieces in vec(select(PIECES), 0..30), text in any::<String>()) {
        for text in [pieces.concat(), text] {
            let sources = [TemplateSource::new("main", &text), TemplateSource::library("p", &text)];
            if let Ok(template) = compiled(&sources, Missing::Default) {
                let limits = RenderLimits { output_bytes: 1000, steps: 10_000, ..RenderLimits::default() };
                let request = Render {
                    template: &*template,
                    entries: &["main"],
                    variables: &data(),
                    functions: &NoFunctions,
                    limits: &limits,
                };
                if let Some(Ok(rendered)) = render(&request).now_or_never() {
                    prop_assert!(rendered.text(0).len() <= limits.output_bytes);
                }
            }
        }
    }

    #[test]
    fn an_escaped_text_prints_as_it_is(pieces in vec(select(PIECES), 0..30), text in any::<String>()) {
        let factory = TemplateFactory::standard();
        for text in [pieces.concat(), text] {
            let escaped = factory.format("mustache").and_then(|format| format.escape(&text));
            let escaped = escaped.expect("there is a way");
            let alone = rendered(&[TemplateSource::new("main", &escaped)], Missing::Strict);
            prop_assert_eq!(alone.unwrap(), text.clone());
            let escaped = format!("{escaped}{{{{name}}}}");
            let before = rendered(&[TemplateSource::new("main", &escaped)], Missing::Strict);
            prop_assert_eq!(before.unwrap(), format!("{text}Ann"));
        }
    }
}
