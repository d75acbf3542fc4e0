//! Templates in messages: formats, functions, templates by the author, and third-party vectors with
//! a list of intended differences.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use quillet_core::{BoxFuture, Map, Value, json};
use quillet_script::text::template::{TemplateError, TemplateJob, Templates};
use quillet_template::{
    CallArguments, CallError, FunctionHost, NoFunctions, RenderLimits, TemplateFactory,
};

use crate::text_data::{field, vectors};

fn templates() -> Templates {
    Templates::new(Arc::new(TemplateFactory::standard()))
}

fn map(text: &str) -> Map {
    json::parse(text).unwrap().as_map().cloned().unwrap()
}

/// Renders with these variables. All of them are text by the author, except those whose name starts
/// with `user`.
fn rendered(
    format: &str,
    text: &str,
    variables: &Map,
    functions: &dyn FunctionHost,
) -> Result<String, TemplateError> {
    let limits = RenderLimits {
        time: Duration::from_secs(5),
        ..RenderLimits::default()
    };
    let authored = |name: &str| !name.starts_with("user");
    let job = TemplateJob {
        format,
        text,
        variables,
        functions,
        limits: &limits,
        authored: &authored,
        declared: &|_| true,
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build();
    runtime.unwrap().block_on(templates().render(&job))
}

fn plain(format: &str, text: &str, variables: &str) -> Result<String, TemplateError> {
    rendered(format, text, &map(variables), &NoFunctions)
}

/// Functions `toString`, which returns JSON, and `wrap(text, left, right)`.
struct Own;

impl FunctionHost for Own {
    fn contains(&self, name: &str) -> bool {
        self.names().contains(&name)
    }

    fn names(&self) -> Vec<&str> {
        vec!["toString", "wrap", "fails"]
    }

    fn call<'a>(
        &'a self,
        name: &'a str,
        given: CallArguments,
    ) -> BoxFuture<'a, Result<Value, CallError>> {
        let text = |at: usize| {
            given
                .positional
                .get(at)
                .and_then(Value::as_str)
                .unwrap_or("")
                .to_owned()
        };
        let answer = match name {
            "toString" => Ok(json::to_string(&given.positional[0]).into()),
            "wrap" => Ok(format!("{}{}{}", text(1), text(0), text(2)).into()),
            _ => Err(CallError::new("it failed")),
        };
        async move { answer }.boxed()
    }
}

#[test]
fn templates_of_the_seed_in_every_format() {
    let data = r#"{"nm": "Bob", "lang": "", "target": "English", "flag": true, "none": null, "n": 2.0,
        "flat": {"hi": "world", "x": 2}, "deep": {"a": [1, {"b": true}]}, "items": [1, 2]}"#;
    let cases = [
        ("", "hello {{nm}}", "hello Bob"),
        (
            "hf",
            "{% if lang %}from {{lang}} {% endif %}to {{target}}.",
            "to English.",
        ),
        ("HuggingFace", "hello {{nm}}", "hello Bob"),
        ("golang", "hello {{.nm}}", "hello Bob"),
        ("localai", "hello {{.nm}}", "hello Bob"),
        ("ollama", "hello {{.nm}}", "hello Bob"),
        ("fstring", "hello {nm}", "hello Bob"),
        ("python", "hello {nm}", "hello Bob"),
        ("f-string", "hello {nm}", "hello Bob"),
        ("langchain", "hello {nm}", "hello Bob"),
        (
            "golang",
            "{{if .missing}}yes{{else}}no{{end}}{{range .missing}}x{{end}} {{.missing}}",
            "no ",
        ),
        ("fstring", "a{missing}b {  nm } {items[1]}", "ab Bob 2"),
        ("mustache", "hello {{nm}}", "hello Bob"),
        (
            "hf",
            "{{flag}} {{none}} {{n}} {{6 / 2}} {{1 / 2}} {{missing}}",
            "true null 2 3 0.5 ",
        ),
        (
            "hf",
            "{{nm + 1}} {{1 + nm}} {{nm ~ flag}} {{[nm, flag]|join('-')}}",
            "Bob1 1Bob Bobtrue Bob-true",
        ),
        ("hf", "{{flat}}", "* hi: world\n* x: 2"),
        ("hf", "Data:\n{{flat}}", "Data:\n* hi: world\n* x: 2"),
        ("hf", "Data: {{flat}}", "Data: {\"hi\":\"world\",\"x\":2}"),
        ("hf", "{{deep}}{{items}}", "{\"a\":[1,{\"b\":true}]}[1,2]"),
        ("hf", "{{flat|toMarkdown}}", "* `hi`: \"world\"\n* `x`: 2"),
        ("hf", "{{toMarkdown([flat], 'hi')}}", "- world\n  * `x`: 2"),
        ("hf", "{{missing}}|{{flat.missing}}", "|"),
        (
            "hf",
            "{{items|map('string')}} {{items|select('odd')|length}} {{1 in [true]}}",
            "[\"1\",\"2\"] 1 false",
        ),
    ];
    for (format, text, expected) in cases {
        let got = plain(format, text, data);
        assert_eq!(got.unwrap(), expected, "{format} {text}");
    }
}

