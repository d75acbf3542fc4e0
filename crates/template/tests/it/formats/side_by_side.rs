//! Checks that independent calls run concurrently, however a template uses the results, and that a
//! render makes only the calls of a sequential render. The paused clock advances only while all
//! tasks wait, so a render takes exactly as long as its longest chain of calls.

use std::sync::{LazyLock, Mutex};
use std::time::Duration;

use quillet_core::{BoxFuture, Map, Value, json};
use quillet_template::{
    CallArguments, CallError, ErrorKind, FunctionHost, LimitKind, RenderLimits,
};
use tokio::time::Instant;

use super::{compile, generous, rows, run};

const CALL: Duration = Duration::from_millis(50);

static NAMES: LazyLock<Vec<String>> = LazyLock::new(|| {
    let numbered = (0..50).flat_map(|index| [format!("e{index}"), format!("f{index}")]);
    numbered.chain(["g".into(), "h".into()]).collect()
});

/// `e0`, `e1`… return their name, and `f0`, `f1`… return an object. `g` returns its argument in
/// brackets, and `h` returns an object with its argument.
#[derive(Default)]
struct Slow {
    idempotent: bool,
    calls: Mutex<Vec<String>>,
}

impl FunctionHost for Slow {
    fn contains(&self, name: &str) -> bool {
        let mut letters = name.chars();
        let kind = letters.next();
        let rest = letters.as_str();
        match kind {
            Some('e' | 'f') => !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit()),
            _ => matches!(name, "g" | "h"),
        }
    }
    fn names(&self) -> Vec<&str> {
        NAMES.iter().map(String::as_str).collect()
    }
    fn idempotent(&self, _: &str) -> bool {
        self.idempotent
    }
    fn parameters(&self, name: &str) -> Option<Vec<String>> {
        Some(match name {
            "g" | "h" => vec!["text".into()],
            _ => Vec::new(),
        })
    }
    fn call<'a>(
        &'a self,
        name: &'a str,
        arguments: CallArguments,
    ) -> BoxFuture<'a, Result<Value, CallError>> {
        let named = arguments.named.get("text").cloned();
        let first = arguments.positional.first().cloned().or(named);
        let first = first.as_ref().map(json::to_string).unwrap_or_default();
        let first = first.trim_matches('"').to_owned();
        let mut calls = self.calls.lock().expect("nobody panicked");
        calls.push(format!("{name} {first}"));
        Box::pin(async move {
            tokio::time::sleep(CALL).await;
            let about = |what: &str| {
                let text = format!(
                    r#"{{"result":"r{what}","items":["a{what}","b{what}"],"ok":true,"no":false}}"#
                );
                json::parse(&text).expect("it is JSON")
            };
            Ok(match name {
                "g" => format!("[{first}]").into(),
                "h" => about(&first),
                _ if name.starts_with('f') => about(&name[1..]),
                _ => name.into(),
            })
        })
    }
}

/// One way to use the result of a call.
struct Use {
    name: &'static str,
    /// The template, in which `§` is the number of the call.
    template: &'static str,
    text: &'static str,
    /// Length of the longest call chain.
    chain: u32,
    calls: usize,
}

const fn once(name: &'static str, template: &'static str, text: &'static str) -> Use {
    Use {
        name,
        template,
        text,
        chain: 1,
        calls: 1,
    }
}

const fn twice(name: &'static str, template: &'static str, text: &'static str) -> Use {
    Use {
        name,
        template,
        text,
        chain: 2,
        calls: 2,
    }
}

const GO: &[Use] = &[
    once("printed", "{{e§}}", "e§"),
    once("read", "{{(f§).result}}", "r§"),
    once("indexed", "{{index f§ \"result\"}}", "r§"),
    once("looped", "{{range (f§).items}}{{.}}{{end}}", "a§b§"),
    once("piped", "{{e§ | upper | quote}}", "\"E§\""),
    once("formatted", "{{printf \"%s\" (f§).result}}", "r§"),
    once("condition", "{{if (f§).ok}}y{{else}}{{g 1}}{{end}}", "y"),
    once("with", "{{with f§}}{{.result}}{{end}}", "r§"),
    once("variable", "{{$x := f§}}{{$x.result}}", "r§"),
    once(
        "set",
        "{{$x := 1}}{{if (f§).ok}}{{$x = 2}}{{end}}{{if eq $x 1}}{{g 1}}{{end}}{{$x}}",
        "2",
    ),
    twice("argument", "{{g (f§).result}}", "[r§]"),
    twice("guarded", "{{if (f§).ok}}{{g \"§\"}}{{end}}", "[§]"),
    twice(
        "two operands",
        "{{list e§ (f§).result | join \"\"}}",
        "e§r§",
    )
    .side(),
    twice(
        "two arguments",
        "{{printf \"%s%s\" (f§).result (g \"§\")}}",
        "r§[§]",
    )
    .side(),
    once("template", "{{template \"t\" f§}}", "r§"),
    once("include", "{{include \"u\" .}}", "r§"),
];

