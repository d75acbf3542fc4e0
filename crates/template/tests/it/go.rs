//! Tests of the `go` format that the vectors do not cover: late-bound calls, strict variables,
//! error locations, limits, results that print as one field.

use std::sync::Mutex;

use futures_util::FutureExt;
use quillet_core::{BoxFuture, LineColumn, Map, Value, json};
use quillet_template::format::go::GoFormat;
use quillet_template::{
    CallArguments, CallError, CompileError, CompileLimits, CompileOptions, ErrorKind, FunctionHost,
    LimitKind, MessageSyntax, Missing, NoFunctions, Render, RenderError, RenderLimits,
    RenderedTemplate, TemplateFormat, TemplateSource, render,
};

/// Functions that return their argument and record every call.
#[derive(Default)]
struct Echo(Mutex<Vec<String>>);

impl FunctionHost for Echo {
    fn contains(&self, name: &str) -> bool {
        self.names().contains(&name)
    }
    fn names(&self) -> Vec<&str> {
        vec!["echo", "object", "nothing"]
    }
    fn call<'a>(
        &'a self,
        name: &'a str,
        arguments: CallArguments,
    ) -> BoxFuture<'a, Result<Value, CallError>> {
        let shown = json::to_string(&Value::from(arguments.positional.clone()));
        self.0
            .lock()
            .expect("as the test has it")
            .push(format!("{name}{shown}"));
        let value = match name {
            "echo" => arguments.positional.into_iter().next().unwrap_or_default(),
            "object" => {
                let entries = [("text", "shown".into()), ("n", Value::Int(7))];
                let object: Map = entries.into_iter().collect();
                Value::Map(object.with_display_key("text"))
            }
            _ => Value::Null,
        };
        Box::pin(std::future::ready(Ok(value)))
    }
}

fn compile_error(text: &str) -> CompileError {
    let sources = [TemplateSource::new("t", text)];
    let compiled = GoFormat::new().compile(&sources, &CompileOptions::default());
    compiled.err().unwrap_or_else(|| panic!("{text} compiles"))
}

