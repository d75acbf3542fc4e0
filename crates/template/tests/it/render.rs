//! Properties of the render loop, the same in every format.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use quillet_core::{BoxFuture, Map, Value, json};
use quillet_template::{
    Arguments, CallError, CompileLimits, CompileOptions, ErrorKind, Functions, Limit, Limits,
    Missing, Render, RenderError, Rendered, Source, Template, TemplateFactory, render,
};
use tokio::sync::{Barrier, Notify};

use crate::custom::Custom;

/// One template for each property, in one format. `x` is the text `X`.
struct Dialect {
    format: &'static str,
    /// Prints ten independent calls of `echo`.
    ten: &'static str,
    /// Three calls, each of which needs the one before.
    chain: &'static str,
    /// The same call twice.
    twice: &'static str,
    /// A call that fails, and one that does not.
    fails: &'static str,
    /// Where `fails` fails; the custom format keeps no places.
    place: Option<(usize, usize)>,
    /// Calls a function that does not exist.
    unknown: &'static str,
    /// Needs a variable that does not exist.
    missing: &'static str,
}

const DIALECTS: &[Dialect] = &[
    Dialect {
        format: "custom",
        ten: "(echo 0)(echo 1)(echo 2)(echo 3)(echo 4)(echo 5)(echo 6)(echo 7)(echo 8)(echo 9)",
        chain: "(plus (plus (plus $x)))",
        twice: "(echo a)(echo a)",
        fails: "text\n\n  (crash 1)(echo 2)",
        place: None,
        unknown: "(ehco 1)",
        missing: "$nothing",
    },
    Dialect {
        format: "go",
        ten: r#"{{echo "0"}}{{echo "1"}}{{echo "2"}}{{echo "3"}}{{echo "4"}}{{echo "5"}}{{echo "6"}}{{echo "7"}}{{echo "8"}}{{echo "9"}}"#,
        chain: "{{plus (plus (plus .x))}}",
        twice: r#"{{echo "a"}}{{echo "a"}}"#,
        fails: "text\n\n  {{crash 1}}{{echo 2}}",
        place: Some((3, 5)),
        unknown: "{{ehco 1}}",
        missing: "{{.nothing}}",
    },
    Dialect {
        format: "jinja",
        ten: "{% for i in '0123456789' %}{{ echo(i) }}{% endfor %}",
        chain: "{{ plus(plus(plus(x))) }}",
        twice: "{{ echo('a') }}{{ echo('a') }}",
        fails: "text\n\n  {{ crash(1) }}{{ echo(2) }}",
        place: Some((3, 6)),
        unknown: "{{ ehco(1) }}",
        missing: "{{ nothing }}",
    },
];

fn factory() -> TemplateFactory {
    TemplateFactory::standard().with(Custom)
}

fn compile(format: &str, text: &str) -> Arc<dyn Template> {
    let options = CompileOptions {
        missing: Missing::Strict,
        ..CompileOptions::default()
    };
    let compiled = factory().compile(format, &[Source::new("main", text)], &options);
    compiled.unwrap_or_else(|error| panic!("{format}: {text}: {error}"))
}

async fn run(
    format: &str,
    text: &str,
    functions: &dyn Functions,
    limits: Limits,
) -> Result<Rendered, Box<RenderError>> {
    let template = compile(format, text);
    let variables = json::parse(r#"{"x":"X","l":[1,2,3],"m":{"k":1}}"#).expect("it is JSON");
    render(&Render {
        template: &*template,
        entries: &["main"],
        variables: variables.as_map().expect("it is an object"),
        functions,
        limits: &limits,
    })
    .await
}

fn generous() -> Limits {
    Limits {
        time: Duration::from_secs(20),
        ..Limits::default()
    }
}

/// Functions that note what was called.
#[derive(Default)]
struct Noted {
    calls: Mutex<Vec<String>>,
    idempotent: bool,
    /// Where calls of `echo` meet before any of them answers.
    gate: Option<Barrier>,
}

const NAMES: &[&str] = &[
    "echo",
    "plus",
    "crash",
    "wrong",
    "yes",
    "no",
    "nothing_at_all",
    "three",
    "pair",
    "user",
];

impl Noted {
    fn calls(&self) -> Vec<String> {
        self.calls.lock().expect("nobody panicked").clone()
    }
}

impl Functions for Noted {
    fn contains(&self, name: &str) -> bool {
        NAMES.contains(&name)
    }
    fn names(&self) -> Vec<&str> {
        NAMES.to_vec()
    }
    fn idempotent(&self, _: &str) -> bool {
        self.idempotent
    }
    fn call<'a>(
        &'a self,
        name: &'a str,
        arguments: Arguments,
    ) -> BoxFuture<'a, Result<Value, CallError>> {
        self.calls
            .lock()
            .expect("nobody panicked")
            .push(name.to_owned());
        let first = arguments.positional.into_iter().next().unwrap_or_default();
        Box::pin(async move {
            if let Some(gate) = &self.gate {
                gate.wait().await;
            }
            Ok(match name {
                "echo" => first,
                "plus" => format!("{}+", first.as_str().unwrap_or_default()).into(),
                "yes" => true.into(),
                "no" => false.into(),
                "three" => 3.into(),
                "pair" => vec![1.into(), 2.into()].into(),
                "user" => json::parse(r#"{"name":"Ann","tags":["a"]}"#).expect("it is JSON"),
                "crash" => return Err(CallError::new("it broke")),
                _ => Value::Null,
            })
        })
    }
}