const JINJA: &[Use] = &[
    once("printed", "{{ e§() }}", "e§"),
    once("read", "{{ f§().result }}", "r§"),
    once("item", "{{ f§()['result'] }}", "r§"),
    once(
        "looped",
        "{% for x in f§()['items'] %}{{ x }}{% endfor %}",
        "a§b§",
    ),
    once("piped", "{{ e§()|upper|trim }}", "E§"),
    once(
        "condition",
        "{% if f§().ok %}y{% else %}{{ g(1) }}{% endif %}",
        "y",
    ),
    once("choice", "{{ 'y' if f§().ok else g(1) }}", "y"),
    once("variable", "{% set x = f§() %}{{ x.result }}", "r§"),
    once(
        "set",
        "{% set x = 1 %}{% if f§().ok %}{% set x = 2 %}{% endif %}{% if x == 1 %}{{ g(1) }}{% endif %}{{ x }}",
        "2",
    ),
    once(
        "namespace",
        "{% set n = namespace(x=1) %}{% if f§().ok %}{% set n.x = 2 %}{% endif %}{% if n.x == 1 %}{{ g(1) }}{% endif %}{{ n.x }}",
        "2",
    ),
    once(
        "with",
        "{% with x = f§() %}{{ x.result }}{% endwith %}",
        "r§",
    ),
    once(
        "block set",
        "{% set x %}{{ e§() }}{% endset %}{{ x }}",
        "e§",
    ),
    once(
        "macro",
        "{% macro m(x) %}{{ f§().result }}{{ x }}{% endmacro %}{{ m(1) }}",
        "r§1",
    ),
    once(
        "filter block",
        "{% filter upper %}{{ e§() }}{% endfilter %}",
        "E§",
    ),
    twice("argument", "{{ g(f§().result) }}", "[r§]"),
    twice("guarded", "{% if f§().ok %}{{ g('§') }}{% endif %}", "[§]"),
    twice("two operands", "{{ f§().result ~ e§() }}", "r§e§").side(),
    twice("sum", "{{ f§().result + e§() }}", "r§e§").side(),
    twice("list", "{{ [f§().result, e§()]|join }}", "r§e§").side(),
    twice("filtered", "{{ e§()|replace('x', f§().result) }}", "e§").side(),
    twice("compared", "{{ 'y' if f§().result == e§() else 'n' }}", "n").side(),
    twice("short circuit", "{{ f§().no or e§() }}", "e§"),
];

const HANDLEBARS: &[Use] = &[
    once("printed", "{{e§}}", "e§"),
    once("read", "{{lookup (f§) 'result'}}", "r§"),
    once("with", "{{#with (f§)}}{{result}}{{/with}}", "r§"),
    once(
        "looped",
        "{{#each (lookup (f§) 'items')}}{{this}}{{/each}}",
        "a§b§",
    ),
    once("section", "{{#f§}}{{result}}{{/f§}}", "r§"),
    once(
        "condition",
        "{{#if (lookup (f§) 'ok')}}y{{else}}{{g 1}}{{/if}}",
        "y",
    ),
    twice("argument", "{{g (lookup (f§) 'result')}}", "[r§]"),
    twice(
        "guarded",
        "{{#if (lookup (f§) 'ok')}}{{g '§'}}{{/if}}",
        "[§]",
    ),
    twice("two operands", "{{lookup (f§) (e§)}}", "").side(),
];

