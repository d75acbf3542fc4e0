//! Tests of Sprig's functions in the `go` format that the vectors do not cover: limits, shared
//! maps, templates in expressions, random values.

use std::time::Duration;

use quillet_core::{BoxFuture, Value, json};
use quillet_template::format::go::{GoFormat, sprig};
use quillet_template::{
    CallArguments, CallError, CompileOptions, ErrorKind, FunctionHost, LimitKind, NoFunctions,
    Render, RenderError, RenderLimits, RenderedTemplate, TemplateFormat, TemplateSource, render,
};

async fn run(
    text: &str,
    data: &str,
    functions: &dyn FunctionHost,
) -> Result<RenderedTemplate, Box<RenderError>> {
    let template = GoFormat::new()
        .with_sprig()
        .compile(
            &[TemplateSource::new("t", text)],
            &CompileOptions::default(),
        )
        .unwrap_or_else(|error| panic!("{text}: {error}"));
    let Ok(Value::Map(variables)) = json::parse(data) else {
        panic!("{data} is not an object");
    };
    let limits = RenderLimits {
        time: Duration::from_secs(20),
        ..RenderLimits::default()
    };
    render(&Render {
        template: &*template,
        entries: &["t"],
        variables: &variables,
        functions,
        limits: &limits,
    })
    .await
}

async fn text(source: &str, data: &str) -> String {
    match run(source, data, &NoFunctions).await {
        Ok(rendered) => rendered.text(0),
        Err(error) => format!("error: {}", error.message),
    }
}