#[tokio::test]
async fn independent_calls_run_at_the_same_time() {
    for dialect in DIALECTS {
        let noted = Noted {
            // Nothing answers unless all ten wait together.
            gate: Some(Barrier::new(10)),
            ..Noted::default()
        };
        let rendered = run(dialect.format, dialect.ten, &noted, generous());
        let rendered = rendered.await.unwrap();
        assert_eq!(rendered.text(0), "0123456789", "{}", dialect.format);
        assert_eq!(rendered.passes, 2, "{}", dialect.format);
        assert_eq!(noted.calls().len(), 10, "{}", dialect.format);
    }
}

#[tokio::test]
async fn a_chain_takes_one_pass_more_than_it_is_long() {
    for dialect in DIALECTS {
        let noted = Noted::default();
        let rendered = run(dialect.format, dialect.chain, &noted, generous());
        let rendered = rendered.await.unwrap();
        assert_eq!(rendered.text(0), "X+++", "{}", dialect.format);
        assert_eq!(rendered.passes, 4, "{}", dialect.format);
        assert_eq!(noted.calls().len(), 3, "{}", dialect.format);
    }
}

#[tokio::test]
async fn only_idempotent_calls_are_shared() {
    for dialect in DIALECTS {
        for (idempotent, calls) in [(true, 1), (false, 2)] {
            let noted = Noted {
                idempotent,
                ..Noted::default()
            };
            let rendered = run(dialect.format, dialect.twice, &noted, generous());
            assert_eq!(rendered.await.unwrap().text(0), "aa", "{}", dialect.format);
            assert_eq!(noted.calls().len(), calls, "{}", dialect.format);
        }
    }
}

#[tokio::test]
async fn a_failed_call_fails_the_render_where_it_stands() {
    for dialect in DIALECTS {
        let noted = Noted::default();
        let error = run(dialect.format, dialect.fails, &noted, generous());
        let error = error.await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::CallFailed, "{}", dialect.format);
        assert_eq!(
            error.reason, "error calling crash: it broke",
            "{}",
            dialect.format
        );
        let place = error.position.map(|at| (at.line, at.column));
        assert_eq!(
            place, dialect.place,
            "{}: {}",
            dialect.format, error.message
        );
    }
}

#[tokio::test]
async fn what_is_not_there_is_named() {
    for dialect in DIALECTS {
        let noted = Noted::default();
        let unknown = run(dialect.format, dialect.unknown, &noted, generous());
        let unknown = unknown.await.unwrap_err();
        assert_eq!(
            unknown.kind,
            ErrorKind::UnknownFunction,
            "{}",
            dialect.format
        );
        let help = unknown.help.as_deref();
        assert_eq!(help, Some("did you mean echo?"), "{}", dialect.format);
        let missing = run(dialect.format, dialect.missing, &noted, generous());
        let missing = missing.await.unwrap_err();
        assert_eq!(
            missing.kind,
            ErrorKind::MissingVariable,
            "{}",
            dialect.format
        );
        assert!(missing.message.contains("nothing"), "{}", missing.message);
    }
}