const SEMANTIC_KERNEL_HANDLEBARS: &[Use] = &[
    once("set", "{{set 'x§' (f§)}}{{x§.result}}", "r§"),
    once("piped", "{{concat (e§) '!'}}", "e§!"),
    once("condition", "{{#if (equals (e§) 'x')}}{{g 1}}{{/if}}", ""),
    twice(
        "two operands",
        "{{concat (e§) (lookup (f§) 'result')}}",
        "e§r§",
    )
    .side(),
];

const MUSTACHE: &[Use] = &[
    once("printed", "{{e§}}", "e§"),
    once("read", "{{f§.result}}", "r§"),
    once("looped", "{{#f§.items}}{{.}}{{/f§.items}}", "a§b§"),
    once("section", "{{#f§}}{{result}}{{/f§}}", "r§"),
    once("condition", "{{#f§.ok}}y{{/f§.ok}}", "y"),
    once("inverted", "{{^f§.ok}}{{g}}{{/f§.ok}}", ""),
    twice("guarded", "{{#f§.ok}}{{e§}}{{/f§.ok}}", "e§"),
];

const F_STRING: &[Use] = &[
    once("printed", "{e§}", "e§"),
    once("read", "{f§[result]}", "r§"),
    once("laid out", "{e§!s:>1}", "e§"),
];

const F_STRING_STRICT: &[Use] = &[once("printed", "{e§}", "e§")];

const SEMANTIC_KERNEL: &[Use] = &[once("printed", "{{e§}}", "e§")];

const LIQUID: &[Use] = &[
    once("printed", "{{ nil | e§ }}", "e§"),
    once("read", "{% assign x = nil | f§ %}{{ x.result }}", "r§"),
    once("item", "{% assign x = nil | f§ %}{{ x['result'] }}", "r§"),
    once(
        "looped",
        "{% assign x = nil | f§ %}{% for i in x.items %}{{ i }}{% endfor %}",
        "a§b§",
    ),
    once("piped", "{{ nil | e§ | upcase | strip }}", "E§"),
    once(
        "condition",
        "{% assign x = nil | f§ %}{% if x.ok %}y{% else %}{{ 1 | g }}{% endif %}",
        "y",
    ),
    once(
        "set",
        "{% assign x = nil | f§ %}{% assign y = 1 %}{% if x.ok %}{% assign y = 2 %}{% endif %}{% if y == 1 %}{{ 1 | g }}{% endif %}{{ y }}",
        "2",
    ),
    once(
        "captured",
        "{% capture x %}{{ nil | e§ }}{% endcapture %}{{ x }}",
        "e§",
    ),
    once(
        "case",
        "{% assign x = nil | e§ %}{% case x %}{% when 'e§' %}y{% else %}{{ 1 | g }}{% endcase %}",
        "y",
    ),

    twice("argument", "{% assign x = nil | f§ %}{{ x.result | g }}", "[r§]"),
    twice(
        "guarded",
        "{% assign x = nil | f§ %}{% if x.ok %}{{ '§' | g }}{% endif %}",
        "[§]",
    ),
    twice("chained", "{{ nil | e§ | g }}", "[e§]"),
    twice(
        "two operands",
        "{% assign x = nil | f§ %}{% assign y = nil | e§ %}{{ x.result | append: y }}",
        "r§e§",
    )
    .side(),
    twice(
        "compared",
        "{% assign x = nil | f§ %}{% assign y = nil | e§ %}{% if x.result == y %}y{% else %}n{% endif %}",
        "n",
    )
    .side(),
];

const BRACKETS: &[Use] = &[
    once("printed", "[e§ x]", "e§"),
    twice("argument", "[g e§ x]", "[e§]"),
];

impl Use {
    /// Marks the calls as independent.
    const fn side(self) -> Use {
        Use { chain: 1, ..self }
    }

    /// Repeats the template with different calls. Returns the template and the expected output.
    fn write(&self, format: &str, times: usize) -> (String, String) {
        let number = |text: &str| -> String {
            let one = |index: usize| text.replace('§', &index.to_string());
            (0..times).map(one).collect()
        };
        let once = match (format, self.name) {
            ("go", "include") => {
                let define = "{{define \"u§\"}}{{(f§).result}}{{end}}{{include \"u§\" .}}";
                return (number(define), number(self.text));
            }
            ("go", "template") => "{{define \"t\"}}{{.result}}{{end}}",
            _ => "",
        };
        (once.to_owned() + &number(self.template), number(self.text))
    }
}