fn run(
    text: &str,
    data: &str,
    missing: Missing,
    limits: &RenderLimits,
    functions: &Echo,
) -> Result<RenderedTemplate, Box<RenderError>> {
    let options = CompileOptions {
        missing,
        ..CompileOptions::default()
    };
    let sources = [TemplateSource::new("t", text)];
    let template = GoFormat::new()
        .compile(&sources, &options)
        .expect("as the test has it");
    let variables = json::parse(data)
        .expect("as the test has it")
        .as_map()
        .expect("as the test has it")
        .clone();
    let what = Render {
        template: template.as_ref(),
        entries: &["t"],
        variables: &variables,
        functions,
        limits,
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build();
    runtime.expect("as the test has it").block_on(render(&what))
}

fn generous() -> RenderLimits {
    RenderLimits {
        time: std::time::Duration::from_secs(30),
        ..RenderLimits::default()
    }
}

fn error(text: &str, data: &str, limits: &RenderLimits) -> Box<RenderError> {
    let result = run(text, data, Missing::Strict, limits, &Echo::default());
    result.expect_err(text)
}

#[test]
fn late_calls_are_made_once_on_the_branch_that_is_taken() {
    // The columns are the template, the text, the calls and the number of passes.
    let cases: [(&str, &str, &[&str], usize); 13] = [
        ("{{echo 1}}{{echo 2}}", "12", &["echo[1]", "echo[2]"], 2),
        ("{{echo (echo 1)}}", "1", &["echo[1]", "echo[1]"], 3),
        (
            "{{if echo true}}{{echo 1}}{{else}}{{echo 2}}{{end}}",
            "1",
            &["echo[true]", "echo[1]"],
            3,
        ),
        ("{{and false (echo 1)}}", "false", &[], 1),
        ("{{or 1 (echo 1)}}", "1", &[], 1),
        (
            "{{or 0 (echo 1)}}{{echo 2}}",
            "12",
            &["echo[1]", "echo[2]"],
            2,
        ),
        (
            "{{$x := echo 1}}{{echo 2}}{{$x}}",
            "21",
            &["echo[1]", "echo[2]"],
            2,
        ),
        (
            "{{$x := echo 1}}{{if eq $x 1}}one{{end}}",
            "one",
            &["echo[1]"],
            2,
        ),
        (
            "{{range echo .l}}[{{.}}]{{end}}",
            "[1][2]",
            &["echo[[1,2]]"],
            2,
        ),
        ("{{(echo .m).k}}", "v", &["echo[{\"k\":\"v\"}]"], 2),
        (
            "{{with echo .m}}{{.k}}{{end}}",
            "v",
            &["echo[{\"k\":\"v\"}]"],
            2,
        ),
        (
            "{{.s | echo | printf \"%q\"}}",
            "\"s\"",
            &["echo[\"s\"]"],
            2,
        ),
        (
            "{{template \"n\" (echo 1)}}{{echo 2}}{{define \"n\"}}<{{.}}>{{end}}",
            "<1>2",
            &["echo[1]", "echo[2]"],
            2,
        ),
    ];
    let data = r#"{"l":[1,2],"m":{"k":"v"},"s":"s"}"#;
    for (text, expected, calls, passes) in cases {
        let functions = Echo::default();
        let rendered =
            run(text, data, Missing::Default, &generous(), &functions).expect("as the test has it");
        assert_eq!(rendered.text(0), expected, "{text}");
        assert_eq!(
            *functions.0.lock().expect("as the test has it"),
            calls,
            "{text}"
        );
        assert_eq!(rendered.passes, passes, "{text}");
    }
}

#[test]
fn a_result_prints_as_the_field_that_stands_for_it() {
    let cases = [
        ("{{object}}", "shown"),
        ("{{object | print}}", "shown"),
        ("{{object | printf \"%s\"}}", "shown"),
        ("{{printf (object)}}", "shown"),
        ("{{html (object)}}", "shown"),
        ("{{$o := object}}{{$o.n}}{{$o.text}}", "7shown"),
        ("{{nothing}}", "<no value>"),
    ];
    for (text, expected) in cases {
        let rendered = run(text, "{}", Missing::Default, &generous(), &Echo::default());
        assert_eq!(
            rendered.expect("as the test has it").text(0),
            expected,
            "{text}"
        );
    }
}

#[test]
fn errors_have_their_kind_place_and_words() {
    let cases = [
        (
            "ä\n{{.a.b}}",
            ErrorKind::MissingVariable,
            (".a.b", 2, 3),
            "template: t:2:4: executing \"t\" at <.a.b>: map has no entry for key \"b\"",
        ),
        (
            "{{.b}}",
            ErrorKind::MissingVariable,
            (".b", 1, 3),
            "template: t:1:2: executing \"t\" at <.b>: map has no entry for key \"b\"",
        ),
        (
            "{{len 1}}",
            ErrorKind::Execution,
            ("len 1", 1, 3),
            "template: t:1:2: executing \"t\" at <len 1>: error calling len: len of type int",
        ),
        (
            "{{ecko 1}}",
            ErrorKind::UnknownFunction,
            ("ecko 1", 1, 3),
            "template: t:1:2: executing \"t\" at <ecko 1>: function \"ecko\" not defined",
        ),
    ];
    for (text, kind, (pointed, line, column), message) in cases {
        let error = error(text, r#"{"a":{}}"#, &generous());
        assert_eq!((error.kind, error.message.as_str()), (kind, message));
        let span = error.span.expect("as the test has it");
        assert_eq!(&text[span.start..span.end], pointed);
        assert_eq!(error.position, Some(LineColumn { line, column }));
        assert_eq!(error.source_name, "t");
    }
    let error = error("{{ecko 1}}", "{}", &generous());
    assert_eq!(error.help.as_deref(), Some("did you mean echo?"));
}

#[test]
fn every_source_that_does_not_parse_is_reported_with_its_place() {
    let sources = [
        TemplateSource::new("a", "x\n{{.b | 3}}"),
        TemplateSource::new("good", "{{.a}}"),
        TemplateSource::new("b", "{{if}}"),
    ];
    let compiled = GoFormat::new().compile(&sources, &CompileOptions::default());
    let error = compiled.expect_err("it is refused");
    assert_eq!(
        error.message,
        "template: a:2: non executable command in pipeline stage 2"
    );
    let names: Vec<&str> = error
        .diagnostics
        .iter()
        .map(|d| d.source.as_str())
        .collect();
    assert_eq!(names, ["a", "b"]);
    let error = compile_error("ab {{$x}}");
    let span = error.diagnostics[0].span.expect("as the test has it");
    assert_eq!((span.start, span.end), (5, 7));
}

#[test]
fn every_bound_of_a_render_holds_and_is_named() {
    let small = RenderLimits {
        output_bytes: 1000,
        memory_bytes: 10_000,
        steps: 5000,
        nesting: 20,
        ..generous()
    };
    let cases = [
        ("{{range 1000}}xxxxxxxxxx{{end}}", LimitKind::OutputBytes),
        ("{{printf \"%2000d\" 1}}", LimitKind::OutputBytes),
        ("{{range 100000}}{{end}}", LimitKind::Steps),
        (
            "{{range 1000}}{{range 1000}}{{end}}{{end}}",
            LimitKind::Steps,
        ),
        (
            "{{define \"r\"}}{{template \"r\"}}{{end}}{{template \"r\"}}",
            LimitKind::Nesting,
        ),
        (
            "{{$s := \"xxxxxxxx\"}}{{range 40}}{{$s = print $s $s}}{{end}}",
            LimitKind::MemoryBytes,
        ),
        (
            "{{len (html (printf \"%9000d\" 1))}}",
            LimitKind::MemoryBytes,
        ),
    ];
    for (text, limit) in cases {
        let error = error(text, "{}", &small);
        assert_eq!(error.kind, ErrorKind::Limit(limit), "{text}: {error}");
    }
    let declarations = "{{$x := 1}}".repeat(1000);
    let many = format!(
        "{{{{define \"r\"}}}}{{{{template \"r\"}}}}{declarations}{{{{end}}}}{{{{template \"r\"}}}}"
    );
    let error = error(&many, "{}", &small);
    assert_eq!(
        error.kind,
        ErrorKind::Limit(LimitKind::MemoryBytes),
        "{error}"
    );
}

#[test]
fn nesting_of_sources_is_bounded() {
    let options = CompileOptions {
        limits: CompileLimits {
            nesting: 10,
            ..CompileLimits::default()
        },
        ..CompileOptions::default()
    };
    let nested = |open: &str, close: &str, depth| open.repeat(depth) + "1" + &close.repeat(depth);
    for depth in [10, 11] {
        let blocks = nested("{{if .a}}", "{{end}}", depth);
        let parentheses = format!("{{{{{}}}}}", nested("(", ")", depth));
        for text in [blocks, parentheses] {
            let sources = [TemplateSource::new("t", &text)];
            let compiled = GoFormat::new().compile(&sources, &options);
            assert_eq!(compiled.is_ok(), depth == 10, "{text}");
            if let Err(error) = compiled {
                assert_eq!(error.diagnostics[0].code, "template.limit");
            }
        }
    }
}

#[test]
fn deep_structures_need_little_stack() {
    let blocks = "{{with .a}}".repeat(20_000) + &"{{end}}".repeat(20_000);
    let chain = "{{if .b}}".to_owned() + &"{{else if .b}}".repeat(20_000) + "{{end}}";
    let parentheses = format!("{{{{{}1{}}}}}", "(".repeat(250), ")".repeat(250));
    let recursion = "{{define \"r\"}}{{template \"r\" .}}{{end}}{{template \"r\" .}}".to_owned();
    let work = move || {
        let options = CompileOptions {
            limits: CompileLimits {
                nesting: usize::MAX,
                ..CompileLimits::default()
            },
            ..CompileOptions::default()
        };
        for text in [blocks, chain, parentheses, recursion] {
            let sources = [TemplateSource::new("t", &text)];
            let template = GoFormat::new()
                .compile(&sources, &options)
                .expect("as the test has it");
            let variables = [("a", Value::Bool(true)), ("b", Value::Bool(false))];
            let variables: Map = variables.into_iter().collect();
            let limits = RenderLimits {
                nesting: 50_000,
                ..generous()
            };
            let what = Render {
                template: template.as_ref(),
                entries: &["t"],
                variables: &variables,
                functions: &NoFunctions,
                limits: &limits,
            };
            // The render only has to return. The result of the render does not matter.
            let _ = render(&what).now_or_never().expect("nothing to wait for");
        }
    };
    let thread = std::thread::Builder::new().stack_size(2 << 20);
    assert!(
        thread
            .spawn(work)
            .expect("as the test has it")
            .join()
            .is_ok()
    );
}

#[test]
fn what_go_refuses_is_refused_or_bound_late() {
    let sources = [TemplateSource::new("t", "{{nope 1}}")];
    let options = CompileOptions::default();
    let strict = GoFormat::new().strict_functions(true);
    let error = strict
        .compile(&sources, &options)
        .expect_err("it is refused");
    assert_eq!(
        error.message,
        "template: t:1: function \"nope\" not defined"
    );
    assert!(GoFormat::new().compile(&sources, &options).is_ok());
}

#[test]
fn what_a_function_may_change_is_no_structure() {
    let part = r#"{{define "part"}}<message role="user">x</message>{{end}}"#;
    let cases = [
        (r#"{{template "part" .}}"#, true),
        (r#"{{include "part" .}}"#, false),
        (r#"{{include "part" . | upper}}"#, false),
    ];
    let options = CompileOptions {
        messages: MessageSyntax::Elements,
        ..CompileOptions::default()
    };
    for (text, structured) in cases {
        let text = format!("{part}{text}");
        let sources = [TemplateSource::new("t", &text)];
        let format = GoFormat::new().with_sprig();
        let template = format.compile(&sources, &options).unwrap();
        let request = Render {
            template: &*template,
            entries: &["t"],
            variables: &Map::default(),
            functions: &NoFunctions,
            limits: &RenderLimits::default(),
        };
        let rendered = render(&request).now_or_never().unwrap().unwrap();
        assert_eq!(rendered.messages(0, &[]).is_some(), structured, "{text}");
        let plain = rendered.into_text().to_lowercase();
        assert_eq!(plain, "<message role=\"user\">x</message>", "{text}");
    }
}
