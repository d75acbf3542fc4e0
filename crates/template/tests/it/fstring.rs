//! Tests of Python's format strings that the vectors do not cover: references, error locations,
//! calls, limits, escapes.

use std::sync::Mutex;

use futures_util::FutureExt;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use quillet_core::{BoxFuture, Map, Value, json};
use quillet_template::{
    CallArguments, CallError, CompileError, CompileOptions, CompiledTemplate, ErrorKind,
    FunctionHost, LimitKind, Missing, Render, RenderError, RenderLimits, RenderedTemplate,
    TemplateFactory, TemplateSource, render,
};

fn compiled(
    format: &str,
    text: &str,
) -> Result<std::sync::Arc<dyn CompiledTemplate>, CompileError> {
    let sources = [TemplateSource::new("main", text)];
    TemplateFactory::standard().compile(format, &sources, &CompileOptions::default())
}

fn data() -> Map {
    let text = r#"{"name":"Ann","n":3,"pi":3.14159,"l":["a",[1]],"d":{"k":"v","1":"one"},"w":6,"city":"Rome"}"#;
    let data = json::parse(text).expect("it is JSON");
    data.as_map().cloned().expect("it is an object")
}

async fn run(
    text: &str,
    functions: &dyn FunctionHost,
) -> Result<RenderedTemplate, Box<RenderError>> {
    let template = compiled("f-string", text).expect("it compiles");
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

/// Functions that record their calls. Templates call them without arguments.
#[derive(Default)]
struct RecordedCalls(Mutex<Vec<(String, CallArguments)>>);

impl FunctionHost for RecordedCalls {
    fn contains(&self, name: &str) -> bool {
        self.names().contains(&name)
    }
    fn names(&self) -> Vec<&str> {
        vec!["weather", "width", "user", "name"]
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
                "weather" => "sunny".into(),
                "width" => 8.into(),
                _ => json::parse(r#"{"first":"Bo","tags":["x"]}"#).expect("it is JSON"),
            })
        })
    }
}

#[tokio::test]
async fn a_name_that_no_variable_has_calls_the_function_of_that_name() {
    let cases = [
        ("{weather}, {name}", "sunny, Ann", 2, 1),
        ("{weather}{weather}", "sunnysunny", 2, 2),
        ("{user[first]}{user[tags][0]}", "Box", 2, 2),
        ("{weather:>8}|{name:{width}}|", "   sunny|Ann     |", 2, 2),
        ("{weather!r}", "'sunny'", 2, 1),
        ("{name}", "Ann", 1, 0),
    ];
    for (text, wanted, passes, calls) in cases {
        let noted = RecordedCalls::default();
        let rendered = run(text, &noted).await.expect(text);
        let made = noted.0.into_inner().expect("nobody panicked");
        let seen = (rendered.text(0), rendered.passes, made.len());
        assert_eq!(seen, (wanted.to_owned(), passes, calls), "{text}");
    }
    let noted = RecordedCalls::default();
    run("{weather}", &noted).await.expect("it renders");
    let made = noted.0.into_inner().expect("nobody panicked");
    let named: Vec<&str> = made[0].1.named.table().keys().map(AsRef::as_ref).collect();
    assert_eq!(named, ["city"], "variables of the parameters' names");
}

/// Templates with the paths of their variables and the spans.
const REFERENCES: &[(&str, &[(&str, &str)])] = &[
    ("{a} {b!r:>5} {a}", &[("a", "a"), ("b", "b")]),
    ("{a[k][l][0][m]}", &[("a.k.l", "a[k][l][0][m]")]),
    ("{a:{w}.{p[q]}}", &[("a", "a"), ("w", "w"), ("p.q", "p[q]")]),
    ("{{a}} {{{b}}}", &[("b", "b")]),
];

#[test]
fn references_are_known_without_rendering() {
    for (text, wanted) in REFERENCES {
        let template = compiled("f-string", text).expect(text);
        let found = template.references().variables.iter();
        let found = found.map(|v| (v.path.join("."), &text[v.span.start..v.span.end]));
        let found: Vec<(String, &str)> = found.collect();
        let wanted = wanted.iter().map(|(path, at)| ((*path).to_owned(), *at));
        assert_eq!(found, wanted.collect::<Vec<_>>(), "{text}");
    }
}

/// Templates that do not compile, with the columns of the errors and a word of the message or the
/// help.
const BROKEN: &[(&str, &[usize], &str)] = &[
    ("é } {name", &[3, 5], "write }} for a literal brace"),
    ("{", &[1], "write {{ for a literal brace"),
    ("{name", &[1], "close the field with }"),
    ("{na{me}", &[4], "unexpected '{' in field name"),
    ("{} {0}", &[1, 4], "name the variable"),
    ("{d.k}", &[3], "write {d[k]} for the key k"),
    ("{name.__class__}", &[6], "no attribute '__class__'"),
    ("{d[k]x}", &[6], "Only '.' or '['"),
    ("{d[k}", &[1], "expected '}'"),
    ("{d[]}", &[3], "Empty attribute"),
    ("{name!x}", &[7], "!r (repr)"),
    ("{name!rr}", &[8], "a conversion is one letter"),
    ("{name:5.}", &[7], "missing precision"),
    ("{name:{w:{w}}}", &[10], "recursion"),
    ("{name:>>>5}", &[7], "Invalid format specifier"),
    ("{n:99999999999999999999}", &[4], "Too many decimal digits"),
    ("{n:{}}", &[4], "name the variable"),
];