fn uses(format: &str) -> Vec<&'static [Use]> {
    match format {
        "go" => vec![GO],
        "jinja" | "jinja-plain" | "semantic-kernel-jinja2" => vec![JINJA],
        "semantic-kernel-handlebars" => vec![HANDLEBARS, SEMANTIC_KERNEL_HANDLEBARS],
        "handlebars" | "handlebars-html" | "dotprompt" => vec![HANDLEBARS],
        "mustache" | "mustache-html" => vec![MUSTACHE],
        "f-string" => vec![F_STRING],
        "f-string-strict" => vec![F_STRING_STRICT],
        "semantic-kernel" => vec![SEMANTIC_KERNEL],
        "liquid" | "semantic-kernel-liquid" => vec![LIQUID],
        "brackets" => vec![BRACKETS],
        other => panic!("{other} has no uses here"),
    }
}

fn variables() -> Map {
    let value = json::parse(r#"{"x":"X","xs":["0","1","2","3","4","5","6","7","8","9"]}"#);
    let value = value.expect("it is JSON");
    value.as_map().cloned().expect("it is an object")
}

/// Renders with the paused clock. Returns the text, the time and the number of calls.
async fn timed(
    template: &dyn quillet_template::CompiledTemplate,
    idempotent: bool,
) -> (String, Duration, usize) {
    let slow = Slow {
        idempotent,
        ..Slow::default()
    };
    let begun = Instant::now();
    let limits = RenderLimits {
        concurrency: 256,
        // The paused clock continues from one render to the next, so the limit must be very long.
        time: Duration::from_secs(3600),
        ..generous()
    };
    let rendered = run(template, &variables(), &slow, &limits).await;
    let rendered = rendered.unwrap_or_else(|error| panic!("{error}\n{template:#?}"));
    let calls = slow.calls.lock().expect("nobody panicked").len();
    assert_eq!(rendered.calls, calls);
    (rendered.text(0), begun.elapsed(), calls)
}

#[tokio::test(start_paused = true)]
async fn a_render_takes_its_longest_chain_of_calls_whatever_is_done_with_the_results() {
    for (format, row) in rows() {
        for used in uses(row.format).into_iter().flatten() {
            for times in [1, 2, 10, 50] {
                for idempotent in [false, true] {
                    let what = format!("{} {} {times} {idempotent}", row.format, used.name);
                    let (text, expected) = used.write(row.format, times);
                    let template = compile(&*format, &text);
                    let (text, took, calls) = timed(&*template, idempotent).await;
                    assert_eq!(text, expected, "{what}");
                    assert_eq!(took, CALL * used.chain, "{what}");
                    assert_eq!(calls, used.calls * times, "{what}");
                }
            }
        }
    }
}

/// Loops over known lists whose iterations make calls and read the results.
const TURNS: &[(&str, &str, u32, usize)] = &[
    ("go", "{{range .xs}}{{(h .).result}}{{end}}", 1, 10),
    ("go", "{{range .xs}}{{g (h .).result}}{{end}}", 2, 20),
    (
        "go",
        "{{range .xs}}{{if (h .).ok}}{{g .}}{{end}}{{end}}",
        2,
        20,
    ),
    (
        "go",
        "{{range .xs}}{{$x := h .}}{{range $x.items}}{{g .}}{{end}}{{end}}",
        2,
        30,
    ),
    (
        "go",
        "{{define \"t\"}}{{(h .).result}}{{end}}{{range .xs}}{{template \"t\" .}}{{end}}",
        1,
        10,
    ),
    (
        "go",
        "{{define \"t\"}}{{(h .).result}}{{end}}{{range .xs}}{{include \"t\" .}}{{end}}",
        1,
        10,
    ),
    // Whether the loop continues depends on the result of the previous iteration.
    (
        "go",
        "{{range .xs}}{{if (h .).no}}{{break}}{{end}}{{end}}",
        10,
        10,
    ),
    (
        "go",
        "{{range .xs}}{{if (h .).ok}}{{continue}}{{end}}{{g .}}{{end}}",
        10,
        10,
    ),
    (
        "go",
        "{{range .xs}}{{(h .).result}}{{if eq . \"3\"}}{{break}}{{end}}{{end}}",
        1,
        4,
    ),
    (
        "jinja",
        "{% for x in xs %}{{ h(x).result }}{% endfor %}",
        1,
        10,
    ),
    (
        "jinja",
        "{% for x in xs %}{{ g(h(x).result) }}{% endfor %}",
        2,
        20,
    ),
    (
        "jinja",
        "{% for x in xs if h(x).ok %}{{ g(x) }}{% endfor %}",
        2,
        20,
    ),
    (
        "jinja",
        "{% for x in xs %}{% set y = h(x) %}{% for z in y['items'] %}{{ g(z) }}{% endfor %}{% endfor %}",
        2,
        30,
    ),
    (
        "jinja",
        "{% macro m(x) %}{{ h(x).result }}{% endmacro %}{% for x in xs %}{{ m(x) }}{% endfor %}",
        1,
        10,
    ),
    (
        "jinja",
        "{% macro m(x) %}{{ caller(h(x).result) }}{% endmacro %}{% for x in xs %}{% call(y) m(x) %}{{ g(y) }}{% endcall %}{% endfor %}",
        2,
        20,
    ),
    (
        "jinja",
        "{% for x in xs %}{% if h(x).no %}{% break %}{% endif %}{% endfor %}",
        10,
        10,
    ),
    (
        "jinja",
        "{% for x in xs %}{% if h(x).ok %}{% continue %}{% endif %}{{ g(x) }}{% endfor %}",
        10,
        10,
    ),
    (
        "jinja",
        "{% set n = namespace(s='') %}{% for x in xs %}{% set n.s = n.s ~ h(x).result %}{% endfor %}{{ n.s }}",
        1,
        10,
    ),
    (
        "jinja",
        "{% for x in xs %}{{ h(x).result if loop.first else e1() }}{% endfor %}",
        1,
        10,
    ),
    (
        "handlebars",
        "{{#each xs}}{{lookup (h this) 'result'}}{{/each}}",
        1,
        10,
    ),
    (
        "handlebars",
        "{{#each xs}}{{g (lookup (h this) 'result')}}{{/each}}",
        2,
        20,
    ),
    (
        "handlebars",
        "{{#each xs}}{{#each (lookup (h this) 'items')}}{{g this}}{{/each}}{{/each}}",
        2,
        30,
    ),
    (
        "handlebars",
        "{{#*inline 'p'}}{{lookup (h this) 'result'}}{{/inline}}{{#each xs}}{{> p}}{{/each}}",
        1,
        10,
    ),
    (
        "semantic-kernel-handlebars",
        "{{#each xs}}{{set 'y' (h this)}}{{lookup (get 'y') 'result'}}{{/each}}",
        1,
        10,
    ),
    ("mustache", "{{#xs}}{{f1.result}}{{/xs}}", 1, 10),
    (
        "mustache",
        "{{#xs}}{{#f1.items}}{{e2}}{{/f1.items}}{{/xs}}",
        2,
        30,
    ),
];

#[tokio::test(start_paused = true)]
async fn turns_of_a_loop_call_at_the_same_time() {
    for (name, text, chain, calls) in TURNS {
        let (format, _) = rows()
            .into_iter()
            .find(|(_, row)| row.format == *name)
            .expect("it exists");
        let template = compile(&*format, text);
        let (_, took, made) = timed(&*template, false).await;
        assert_eq!((took, made), (CALL * *chain, *calls), "{name}: {text}");
    }
}

/// A slow call whose result is only printed must not delay other calls.
#[tokio::test(start_paused = true)]
async fn a_chain_does_not_wait_for_calls_that_it_does_not_need() {
    struct Uneven(Slow);
    impl FunctionHost for Uneven {
        fn contains(&self, name: &str) -> bool {
            self.0.contains(name)
        }
        fn names(&self) -> Vec<&str> {
            self.0.names()
        }
        fn call<'a>(
            &'a self,
            name: &'a str,
            arguments: CallArguments,
        ) -> BoxFuture<'a, Result<Value, CallError>> {
            Box::pin(async move {
                if name == "e0" {
                    tokio::time::sleep(CALL * 4).await;
                }
                self.0.call(name, arguments).await
            })
        }
    }
    let (format, _) = rows().swap_remove(0);
    let template = compile(&*format, "{{e0}}{{g (g (g (f1).result))}}");
    let functions = Uneven(Slow::default());
    let begun = Instant::now();
    let rendered = run(&*template, &variables(), &functions, &generous()).await;
    assert_eq!(rendered.unwrap().text(0), "e0[[[r1]]]");
    assert_eq!(begun.elapsed(), CALL * 5);
}