#[tokio::test]
async fn what_is_too_large_is_refused_before_it_is_made() {
    // Without the check, each of these would take gigabytes or minutes, or overflow the stack.
    let cases = [
        (r#"{{until 1000000000}}"#, LimitKind::Steps),
        (r#"{{untilStep 0 9223372036854775807 1}}"#, LimitKind::Steps),
        (r#"{{seq 1 9223372036854775807}}"#, LimitKind::Steps),
        (r#"{{repeat 1000000000 "x"}}"#, LimitKind::MemoryBytes),
        (
            r#"{{repeat 9223372036854775807 "xx"}}"#,
            LimitKind::MemoryBytes,
        ),
        (r#"{{repeat 40000000 "x"}}"#, LimitKind::MemoryBytes),
        (r#"{{indent 1000000000 .x}}"#, LimitKind::MemoryBytes),
        (r#"{{nindent 100000000 .x}}"#, LimitKind::MemoryBytes),
        (r#"{{randAlpha 1000000000}}"#, LimitKind::Steps),
        (
            r#"{{replace "" (repeat 10000 "x") (repeat 10000 "y")}}"#,
            LimitKind::MemoryBytes,
        ),
        (
            r#"{{regexReplaceAll "" (repeat 10000 "y") (repeat 10000 "x")}}"#,
            LimitKind::MemoryBytes,
        ),
        (
            r#"{{wrapWith 1 (repeat 10000 "x") (repeat 10000 "y")}}"#,
            LimitKind::MemoryBytes,
        ),
        (
            r#"{{join (repeat 10000 "x") (until 10000)}}"#,
            LimitKind::MemoryBytes,
        ),
        (
            r#"{{$x := "x"}}{{range until 60}}{{$x = cat $x $x}}{{end}}"#,
            LimitKind::MemoryBytes,
        ),
        (
            r#"{{$x := list 1}}{{range until 60}}{{$x = concat $x $x}}{{end}}"#,
            LimitKind::Steps,
        ),
        // This small value has a large printed form.
        (
            r#"{{$x := list 1}}{{range until 60}}{{$x = list $x $x}}{{end}}"#,
            LimitKind::Steps,
        ),
        (
            r#"{{$x := list 1}}{{range until 15}}{{$x = list $x $x $x}}{{end}}{{toPrettyJson $x}}"#,
            LimitKind::Steps,
        ),
        (
            r#"{{$x := list}}{{range until 200}}{{$x = list $x}}{{end}}"#,
            LimitKind::ValueDepth,
        ),
        (
            r#"{{$x := dict}}{{range until 200}}{{$x = dict "k" $x}}{{end}}"#,
            LimitKind::ValueDepth,
        ),
        (
            r#"{{$x := dict}}{{$y := $x}}{{range until 500}}{{$z := dict}}{{$_ := set $y "k" $z}}{{$y = $z}}{{end}}{{toJson $x}}"#,
            LimitKind::ValueDepth,
        ),
        (
            r#"{{regexMatch "([a-z]{1,50}x){1,20}" (repeat 1000000 "a")}}"#,
            LimitKind::Steps,
        ),
        (
            r#"{{define "a"}}{{include "a" .}}{{end}}{{include "a" .}}"#,
            LimitKind::Nesting,
        ),
        (
            r#"{{define "a"}}{{template "b" .}}{{end}}{{define "b"}}{{include "a" . | upper}}{{end}}{{include "a" .}}"#,
            LimitKind::Nesting,
        ),
        (
            r#"{{define "a"}}{{range until 9000}}0123456789012345678901234567890123456789{{end}}{{include "a" .}}{{end}}{{template "a" .}}"#,
            LimitKind::OutputBytes,
        ),
    ];
    for (source, limit) in cases {
        let Err(error) = run(source, r#"{"x": "a\nb"}"#, &NoFunctions).await else {
            panic!("{source} should be refused");
        };
        let shown: String = source.chars().take(100).collect();
        assert_eq!(error.kind, ErrorKind::Limit(limit), "{shown}: {error}");
    }
}

#[tokio::test]
async fn a_pattern_that_no_memory_holds_is_refused_by_itself() {
    let pattern = r#"{{regexMatch "((((a{1,100}){1,100}){1,100}){1,100}){1,100}" "a"}}"#;
    assert_eq!(text(pattern, "{}").await, "false");
    let must = pattern.replace("regexMatch", "mustRegexMatch");
    assert!(text(&must, "{}").await.ends_with("expression too large"));
}

#[tokio::test]
async fn templates_are_called_in_expressions() {
    let cases = [
        (
            r#"{{define "a"}}<{{.}}>{{end}}{{include "a" .x | upper | quote}}"#,
            r#""<ONE>""#,
        ),
        (
            r#"{{define "a"}}x{{end}}[{{include "a" . | nindent 2}}]"#,
            "[\n  x]",
        ),
        (
            r#"before {{include "nope" .}}"#,
            "error: template: t:1:9: executing \"t\" at <include \"nope\" .>: error calling include: template \"nope\" not defined",
        ),
        (
            r#"{{define "a"}}{{fail "no"}}{{end}}{{include "a" .}}"#,
            "error: template: t:1:16: executing \"a\" at <fail \"no\">: error calling fail: no",
        ),
        (r#"{{required "x is needed" .x}}"#, "one"),
        (
            r#"{{required "y is needed" .y}}"#,
            "error: template: t:1:2: executing \"t\" at <required \"y is needed\" .y>: error calling required: y is needed",
        ),
    ];
    for (source, wanted) in cases {
        assert_eq!(text(source, r#"{"x": "one"}"#).await, wanted, "{source}");
    }
}

/// A late-bound function.
struct Echo;

impl FunctionHost for Echo {
    fn contains(&self, name: &str) -> bool {
        name == "echo"
    }
    fn names(&self) -> Vec<&str> {
        vec!["echo"]
    }
    fn call<'a>(
        &'a self,
        _: &'a str,
        arguments: CallArguments,
    ) -> BoxFuture<'a, Result<Value, CallError>> {
        Box::pin(async move { Ok(arguments.positional.into_iter().next().unwrap_or_default()) })
    }
}

#[tokio::test]
async fn a_template_that_waits_does_not_make_others_wait() {
    let source = r#"{{define "a"}}<{{echo .}}>{{end}}{{include "a" 1}}{{include "a" 2}}{{echo 3}}"#;
    let rendered = run(source, "{}", &Echo).await.unwrap();
    assert_eq!(rendered.text(0), "<1><2>3");
    assert_eq!((rendered.calls, rendered.passes), (3, 2));
    let nested =
        r#"{{define "a"}}{{echo .}}{{end}}{{include "a" "x" | upper}}{{echo "y" | quote}}"#;
    let rendered = run(nested, "{}", &Echo).await.unwrap();
    assert_eq!(rendered.text(0), r#"X"y""#);
}

#[tokio::test]
async fn a_map_is_shared_by_all_who_hold_it_but_never_with_the_caller() {
    let cases = [
        (
            r#"{{$d := dict "a" 1}}{{$e := $d}}{{$_ := set $e "b" 2}}{{$d}}"#,
            "map[a:1 b:2]",
        ),
        (
            r#"{{$d := dict "a" 1}}{{$e := deepCopy $d}}{{$_ := set $e "b" 2}}{{$d}}"#,
            "map[a:1]",
        ),
        (
            r#"{{$d := dict "in" (dict)}}{{$_ := set $d.in "b" 2}}{{$d}}"#,
            "map[in:map[b:2]]",
        ),
        (
            r#"{{$m := merge .m (dict "b" (dict "d" 1))}}{{$m}} {{.m}}"#,
            "map[a:1 b:map[c:2 d:1]] map[a:1 b:map[c:2]]",
        ),
        (
            r#"{{mergeOverwrite (dict "a" 1 "b" (dict "c" 1)) .m}}"#,
            "map[a:1 b:map[c:2]]",
        ),
        (
            r#"{{$d := dict}}{{set $d "self" $d}}"#,
            "error: template: t:1:16: executing \"t\" at <set $d \"self\" $d>: error calling set: a map cannot contain itself",
        ),
    ];
    for (source, wanted) in cases {
        let data = r#"{"m": {"a": 1, "b": {"c": 2}}}"#;
        assert_eq!(text(source, data).await, wanted, "{source}");
    }
    let refused = text(r#"{{set .m "k" 1}}"#, r#"{"m": {}}"#).await;
    assert!(refused.contains("copy it first"), "{refused}");
}

#[tokio::test]
async fn random_values_stay_the_same_while_a_render_waits() {
    let source =
        "{{$u := uuidv4}}{{echo $u}} {{$u}} {{uuidv4}} {{randAlphaNum 20}} {{randInt 0 9}}";
    let (first, second) = (
        run(source, "{}", &Echo).await.unwrap().text(0),
        run(source, "{}", &Echo).await.unwrap().text(0),
    );
    let words: Vec<&str> = first.split(' ').collect();
    assert_eq!(words[0], words[1]);
    assert_ne!(words[1], words[2]);
    assert_eq!((words[0].len(), words[3].len()), (36, 20));
    assert_ne!(first, second);
}

#[tokio::test]
async fn yaml_goes_both_ways() {
    let data = r#"{"m": {"b": [1, {"c": "x: y"}, ["q"]], "a": "two\nlines\n", "e": {}, "n": null,
        "t": "true", "d": "2025-06-18", "s": "plain text", "w": " lead", "l": [], "f": 1.5}}"#;
    let yaml = "a: |\n  two\n  lines\nb:\n- 1\n- c: 'x: y'\n- - q\nd: \"2025-06-18\"\ne: {}\nf: 1.5\nl: []\n\"n\": null\ns: plain text\nt: \"true\"\nw: ' lead'";
    assert_eq!(text("{{toYaml .m}}", data).await, yaml);
    assert_eq!(
        text("{{deepEqual .m (fromYaml (toYaml .m))}}", data).await,
        "true"
    );
    let bomb = r#"{"y": "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: [*e,*e,*e,*e,*e,*e,*e,*e,*e]"}"#;
    let refused = text("{{fromYaml .y}}", bomb).await;
    assert!(refused.starts_with("map[Error:"), "{}", &refused[..80]);
}

#[tokio::test]
async fn numbers_of_json_and_yaml_stay_whole() {
    let data = r#"{"j": "{\"n\": 1234567, \"f\": 1.5}", "y": "n: 1234567"}"#;
    assert_eq!(
        text("{{(fromJson .j).n}} {{(fromYaml .y).n}}", data).await,
        "1234567 1234567"
    );
    assert_eq!(
        text("{{toJson (fromJson .j)}}", data).await,
        r#"{"f":1.5,"n":1234567}"#
    );
}

#[tokio::test]
async fn the_clock_and_its_layouts_are_those_of_go() {
    let cases = [
        (
            r#"{{dateInZone "Mon, 02 Jan 2006 15:04:05.000 MST -07:00" 1750250096 "UTC"}}"#,
            "Wed, 18 Jun 2025 12:34:56.000 UTC +00:00",
        ),
        (
            r#"{{dateInZone "2006-01-02T15:04:05Z07:00 3PM __2 .999" 1750250096 "America/New_York"}}"#,
            "2025-06-18T08:34:56-04:00 8AM 169 ",
        ),
        (
            r#"{{(toDate "2006-01-02" "2025-06-18").Weekday}}"#,
            "Wednesday",
        ),
        (r#"{{(toDate "2006-01-02" "nope").Year}}"#, "1"),
        (
            r#"{{mustToDate "2006-01-02" "2025-13-01"}}"#,
            "error: template: t:1:2: executing \"t\" at <mustToDate \"2006-01-02\" \"2025-13-01\">: error calling mustToDate: parsing time \"2025-13-01\": month out of range",
        ),
        (
            r#"{{mustToDate "2006-01-02" "x"}}"#,
            "error: template: t:1:2: executing \"t\" at <mustToDate \"2006-01-02\" \"x\">: error calling mustToDate: parsing time \"x\" as \"2006-01-02\": cannot parse \"x\" as \"2006\"",
        ),
        (
            r#"{{dateInZone "15:04" (dateModify "-1.5h" (toDate "2006-01-02 15:04 MST" "2025-06-18 12:00 UTC")) "UTC"}}"#,
            "10:30",
        ),
        (
            r#"{{unixEpoch (toDate "2006-01-02 15:04 -0700" "2025-06-18 12:00 +0200")}}"#,
            "1750240800",
        ),
        (
            r#"{{duration "95"}} {{durationRound "2h10m5s"}} {{durationRound "800h"}}"#,
            "1m35s 2h 1mo",
        ),
        (r#"{{ago now}}"#, "0s"),
        (
            r#"{{toJson (toDate "2006-01-02 MST" "2025-06-18 UTC")}}"#,
            "\"2025-06-18T00:00:00Z\"",
        ),
        (r#"{{(now).Year | kindOf}} {{typeOf now}}"#, "int time.Time"),
    ];
    for (source, wanted) in cases {
        assert_eq!(text(source, "{}").await, wanted, "{source}");
    }
}

#[tokio::test]
async fn maps_are_found_in_the_order_of_their_keys() {
    let data = r#"{"m": {"z": 1, "a": 2}}"#;
    assert_eq!(text("{{keys .m}} {{values .m}}", data).await, "[a z] [2 1]");
}

/// Unexpected arguments that a template can write.
const ODD: &[&str] = &[
    "0",
    "1",
    "-1",
    "3",
    "7",
    "-9223372036854775808",
    "9223372036854775807",
    "1.5",
    "-0.0",
    "1e300",
    "true",
    "nil",
    ".missing",
    ".null",
    ".float",
    ".text",
    ".long",
    ".list",
    ".deep",
    ".map",
    ".cut",
    "\"\"",
    "\" \"",
    "\"é世\"",
    "\"a,b,,c\"",
    "\"%\"",
    "\"^(a|b)*$\"",
    "\"2006-01-02T15:04:05.999Z07:00\"",
    "\"=\"",
    "\"{\"",
    "(list)",
    "(list 1 nil \"x\" (list))",
    "(dict)",
    "(dict \"a\" (dict \"b\" nil))",
    "(until 3)",
    "(splitList \",\" \"a,b\")",
    "(chunk 1 (list 1 2))",
    "(trunc 2 \"é世\")",
    "(toDate \"2006\" \"9999\")",
    "(toDate \"2006\" \"x\")",
    "(int64 -5)",
    "(semver \"1.2.3\")",
    "(now.Sub now)",
];

#[tokio::test]
async fn no_function_panics_whatever_it_is_given() {
    let data = r#"{"null": null, "float": -2.5, "text": "Hello, 世界", "list": [3, "b", null, {"k": 1}],
        "long": "the quick brown fox jumps over the lazy dog", "deep": [[[[{"a": [1]}]]]],
        "map": {"a": 1, "b": {"c": "d"}, "scheme": 1}, "cut": "a\u0000b\u0085c"}"#;
    let mut random = 0x2545_f491_4f6c_dd1d_u64;
    let mut odd = move || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        ODD[(random % ODD.len() as u64) as usize]
    };
    for function in sprig::FAMILIES.concat() {
        let fixed = function.params.len();
        for round in 0..40 {
            let count = fixed + if function.variadic { round % 4 } else { 0 };
            let arguments: Vec<&str> = (0..count).map(|_| odd()).collect();
            let call = format!("{} {}", function.name, arguments.join(" "));
            let source =
                format!("{{{{define \"a\"}}}}x{{{{end}}}}{{{{{call}}}}}{{{{toJson ({call})}}}}");
            // The render may fail, but it must return.
            let _ = run(&source, data, &NoFunctions).await;
        }
    }
}