#[test]
fn functions_are_calls_and_filters() {
    let data = map(r#"{"content": {"a": 1, "b": 2}, "x": "mid"}"#);
    let cases = [
        ("{{toString(content)}}", r#"{"a":1,"b":2}"#),
        ("{{content|toString}}", r#"{"a":1,"b":2}"#),
        ("{{x|wrap('<', '>')}}", "<mid>"),
        ("{{x|upper|wrap('<', '>')|lower|length}}", "5"),
        ("{% if x|wrap('', '') == 'mid' %}yes{% endif %}", "yes"),
        ("{{ 'a' + x|wrap('(', ')') }}", "a(mid)"),
    ];
    for (text, expected) in cases {
        assert_eq!(
            rendered("hf", text, &data, &Own).unwrap(),
            expected,
            "{text}"
        );
    }
}

#[test]
fn failures_have_a_place_and_a_mend() {
    let data = map(
        r#"{"x": 1, "user": "{{x}}", "loop_a": "{{loop_b}}", "loop_b": "{{loop_a}}", "bad": "{{"}"#,
    );
    let cases = [
        (
            "jnja",
            "{{x}}",
            "template.format",
            None,
            Some("did you mean jinja?"),
        ),
        (
            "nothing",
            "{{x}}",
            "template.format",
            None,
            Some("known formats: hf, golang, fstring"),
        ),
        (
            "hf",
            "a {{ x|uper }}",
            "render.unknown_function",
            Some((5, 11)),
            Some("did you mean upper?"),
        ),
        (
            "hf",
            "a {{ wrp(x) }}",
            "render.unknown_function",
            Some((5, 11)),
            Some("did you mean wrap?"),
        ),
        (
            "hf",
            "a {{ fails() }}",
            "render.call_failed",
            Some((5, 12)),
            None,
        ),
        (
            "hf",
            "{{loop_a}}",
            "render.limit",
            None,
            Some("remove the variable's own name from its value"),
        ),
    ];
    for (format, text, code, span, help) in cases {
        let error = rendered(format, text, &data, &Own).unwrap_err();
        let found = error.span.map(|span| (span.start, span.end));
        assert_eq!(
            (error.code, found, error.help.as_deref()),
            (code, span, help),
            "{text}: {error}"
        );
    }
    let inner = rendered("hf", "{{bad}}", &data, &Own).unwrap_err();
    assert_eq!(inner.variable.as_deref(), Some("bad"));
    let brace = rendered("hf", "扮演{{{name}}。{{x}}", &data, &Own).unwrap_err();
    let place = brace.span.map(|span| (span.start, span.end));
    assert_eq!((brace.code, place), ("template.syntax", Some((6, 9))));
    assert_eq!(
        brace.help.as_deref(),
        Some("write two braces, {{name}}, or {{ {…} }} for an object")
    );
    let circle = rendered("hf", "{{loop_a}}", &data, &Own).unwrap_err();
    assert_eq!(
        circle.message,
        "template cycle of \"loop_a\": loop_a → loop_b → loop_a"
    );
}

#[test]
fn only_the_authors_values_are_templates() {
    let data = r#"{"name": "Dobby", "description": "I am {{name}}. {{user}}", "user": "{{name}} [[X]]",
        "long": "{{description}}!"}"#;
    let cases = [
        ("{{user}}", "{{name}} [[X]]"),
        ("{{description}}", "I am Dobby. {{name}} [[X]]"),
        ("{{long}} {{name}}", "I am Dobby. {{name}} [[X]]! Dobby"),
        (
            "{% if description %}{{ description|upper }}{% endif %}",
            "I AM DOBBY. {{NAME}} [[X]]",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(plain("hf", text, data).unwrap(), expected, "{text}");
    }
}

#[test]
fn what_needs_no_rendering_is_not_touched() {
    let templates = templates();
    let cases = [
        ("hf", "a { b } [[X]]", false),
        ("hf", "a {# b #}", true),
        ("golang", "a {% b %}", false),
        ("fstring", "a {b}", true),
        ("fstring", "a", false),
        ("none such", "a", true),
    ];
    for (format, text, expected) in cases {
        assert_eq!(
            templates.needs_rendering(text, format),
            expected,
            "{format} {text}"
        );
    }
}

#[test]
fn a_template_is_compiled_once() {
    let templates = templates();
    let first = templates.compile("hf", "a {{b}}").unwrap();
    let again = templates.compile("huggingface", "a {{b}}").unwrap();
    assert!(Arc::ptr_eq(&first, &again));
    let plain = templates.compile("jinja-plain", "a {{b}}").unwrap();
    assert!(!Arc::ptr_eq(&first, &plain));
}

/// Returns whether JSON cannot represent a value. Such vectors do not apply.
fn is_foreign(value: &Value) -> bool {
    match value {
        Value::Map(map) => map
            .iter()
            .any(|(key, value)| key.starts_with("$fn") || is_foreign(value)),
        Value::List(items) => items.iter().any(is_foreign),
        _ => false,
    }
}

/// Removes `{"$undefined": true}`, which represents a missing value.
fn without_undefined(value: &Value) -> Value {
    match value {
        Value::Map(map) => {
            let there = |value: &Value| {
                value
                    .as_map()
                    .is_none_or(|map| map.get("$undefined").is_none())
            };
            let kept = map.iter().filter(|(_, value)| there(value));
            Value::Map(
                kept.map(|(key, value)| (Arc::clone(key), without_undefined(value)))
                    .collect(),
            )
        }
        other => other.clone(),
    }
}

/// Vectors with an intended difference, by file and index, and the reason.
const DIFFERENCES: &[(&str, usize, &str)] = &[
    (
        "templates.json",
        18,
        "Go has no strings in single quotes: the error says where",
    ),
    (
        "templates.json",
        24,
        "join is Sprig's: the separator stands first",
    ),
    (
        "templates.json",
        25,
        "Go has no strings in single quotes, and Sprig's name is regexReplaceAll",
    ),
    (
        "templates.json",
        26,
        "Go has no strings in single quotes, and Sprig's name is regexReplaceAll",
    ),
    (
        "templates.json",
        27,
        "what is no template is an error, not text for a model",
    ),
];

fn check(file: &str, data: &str, expected: &str, format: impl Fn(&Value) -> String) {
    let mut wrong = Vec::new();
    for (index, vector) in vectors(file).iter().enumerate() {
        if is_foreign(vector) {
            continue;
        }
        let data = without_undefined(field(vector, data));
        let data = data.as_map().cloned().unwrap_or_default();
        let text = field(vector, "template").as_str().unwrap();
        // Values from users are not rendered again, like with this option of the vectors.
        let expands = field(field(vector, "options"), "expandValue") != &Value::Bool(false);
        let data: Map = if expands {
            data
        } else {
            data.iter()
                .map(|(k, v)| (format!("user_{k}"), v.clone()))
                .collect()
        };
        let text = if expands {
            text.to_owned()
        } else {
            text.replace("{{ ", "{{ user_")
        };
        let got = rendered(&format(vector), &text, &data, &NoFunctions);
        let meant = DIFFERENCES
            .iter()
            .any(|(name, at, _)| *name == file && *at == index);
        let equal = got.as_deref().ok() == field(vector, expected).as_str();
        if equal == meant {
            wrong.push(format!(
                "{index} {text}: {got:?}, expected {:?}",
                field(vector, expected)
            ));
        }
    }
    assert!(wrong.is_empty(), "{file}:\n{}", wrong.join("\n"));
}

#[test]
fn templates_as_the_vectors_have_them() {
    let format = |vector: &Value| {
        field(vector, "format")
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    check("templates.json", "data", "result", format);
}

#[test]
fn jinja_as_the_vectors_have_it() {
    check("jinja_templates.json", "context", "expected", |_| {
        "hf".to_owned()
    });
}