#[tokio::test(start_paused = true)]
async fn the_limit_on_passes_counts_a_chain_and_names_it() {
    let (format, _) = rows().swap_remove(0);
    let chain = format!("{{{{{}f1{}}}}}", "g (".repeat(29), ")".repeat(29));
    let template = compile(&*format, &chain);
    let error = run(&*template, &variables(), &Slow::default(), &generous()).await;
    let error = error.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Limit(LimitKind::Passes));
    assert_eq!(
        error.reason,
        "render stopped at the limit on passes (16): a chain of 16 calls, each of which needs \
         the previous result: f1 → g → g → g → … → g → g → g → g"
    );
    let reads: String = (0..50).map(|i| format!("{{{{(f{i}).result}}}}")).collect();
    let template = compile(&*format, &reads);
    assert!(
        run(&*template, &variables(), &Slow::default(), &generous())
            .await
            .is_ok()
    );
}

/// A call after a guard that can end the render must not start before the guard has passed.
#[tokio::test(start_paused = true)]
async fn no_call_is_made_behind_a_guard_that_may_end_the_render() {
    let guarded = [
        ("go", "{{if (f1).ok}}{{fail \"no\"}}{{end}}{{g 1}}"),
        ("go", "{{required \"no\" (index f1 \"nothing\")}}{{g 1}}"),
        (
            "go",
            "{{define \"t\"}}{{if (f1).ok}}{{fail \"no\"}}{{end}}{{end}}{{template \"t\"}}{{g 1}}",
        ),
        (
            "jinja",
            "{% if f1().ok %}{{ raise_exception('no') }}{% endif %}{{ g(1) }}",
        ),
        (
            "jinja",
            "{% macro m() %}{{ raise_exception('no') }}{% endmacro %}{% if f1().ok %}{{ m() }}{% endif %}{{ g(1) }}",
        ),
    ];
    for (name, text) in guarded {
        let found = rows().into_iter().find(|(_, row)| row.format == name);
        let (format, _) = found.expect("it exists");
        let template = compile(&*format, text);
        let slow = Slow::default();
        let error = run(&*template, &variables(), &slow, &generous()).await;
        assert!(error.unwrap_err().reason.contains("no"), "{text}");
        let calls = slow.calls.lock().expect("nobody panicked");
        assert_eq!(*calls, ["f1 "], "{text}");
    }
}