/// Ways in which a template decides with the result of a call, and what each
/// prints. `wrong` stands where a sequential render never gets.
const DECISIONS: &[(&str, &str, &str)] = &[
    ("jinja", "{% if no() %}{{ wrong() }}{% endif %}", ""),
    ("jinja", "{% if not yes() %}{{ wrong() }}{% endif %}", ""),
    (
        "jinja",
        "{% if yes() %}y{% else %}{{ wrong() }}{% endif %}",
        "y",
    ),
    ("jinja", "{% if yes() %}y{% elif wrong() %}{% endif %}", "y"),
    ("jinja", "{% if no() and wrong() %}{% endif %}", ""),
    ("jinja", "{% if yes() or wrong() %}y{% endif %}", "y"),
    (
        "jinja",
        "{% if yes() is none %}{{ wrong() }}{% endif %}",
        "",
    ),
    (
        "jinja",
        "{% if three() is integer %}i{% else %}{{ wrong() }}{% endif %}",
        "i",
    ),
    (
        "jinja",
        "{% if three() is defined %}d{% else %}{{ wrong() }}{% endif %}",
        "d",
    ),
    (
        "jinja",
        "{% if echo('a') is string %}s{% else %}{{ wrong() }}{% endif %}",
        "s",
    ),
    (
        "jinja",
        "{% if user() is mapping %}m{% else %}{{ wrong() }}{% endif %}",
        "m",
    ),
    (
        "jinja",
        "{% if echo('b') in ['a'] %}{{ wrong() }}{% endif %}",
        "",
    ),
    (
        "jinja",
        "{% if 'z' in pair() %}{{ wrong() }}{% endif %}",
        "",
    ),
    (
        "jinja",
        "{% if none == three() %}{{ wrong() }}{% endif %}",
        "",
    ),
    (
        "jinja",
        "{% if three() == 3.0 %}e{% else %}{{ wrong() }}{% endif %}",
        "e",
    ),
    ("jinja", "{% if three() != 3 %}{{ wrong() }}{% endif %}", ""),
    ("jinja", "{% if three() > 3 %}{{ wrong() }}{% endif %}", ""),
    (
        "jinja",
        "{% if three() + 1 < 4 %}{{ wrong() }}{% endif %}",
        "",
    ),
    ("jinja", "{% if echo('') %}{{ wrong() }}{% endif %}", ""),
    (
        "jinja",
        "{% if pair()|length > 2 %}{{ wrong() }}{% endif %}",
        "",
    ),
    (
        "jinja",
        "{% if user().name == 'Bob' %}{{ wrong() }}{% endif %}",
        "",
    ),
    (
        "jinja",
        "{% if user()['tags'][0] != 'a' %}{{ wrong() }}{% endif %}",
        "",
    ),
    (
        "jinja",
        "{% if echo('a') ~ 'b' == 'c' %}{{ wrong() }}{% endif %}",
        "",
    ),
    ("jinja", "{{ wrong() if no() else 'n' }}", "n"),
    (
        "jinja",
        "{% for i in pair() %}{{ i }}{% else %}{{ wrong() }}{% endfor %}",
        "12",
    ),
    (
        "jinja",
        "{% for i in l if i > three() %}{{ wrong() }}{% endfor %}",
        "",
    ),
    (
        "jinja",
        "{% set a = no() %}{% if a %}{{ wrong() }}{% endif %}",
        "",
    ),
    (
        "jinja",
        "{% set a %}{{ no() }}{% endset %}{% if a == 'x' %}{{ wrong() }}{% endif %}{{ a }}",
        "False",
    ),
    (
        "jinja",
        "{% macro m() %}{{ no() }}{% endmacro %}{% if m() == 'x' %}{{ wrong() }}{% endif %}{{ m() }}",
        "False",
    ),
    (
        "jinja",
        "{% filter upper %}{{ echo('a') }}{% endfilter %}",
        "A",
    ),
    (
        "jinja",
        "{{ (no() and wrong()) }}|{{ yes() or wrong() }}",
        "False|True",
    ),
    ("go", "{{if no}}{{wrong}}{{end}}", ""),
    ("go", "{{if not yes}}{{wrong}}{{end}}", ""),
    ("go", "{{if yes}}y{{else}}{{wrong}}{{end}}", "y"),
    ("go", "{{if yes}}y{{else if wrong}}{{end}}", "y"),
    ("go", "{{and no wrong}}", "false"),
    ("go", "{{or yes wrong}}", "true"),
    (
        "go",
        "{{with user}}{{.name}}{{else}}{{wrong}}{{end}}",
        "Ann",
    ),
    ("go", "{{range pair}}{{.}}{{else}}{{wrong}}{{end}}", "12"),
    ("go", "{{if eq three 4}}{{wrong}}{{end}}", ""),
    ("go", "{{if gt (len pair) 2}}{{wrong}}{{end}}", ""),
    ("go", "{{$a := no}}{{if $a}}{{wrong}}{{end}}", ""),
    ("go", "{{index user.tags 0}}", "a"),
    ("go", "{{no | not | printf \"%v\"}}", "true"),
];

