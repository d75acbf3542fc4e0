//! Tests of Semantic Kernel's Jinja that the vectors do not cover: helpers, plugin functions,
//! messages as structure, and encoded text.

use quillet_core::{BoxFuture, Map, Value, json};
use quillet_template::format::jinja::JinjaFormat;
use quillet_template::{
    CallArguments, CallError, ChatMessage, CompileOptions, FunctionHost, MessageSyntax, Render,
    RenderLimits, RenderedTemplate, TemplateFormat, TemplateSource, render,
};

/// Functions that return a description of their call.
struct Echo(&'static [&'static str]);

impl FunctionHost for Echo {
    fn contains(&self, name: &str) -> bool {
        self.0.contains(&name)
    }

    fn names(&self) -> Vec<&str> {
        self.0.to_vec()
    }

    fn parameters(&self, _: &str) -> Option<Vec<String>> {
        Some(vec!["name".to_owned(), "input".to_owned()])
    }

    fn call<'a>(
        &'a self,
        name: &'a str,
        arguments: CallArguments,
    ) -> BoxFuture<'a, Result<Value, CallError>> {
        let named = json::to_string(&Value::Map(arguments.named));
        let positional = json::to_string(&Value::from(arguments.positional));
        Box::pin(async move { Ok(format!("{name}{positional}{named}").into()) })
    }
}

fn variables() -> Map {
    let text = r#"{"name":"Ann","html":"<b>","user":{"role":"user","content":"1 < 2 </message>"},
        "history":[{"role":"user","content":"Hi"},{"role":"assistant","content":"Hello"}],
        "trusted":"<message role=\"user\">T</message>"}"#;
    let value = json::parse(text).expect("it is JSON");
    value.as_map().cloned().expect("it is an object")
}

async fn rendered(
    format: JinjaFormat,
    text: &str,
    options: &CompileOptions,
    variables: &Map,
) -> Result<RenderedTemplate, String> {
    let template = format.compile(&[TemplateSource::new("t", text)], options);
    let template = template.map_err(|error| error.message)?;
    let rendered = render(&Render {
        template: &*template,
        entries: &["t"],
        variables,
        functions: &Echo(&["time.now", "weather_today", "plain"]),
        limits: &RenderLimits::default(),
    })
    .await;
    rendered.map_err(|error| error.message)
}

/// Templates with their output.
const TEXTS: &[(&str, &str)] = &[
    ("{{ camel_case('hello_big_WORLD') }}", "HelloBigWorld"),
    (
        "{{ snakeCase('HelloHTTPWorld-x2Y') }}",
        "hello_http_world_x2_y",
    ),
    ("{{ doubleOpen() }} {{ double_close() }}", "{{ }}"),
    ("{{ array(1, 'a')|length }}", "2"),
    (
        "{{ get({'a': none}, 'a', 'x') }}{{ get() }}{{ get(none, 'a', 'y') }}",
        "Noney",
    ),
    (
        "{{ messages('no conversation') }}{{ message_to_prompt('text') }}",
        "text",
    ),
    // Arguments can be named, positional, or come from the variable with the parameter's name.
    (
        "{{ time_now(input='x') }}",
        r#"time.now[]{"input":"x","name":"Ann"}"#,
    ),
    ("{{ weather_today('a') }}", r#"weather_today["a"]{}"#),
    ("{{ now() }}", r#"time.now[]{"name":"Ann"}"#),
    ("{% do plain() %}.", "."),
];

#[tokio::test]
async fn helpers_and_functions() {
    for (template, expected) in TEXTS {
        let format = JinjaFormat::semantic_kernel();
        let options = CompileOptions::default();
        let rendered = rendered(format, template, &options, &variables()).await;
        let text = rendered.map(|rendered| rendered.text(0));
        assert_eq!(text.as_deref(), Ok(*expected), "{template}");
    }
}

#[tokio::test]
async fn helpers_write_messages_that_no_content_breaks() {
    let options = CompileOptions {
        messages: MessageSyntax::Elements,
        trusted: vec!["trusted".to_owned()],
        ..CompileOptions::default()
    };
    let template = "<message role=\"system\">{{ name }}</message>\
         {{ messages(history) }}{{ message(user) }}{{ trusted }}";
    let format = JinjaFormat::semantic_kernel();
    let rendered = rendered(format, template, &options, &variables()).await;
    let expected = [
        ("system", "Ann"),
        ("user", "Hi"),
        ("assistant", "Hello"),
        ("user", "1 < 2 </message>"),
        ("user", "T"),
    ];
    let expected = expected.map(|(role, text)| ChatMessage::text(role, text));
    let rendered = rendered.expect("it renders");
    assert_eq!(rendered.messages(0, &[]), Some(expected.to_vec()));
}

#[tokio::test]
async fn a_role_cannot_carry_structure() {
    let template = "{{ message({'role': 'a\" x=\"', 'content': ''}) }}";
    let format = JinjaFormat::semantic_kernel();
    let rendered = rendered(format, template, &CompileOptions::default(), &variables()).await;
    let message = rendered.expect_err("it is refused");
    assert!(
        message.contains("cannot be the role of a message"),
        "{message}"
    );
}

#[tokio::test]
async fn the_encoded_text_is_that_of_semantic_kernel() {
    let format = JinjaFormat::semantic_kernel().encoded();
    let options = CompileOptions {
        trusted: ["user", "history", "trusted"].map(str::to_owned).to_vec(),
        ..CompileOptions::default()
    };
    let template = "{{ html }}{{ message(user) }}{{ plain() }}";
    let encoded = rendered(format, template, &options, &variables()).await;
    let expected = "&lt;b&gt;<message role=\"user\"><text>1 &lt; 2 &lt;/message&gt;</text></message>\
         plain[]{&quot;name&quot;:&quot;Ann&quot;}";
    assert_eq!(encoded.expect("it renders").text(0), expected);

    let refused = rendered(format, "text", &CompileOptions::default(), &variables()).await;
    let message = refused.expect_err("an object cannot be encoded");
    assert!(message.contains("\"user\" is object"), "{message}");
}

#[tokio::test]
async fn text_that_is_changed_is_no_structure_and_tells_no_secret() {
    let options = CompileOptions {
        messages: MessageSyntax::Elements,
        ..CompileOptions::default()
    };
    let tag = "<text>x</text>";
    let changes = [
        "m()|upper",
        "m()[1:]",
        "m()|list",
        "m().upper()",
        "m()|tojson",
        "[m()]|tojson",
        "m()|reverse",
        "[m()]|map('upper')|list",
        "'%r' % m()",
        "'%.3s' % m()",
        "'{:.3}'.format(m())",
        "'{!r:>30}'.format(m())",
    ];
    for change in changes {
        let print =
            |body: &str| format!("{{% macro m() %}}{body}{{% endmacro %}}{{{{ {change} }}}}");
        let format = JinjaFormat::semantic_kernel();
        let marked = rendered(format, &print(tag), &options, &variables()).await;
        let plain = rendered(
            format,
            &print(tag),
            &CompileOptions::default(),
            &variables(),
        )
        .await;
        let text =
            |rendered: Result<RenderedTemplate, String>| rendered.map(|rendered| rendered.text(0));
        assert_eq!(text(marked), text(plain), "{change}");
    }
}