/// Values changed in place, random numbers and functions that count their calls must behave as in a
/// sequential render.
#[tokio::test(start_paused = true)]
async fn what_keeps_a_state_is_not_passed_over() {
    let templates = [
        (
            "go",
            "{{$d := dict \"k\" 0}}{{$_ := set $d \"k\" (f1).result}}{{g $d.k}}",
            "[r1]",
            2,
        ),
        (
            "go",
            "{{$d := dict}}{{if (f1).ok}}{{$_ := set $d \"k\" 1}}{{end}}{{if not $d.k}}{{g 1}}{{end}}{{$d.k}}",
            "1",
            1,
        ),
        (
            "go",
            "{{$a := \"\"}}{{if (f1).ok}}{{$a = randAlpha 5}}{{end}}{{$b := randAlpha 5}}{{g (len $b)}}",
            "[5]",
            2,
        ),
        (
            "jinja",
            "{% set c = cycler(1, 2) %}{% if f1().ok %}{{ c.next() }}{% endif %}{{ g(c.next()) }}",
            "1[2]",
            2,
        ),
        (
            "jinja",
            "{% set j = joiner() %}{% if f1().ok %}{{ j() }}{% endif %}{{ g(j()) }}",
            "[, ]",
            2,
        ),
    ];
    for (name, text, expected, calls) in templates {
        let found = rows().into_iter().find(|(_, row)| row.format == name);
        let (format, _) = found.expect("it exists");
        let (text, _, made) = timed(&*compile(&*format, text), false).await;
        assert_eq!((text.as_str(), made), (expected, calls), "{name}");
    }
}