#[tokio::test]
async fn no_call_is_made_on_a_branch_that_is_not_taken() {
    for (format, text, expected) in DECISIONS {
        let noted = Noted::default();
        let rendered = run(format, text, &noted, generous()).await;
        let rendered = rendered.unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(rendered.text(0), *expected, "{format}: {text}");
        let calls = noted.calls();
        assert!(
            !calls.contains(&"wrong".to_owned()),
            "{format}: {text}: {calls:?}"
        );
    }
}

/// A bound, a setting of it, and templates that reach it.
type Bound = (
    Limit,
    fn(&mut Limits),
    &'static [(&'static str, &'static str)],
);

const BOUNDS: &[Bound] = &[
    (
        Limit::Calls,
        |limits| limits.calls = 9,
        &[
            ("jinja", "{% for i in range(10) %}{{ echo(i) }}{% endfor %}"),
            ("go", "{{range 10}}{{echo .}}{{end}}"),
            (
                "custom",
                "(echo 0)(echo 1)(echo 2)(echo 3)(echo 4)(echo 5)(echo 6)(echo 7)(echo 8)(echo 9)",
            ),
        ],
    ),
    (
        Limit::Passes,
        |limits| limits.passes = 3,
        &[
            ("jinja", "{{ plus(plus(plus('x'))) }}"),
            ("go", "{{plus (plus (plus .x))}}"),
            ("custom", "(plus (plus (plus x)))"),
        ],
    ),
    (
        Limit::OutputBytes,
        |limits| limits.output_bytes = 9,
        &[
            ("jinja", "{% for i in range(10) %}x{% endfor %}"),
            ("go", "{{range 10}}x{{end}}"),
            ("custom", "x x x x x x"),
        ],
    ),
    (
        Limit::Steps,
        |limits| limits.steps = 5000,
        &[
            (
                "jinja",
                "{% for i in range(100) %}{% for j in range(100) %}{% endfor %}{% endfor %}",
            ),
            ("go", "{{range 100}}{{range 100}}{{end}}{{end}}"),
        ],
    ),
    (
        Limit::MemoryBytes,
        |limits| limits.memory_bytes = 10_000,
        &[
            ("jinja", "{{ ('x' * 20000)|length }}"),
            ("go", r#"{{len (printf "%20000d" 1)}}"#),
        ],
    ),
    (
        Limit::Nesting,
        |limits| limits.nesting = 9,
        &[
            (
                "jinja",
                "{% macro m(n) %}{% if n %}{{ m(n - 1) }}{% endif %}{% endmacro %}{{ m(10) }}",
            ),
            (
                "go",
                r#"{{define "m"}}{{template "m"}}{{end}}{{template "m"}}"#,
            ),
        ],
    ),
    (
        Limit::Time,
        |limits| limits.time = Duration::ZERO,
        &[
            ("jinja", "{% for i in range(9000) %}{% endfor %}"),
            ("go", "{{range 9000}}{{end}}"),
            ("custom", "(echo 1)"),
        ],
    ),
];

#[tokio::test]
async fn every_limit_ends_the_render_with_an_error_that_names_it() {
    for (limit, set, templates) in BOUNDS {
        for (format, text) in *templates {
            let mut limits = generous();
            set(&mut limits);
            let error = run(format, text, &Noted::default(), limits).await;
            let error = error.expect_err(text);
            assert_eq!(
                error.kind,
                ErrorKind::Limit(*limit),
                "{format}: {text}: {error}"
            );
            // Go has words of its own for templates that call templates.
            let named = [limit.name(), "maximum template depth"];
            let named = named.iter().any(|name| error.reason.contains(name));
            assert!(named, "{format}: {error}");
            assert!(
                run(format, text, &Noted::default(), generous())
                    .await
                    .is_ok()
                    || *limit == Limit::Nesting,
                "{format}: {text}"
            );
        }
    }
}

#[test]
fn nesting_is_bounded_before_anything_runs() {
    let deep = [
        (
            "jinja",
            format!("{{{{ {}1{} }}}}", "(".repeat(60), ")".repeat(60)),
        ),
        (
            "go",
            format!("{{{{{}1{}}}}}", "(".repeat(60), ")".repeat(60)),
        ),
    ];
    for (format, text) in deep {
        for (nesting, fits) in [(50, false), (100, true)] {
            let options = CompileOptions {
                limits: CompileLimits {
                    nesting,
                    ..CompileLimits::default()
                },
                ..CompileOptions::default()
            };
            let compiled = factory().compile(format, &[Source::new("main", &text)], &options);
            assert_eq!(compiled.is_ok(), fits, "{format} at {nesting}");
        }
    }
}

/// A function that never answers, and counts who waits for it.
#[derive(Default)]
struct Hanging {
    waiting: Arc<AtomicUsize>,
    called: Notify,
}

struct Waiting(Arc<AtomicUsize>);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Functions for Hanging {
    fn contains(&self, _: &str) -> bool {
        true
    }
    fn names(&self) -> Vec<&str> {
        Vec::new()
    }
    fn call<'a>(&'a self, _: &'a str, _: Arguments) -> BoxFuture<'a, Result<Value, CallError>> {
        Box::pin(async move {
            self.waiting.fetch_add(1, Ordering::SeqCst);
            let _waiting = Waiting(Arc::clone(&self.waiting));
            self.called.notify_one();
            std::future::pending().await
        })
    }
}

#[tokio::test]
async fn dropping_the_render_cancels_its_calls() {
    for dialect in DIALECTS {
        let hanging = Hanging::default();
        let limits = generous();
        {
            let render = run(dialect.format, dialect.ten, &hanging, limits);
            tokio::select! {
                _ = render => panic!("{}: it cannot end", dialect.format),
                () = hanging.called.notified() => {}
            }
        }
        assert_eq!(
            hanging.waiting.load(Ordering::SeqCst),
            0,
            "{}",
            dialect.format
        );
    }
}

#[tokio::test]
async fn a_call_that_hangs_ends_at_the_limit_on_time() {
    for dialect in DIALECTS {
        let hanging = Hanging::default();
        let limits = Limits {
            time: Duration::from_millis(20),
            ..Limits::default()
        };
        let error = run(dialect.format, dialect.chain, &hanging, limits).await;
        assert_eq!(
            error.unwrap_err().kind.code(),
            "render.timeout",
            "{}",
            dialect.format
        );
        assert_eq!(
            hanging.waiting.load(Ordering::SeqCst),
            0,
            "{}",
            dialect.format
        );
    }
}

/// Idempotent `echo` among calls of others that are not.
struct Mixed(Noted);

impl Functions for Mixed {
    fn contains(&self, name: &str) -> bool {
        self.0.contains(name)
    }
    fn names(&self) -> Vec<&str> {
        self.0.names()
    }
    fn idempotent(&self, name: &str) -> bool {
        name == "echo"
    }
    fn call<'a>(
        &'a self,
        name: &'a str,
        arguments: Arguments,
    ) -> BoxFuture<'a, Result<Value, CallError>> {
        self.0.call(name, arguments)
    }
}