#[test]
fn errors_of_compiling_name_the_place_and_the_mend() {
    for (text, columns, word) in BROKEN {
        let error = compiled("f-string", text).expect_err(text);
        let places = error.diagnostics.iter();
        let places = places.map(|found| found.position.map_or(0, |at| at.column));
        assert_eq!(places.collect::<Vec<_>>(), *columns, "{text}: {error}");
        assert!(error.to_string().contains(word), "{text}: {error}");
    }
}

/// Templates that fail at render time, with the column and a word of the message or the help.
const FAILING: &[(&str, usize, &str)] = &[
    ("é {nme}", 3, "did you mean name?"),
    ("{ \"a\": 1}", 1, "write {{ and }} for literal braces"),
    ("{d[x]}", 1, "no key 'x'"),
    ("{d[1]}", 1, "digits in brackets are an index"),
    ("{l[2]}", 1, "list index out of range"),
    ("{l[-1]}", 1, "list indices must be numbers, not '-1'"),
    ("{name[9]}", 1, "string index out of range"),
    ("{n[0]}", 1, "'int' object is not subscriptable"),
    ("{l:5}", 1, "write !s before the colon"),
    ("{name:d}", 1, "Unknown format code 'd'"),
    ("{name:{d[k]}}", 1, "Unknown format code 'v'"),
];

#[tokio::test]
async fn errors_of_rendering_name_the_place_and_the_mend() {
    for (text, column, word) in FAILING {
        let error = run(text, &quillet_template::NoFunctions).await;
        let error = error.expect_err(text);
        let at = error.position.map(|at| (at.line, at.column));
        assert_eq!(at, Some((1, *column)), "{text}: {error}");
        let said = format!("{error} {}", error.help.as_deref().unwrap_or_default());
        assert!(said.contains(word), "{text}: {said}");
    }
}

#[tokio::test]
async fn characters_of_a_text_have_an_index_as_in_python() {
    let rendered = run("{name[0]}{l[1][0]}{d[k]!r}", &quillet_template::NoFunctions).await;
    assert_eq!(rendered.expect("it renders").text(0), "A1'v'");
}

#[tokio::test]
async fn widths_and_precisions_are_bounded() {
    let cases = [
        ("{name:>1000000000}", LimitKind::MemoryBytes),
        ("{n:01000000000}", LimitKind::MemoryBytes),
        ("{pi:.1000000000f}", LimitKind::MemoryBytes),
        ("{pi:#.1000000000g}", LimitKind::MemoryBytes),
        ("{name:>9000000}", LimitKind::OutputBytes),
    ];
    for (text, limit) in cases {
        let error = run(text, &quillet_template::NoFunctions).await;
        assert_eq!(
            error.expect_err(text).kind,
            ErrorKind::Limit(limit),
            "{text}"
        );
    }
    let cut = run("{name:.1000000000}", &quillet_template::NoFunctions).await;
    assert_eq!(cut.expect("it only cuts").text(0), "Ann");
}

#[test]
fn a_missing_variable_prints_nothing_where_it_is_to() {
    let options = CompileOptions {
        missing: Missing::Zero,
        ..CompileOptions::default()
    };
    let sources = [TemplateSource::new("main", "[{nothing:>5}{name}]")];
    let template = TemplateFactory::standard().compile("python", &sources, &options);
    assert_eq!(rendered(&*template.expect("it compiles")).unwrap(), "[Ann]");
}

fn rendered(template: &dyn CompiledTemplate) -> Result<String, Box<RenderError>> {
    let request = Render {
        template,
        entries: &["main"],
        variables: &data(),
        functions: &quillet_template::NoFunctions,
        limits: &RenderLimits::default(),
    };
    let rendered = render(&request).now_or_never();
    let rendered = rendered.expect("nothing to wait for");
    rendered.map(|rendered| rendered.text(0))
}

/// Fragments of format strings.
const PIECES: &[&str] = &[
    "{",
    "}",
    "{{",
    "}}",
    "{name}",
    "{l",
    "{d[k]",
    "[",
    "]",
    "[0]",
    ".",
    "!",
    "!r",
    "!a",
    ":",
    ":>9",
    ".3f",
    "{w}",
    ",",
    "_",
    "0",
    "#",
    "z",
    "é世😀",
    "\0",
    "\n",
    " ",
    "text",
    "{pi:{w}.{n}f}",
];

proptest! {
    #[test]
    fn any_format_string_ends(pieces in vec(select(PIECES), 0..30), text in any::<String>()) {
        for text in [pieces.concat(), text] {
            for format in ["f-string", "f-string-strict"] {
                if let Ok(template) = compiled(format, &text) {
                    let _ = rendered(&*template);
                }
            }
        }
    }

    #[test]
    fn an_escaped_text_prints_as_it_is(pieces in vec(select(PIECES), 0..30), text in any::<String>()) {
        let factory = TemplateFactory::standard();
        for text in [pieces.concat(), text] {
            let escaped = factory.format("f-string").and_then(|format| format.escape(&text));
            let escaped = escaped.expect("there is a way");
            let around = compiled("f-string", &format!("{{name}}{escaped}{{name}}"));
            let around = rendered(&*around.expect("it compiles"));
            prop_assert_eq!(around.unwrap(), format!("Ann{text}Ann"));
        }
    }
}