#[tokio::test]
async fn shared_calls_do_not_disturb_the_order_of_the_others() {
    let text = "{{ echo('a') }}{{ plus('1') }}{{ echo('b') }}{{ plus('2') }}{% if echo('a') %}\
                {{ plus(plus('3')) }}{{ echo('c') }}{{ plus('1') }}{% endif %}{{ plus('4') }}{{ echo('c') }}";
    let mixed = Mixed(Noted::default());
    let rendered = run("jinja", text, &mixed, generous()).await.unwrap();
    assert_eq!(rendered.text(0), "a1+b2+3++c1+4+c");
    let count = |name: &str| mixed.0.calls().iter().filter(|call| *call == name).count();
    assert_eq!((count("echo"), count("plus")), (3, 6));
}

#[tokio::test]
async fn entries_share_calls_passes_and_the_limit_on_output() {
    let sources = [
        Source::new("system", "{{ echo('a') }}"),
        Source::new("user", "{{ echo('a') }}{{ plus(echo('b')) }}"),
    ];
    let template = factory()
        .compile("jinja", &sources, &CompileOptions::default())
        .unwrap();
    let noted = Noted {
        idempotent: true,
        ..Noted::default()
    };
    let variables = Map::default();
    let request = |limits| Render {
        template: &*template,
        entries: &["system", "user"],
        variables: &variables,
        functions: &noted,
        limits,
    };
    let limits = generous();
    let rendered = render(&request(&limits)).await.unwrap();
    assert_eq!((rendered.passes, noted.calls().len()), (3, 3));
    assert_eq!(rendered.into_texts(), ["a", "ab+"]);
    let limits = Limits {
        output_bytes: 2,
        ..limits
    };
    let error = render(&request(&limits)).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Limit(Limit::OutputBytes));
}
