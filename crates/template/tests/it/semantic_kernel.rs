//! Tests of the format `semantic-kernel` that the vectors do not cover.

use proptest::prelude::*;
use quillet_core::{BoxFuture, Map, Value, json};
use quillet_template::format::handlebars::HandlebarsFormat;
use quillet_template::format::jinja::JinjaFormat;
use quillet_template::format::semantic_kernel::{
    Encoding, HostLanguage, SemanticKernelFormat, chat,
};
use quillet_template::{
    CallArguments, CallError, ChatMessage, CompileOptions, ErrorKind, FunctionHost, MessageSyntax,
    Missing, NoFunctions, Render, RenderError, RenderLimits, RenderedTemplate, TemplateFormat,
    TemplateSource, render,
};

/// Functions that print their name and their arguments.
#[derive(Debug, Default)]
struct Echo(Vec<(&'static str, Option<&'static [&'static str]>)>);

impl FunctionHost for Echo {
    fn contains(&self, name: &str) -> bool {
        self.0.iter().any(|(known, _)| *known == name)
    }

    fn names(&self) -> Vec<&str> {
        self.0.iter().map(|(name, _)| *name).collect()
    }

    fn parameters(&self, name: &str) -> Option<Vec<String>> {
        let (_, parameters) = self.0.iter().find(|(known, _)| *known == name)?;
        Some(parameters.as_ref()?.iter().map(|&p| p.to_owned()).collect())
    }

    fn call<'a>(
        &'a self,
        name: &'a str,
        arguments: CallArguments,
    ) -> BoxFuture<'a, Result<Value, CallError>> {
        let given = (
            Value::from(arguments.positional),
            Value::Map(arguments.named),
        );
        let text = match given {
            (Value::List(list), named) if list.is_empty() => json::to_string(&named),
            (positional, named) => {
                format!(
                    "{} {}",
                    json::to_string(&positional),
                    json::to_string(&named)
                )
            }
        };
        Box::pin(async move { Ok(Value::from(format!("{name} {text}"))) })
    }
}

fn echo() -> Echo {
    Echo(vec![
        ("p.one", Some(&["input"])),
        ("p.Two", Some(&["a", "b"])),
        ("q.one", Some(&["x"])),
        ("p.none", Some(&[])),
        ("open", None),
    ])
}

fn data() -> Map {
    let data = r#"{"x": "X", "a": "A", "Input": "I", "list": ["1", "2"], "mixed": [1, "a"], "o": {"k": 1.5}, "n": 7}"#;
    let data = json::parse(data).expect("the data is JSON");
    data.as_map().cloned().unwrap_or_default()
}

fn run(
    format: &dyn TemplateFormat,
    source: &str,
    options: &CompileOptions,
    variables: &Map,
    functions: &dyn FunctionHost,
) -> Result<RenderedTemplate, Box<RenderError>> {
    let compiled = format
        .compile(&[TemplateSource::new("t", source)], options)
        .expect("the template compiles");
    let request = Render {
        template: &*compiled,
        entries: &["t"],
        variables,
        functions,
        limits: &RenderLimits::default(),
    };
    // Calls have a deadline, which needs a clock.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build();
    let runtime = runtime.expect("a runtime starts");
    runtime.block_on(render(&request))
}

fn rendered(source: &str) -> Result<RenderedTemplate, Box<RenderError>> {
    let format = SemanticKernelFormat::new();
    run(
        &format,
        source,
        &CompileOptions::default(),
        &data(),
        &echo(),
    )
}

#[test]
fn values_and_calls_print_as_they_are() {
    let cases = [
        ("{{$x}} {{$X}} {{$none}}{{$n}}", "X X 7"),
        ("{{$list}} {{$mixed}} {{$o}}", "1\n2 [1,\"a\"] {\"k\":1.5}"),
        ("{{'<b> & é'}}", "<b> & é"),
        ("{{p.one 'v'}}", r#"p.one {"input":"v"}"#),
        // Missing arguments come from the variables with the names of the parameters.
        ("{{p.one}}", r#"p.one {"input":"I"}"#),
        ("{{p.two b='B'}}", r#"p.Two {"a":"A","b":"B"}"#),
        (
            "{{p.two $none B=$x other='lost'}}",
            r#"p.Two {"a":null,"b":"X"}"#,
        ),
        // Later arguments can use earlier arguments.
        ("{{p.two a='1' b=$a}}", r#"p.Two {"a":"1","b":"1"}"#),
        ("{{p.two $list b=$n}}", r#"p.Two {"a":["1","2"],"b":7}"#),
        // Function names match exactly, ignoring case, or without the name of the plugin.
        ("{{P.ONE 'v'}}", r#"p.one {"input":"v"}"#),
        ("{{one 'v'}}", r#"p.one {"input":"v"}"#),
        ("{{.ONE 'v'}}", r#"p.one {"input":"v"}"#),
        ("{{p_One 'v'}}", r#"p.one {"input":"v"}"#),
        ("{{q.one}}", r#"q.one {"x":"X"}"#),
        ("{{p.none}}", "p.none {}"),
        // A function without declared parameters receives the arguments as written.
        ("{{open 'v' a=$x}}", r#"open ["v"] {"a":"X"}"#),
        ("{{open}}", "open {}"),
    ];
    for (source, wanted) in cases {
        let text = rendered(source).map(|rendered| rendered.text(0));
        assert_eq!(
            text.map_err(|error| error.message),
            Ok(wanted.to_owned()),
            "{source}"
        );
    }
}

#[test]
fn all_calls_are_made_at_once() {
    let source = "{{p.one 'a'}}{{one}}{{$x}}{{q.one}}{{p.two 'b'}}{{open}}";
    let rendered = rendered(source).unwrap();
    assert_eq!((rendered.calls, rendered.passes), (5, 2));
}

#[test]
fn errors_of_compiling_name_the_place_and_the_mend() {
    let cases: &[(&str, &[&str])] = &[
        (
            "a\n  {{$user.name}} {{$}}",
            &[
                "t:2:5: The variable name 'user.name' contains invalid characters. Only alphanumeric chars and underscore are allowed (paths are not supported: pass the inner value as a separate variable)",
                "t:2:20: The variable name is empty",
            ],
        ),
        (
            "{{#if x}}",
            &[
                "t:1:3: The function identifier '#if' contains invalid characters. Only alphanumeric chars, underscore and one dot are allowed (this looks like Handlebars: its format is semantic-kernel-handlebars)",
            ],
        ),
        (
            "{{a-b}}",
            &[
                "t:1:3: The function identifier 'a-b' contains invalid characters. Only alphanumeric chars, underscore and one dot are allowed (write {{$name}} for a variable and {{'{{'}} for literal braces)",
            ],
        ),
        (
            "{{a.b.c}}",
            &[
                "t:1:3: Invalid function name `a.b.c`. A function name can contain at most one dot separating the plugin name from the function name",
            ],
        ),
        (
            "{{$a $b}}",
            &[
                "t:1:6: Invalid token detected after the variable: $a $b (a block holds one variable, one value, or a function and its arguments)",
            ],
        ),
        (
            "{{f 'a' 'b'}}",
            &[
                "t:1:9: Functions only support named arguments after the first argument. Argument 2 is not named. (write name='value')",
            ],
        ),
        (
            "{{f 'a'b}}",
            &["t:1:8: Tokens must be separated by one space least"],
        ),
        (
            "{{f a=b}}",
            &[
                "t:1:7: There was an issue with the named argument value for 'a': Named argument values need to be prefixed with a quote or $.",
            ],
        ),
        (
            "{{f a='x=y'}}",
            &[
                "t:1:7: A function named argument must contain a name and value separated by a '=' character. (Semantic Kernel refuses a second '=' here, even in quotes: put the text into a variable)",
            ],
        ),
        (
            "{{f a}}",
            &[
                "t:1:5: A function named argument must contain a name and value separated by a '=' character. (only the first argument can be positional, and it needs quotes or $)",
            ],
        ),
        (
            "{{$x}} <message role=\"user\">{{$x}} {{é}}",
            &[
                "t:1:8: unclosed <message> (close it with </message>)",
                "t:1:38: The function identifier 'é' contains invalid characters. Only alphanumeric chars, underscore and one dot are allowed (write {{$name}} for a variable and {{'{{'}} for literal braces)",
            ],
        ),
    ];
    let format = SemanticKernelFormat::new();
    for (source, wanted) in cases {
        let error = format.compile(
            &[TemplateSource::new("t", source)],
            &CompileOptions::default(),
        );
        let found = error.unwrap_err().diagnostics;
        let found: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert_eq!(found, *wanted, "{source}");
    }
}

#[test]
fn messages_without_a_role_are_one_text_of_the_user() {
    let cases: &[(&str, &[(&str, &str)])] = &[
        (
            "<message>hi</message>",
            &[("user", "<message>hi</message>")],
        ),
        (
            "<message>{{$x}} &amp; b</message>\n<message>c</message>",
            &[(
                "user",
                "<message></message> &amp; b</message>\n<message>c</message>",
            )],
        ),
        (
            "<message><message>a</message></message>",
            &[("user", "<message><message>a</message></message>")],
        ),
        (
            "<message>a</message><message role=\"user\">b <message> c</message>",
            &[
                ("system", "<message>a</message>"),
                ("user", "b <message> c"),
            ],
        ),
    ];
    let options = CompileOptions {
        messages: MessageSyntax::Elements,
        ..CompileOptions::default()
    };
    for (source, wanted) in cases {
        let compiled =
            SemanticKernelFormat::new().compile(&[TemplateSource::new("t", source)], &options);
        let compiled = compiled.unwrap_or_else(|error| panic!("{source}: {error}"));
        let variables: Map = [("x", Value::from("</message>"))].into_iter().collect();
        let rendered = futures_util::FutureExt::now_or_never(render(&Render {
            template: &*compiled,
            entries: &["t"],
            variables: &variables,
            functions: &NoFunctions,
            limits: &RenderLimits::default(),
        }));
        let got = rendered.unwrap().unwrap().conversation(0, &[]);
        let wanted = wanted
            .iter()
            .map(|(role, text)| ChatMessage::text(*role, *text));
        let wanted: Vec<ChatMessage> = wanted.collect();
        assert_eq!(got, wanted, "{source}");
    }
    // An end tag without an open message is also reported.
    let sources = [TemplateSource::new("t", "<message>hi</message></message>")];
    let error = SemanticKernelFormat::new().compile(&sources, &options);
    assert!(
        error
            .unwrap_err()
            .message
            .contains("t:1:22: </message> without")
    );
}

#[test]
fn declared_variables_keep_their_capitals() {
    let sources = [TemplateSource::new(
        "t",
        "{{$x}} {{$Y}} {{$z}} {{$Z}} {{$y}}",
    )];
    let compiled = SemanticKernelFormat::new().compile(&sources, &CompileOptions::default());
    let compiled = compiled.unwrap();
    let names = |declared: &[&'static str]| {
        SemanticKernelFormat::input_variables(compiled.references(), declared).join(" ")
    };
    assert_eq!(names(&[]), "x Y z");
    assert_eq!(names(&["X"]), "X Y z");
    assert_eq!(names(&["unused", "Z", "y"]), "unused Z y x");
}

#[test]
fn errors_of_rendering_name_the_place_and_the_mend() {
    let cases = [
        (
            "a\n{{p.one 'a' Input='b'}}",
            "t:2:3: Ambiguity found as a named parameter 'Input' cannot be set for the first parameter when there is also a positional value: 'a' provided. Function: p.one",
            None,
        ),
        (
            "{{p.none $x a='b'}}",
            "t:1:3: Function p.none does not take any arguments but it is being called in the template with 2 arguments.",
            None,
        ),
        (
            "{{ p.onee }}",
            "t:1:4: function \"p.onee\" not defined",
            Some("did you mean p.one?"),
        ),
        (
            "{{x}}",
            "t:1:3: function \"x\" not defined",
            Some("x is a variable: write {{$x}}"),
        ),
    ];
    for (source, message, help) in cases {
        let error = rendered(source).unwrap_err();
        assert_eq!((&*error.message, error.help.as_deref()), (message, help));
    }
}

#[test]
fn a_missing_variable_is_an_error_only_where_one_asks_for_it() {
    let strict = CompileOptions {
        missing: Missing::Strict,
        ..CompileOptions::default()
    };
    let format = SemanticKernelFormat::new();
    for source in ["a {{$lsit}}", "a {{open $lsit}}", "a {{open v=$lsit}}"] {
        assert!(rendered(source).is_ok());
        let error = run(&format, source, &strict, &data(), &echo()).unwrap_err();
        assert_eq!(error.kind, ErrorKind::MissingVariable);
        assert_eq!(error.reason, "variable $lsit is missing");
        assert_eq!(error.help.as_deref(), Some("did you mean $list?"));
        assert!(error.span.is_some(), "{source}");
    }
    assert!(run(&format, "{{$X}}{{p.one}}", &strict, &data(), &echo()).is_ok());
}

#[test]
fn references_are_complete() {
    let format = SemanticKernelFormat::new();
    let compile = |source| {
        format.compile(
            &[TemplateSource::new("t", source)],
            &CompileOptions::default(),
        )
    };
    let compiled = compile("{{$b}}{{p.f $a k=$B l='v'}}{{g}}{{p.f $c}}{{$b}}").unwrap();
    let found = compiled.references();
    let names: Vec<String> = found.variables.iter().map(|v| v.path.join(".")).collect();
    assert_eq!(names, ["b", "a", "B", "c"]);
    assert_eq!(
        SemanticKernelFormat::input_variables(found, &[]),
        ["b", "a", "c"]
    );
    let names: Vec<&str> = found.functions.iter().map(|f| f.name.as_str()).collect();
    assert_eq!(names, ["p.f", "g"]);
    assert_eq!(
        (found.variables[1].span.start, found.variables[1].span.end),
        (12, 14)
    );
    // A call takes variables by its parameter names, so the template is dynamic.
    assert!(found.dynamic);
    assert!(!compile("{{$b}}").unwrap().references().dynamic);
}

#[test]
fn trusted_text_may_carry_messages() {
    let history = "<message role=\"assistant\">a &amp; b</message>";
    let variables: Map = [("h", Value::from(history))].into_iter().collect();
    let source = "{{$h}}<message role=\"user\">{{$h}}</message>";
    let messages = |trusted: &[&str], source| {
        let options = CompileOptions {
            trusted: trusted.iter().map(|&name| name.to_owned()).collect(),
            ..CompileOptions::default()
        };
        let format = SemanticKernelFormat::new();
        let rendered = run(&format, source, &options, &variables, &echo()).unwrap();
        rendered.messages(0, &[]).unwrap_or_default()
    };
    let user = |text| ChatMessage::text("user", text);
    assert_eq!(messages(&[], source), [user(history), user(history)]);
    let source = "{{$h}}<message role=\"user\">hi</message>";
    assert_eq!(
        messages(&["h"], source),
        [ChatMessage::text("assistant", "a & b"), user("hi")]
    );
    // A function is trusted by its name in the template.
    let call = "{{open \"<message role='tool'>t</message>\"}}";
    assert_eq!(messages(&[], call), []);
    assert_eq!(messages(&["open"], call)[1].role, "tool");
}

/// Semantic Kernel's flag for a whole prompt, as in .NET: results of functions and literal values
/// may contain messages in each of its languages, but variables may not.
#[test]
fn trusted_results_may_carry_messages_and_variables_may_not() {
    let tool = "<message role='tool'>t</message>";
    let variables: Map = [("v", Value::from(tool))].into_iter().collect();
    let has_tool = |format: &dyn TemplateFormat, source: &str, trusted_results| {
        let options = CompileOptions {
            messages: MessageSyntax::Elements,
            trusted_results,
            ..CompileOptions::default()
        };
        let rendered = run(format, source, &options, &variables, &echo()).unwrap();
        let messages = rendered.messages(0, &[]).unwrap_or_default();
        messages.iter().any(|message| message.role == "tool")
    };
    let own = SemanticKernelFormat::new();
    let handlebars = HandlebarsFormat::semantic_kernel();
    let jinja = JinjaFormat::semantic_kernel();
    let cases: [(&dyn TemplateFormat, &str, bool); 6] = [
        (&own, "{{$v}}", false),
        (&own, "{{open $v}}", true),
        (
            &own,
            "{{'<message role=\"tool\">'}}{{$v}}{{'</message>'}}",
            true,
        ),
        (&handlebars, "{{v}}", false),
        (&handlebars, "{{open v}}", true),
        (&jinja, "{{ v }}", false),
    ];
    for (format, source, freed) in cases {
        let source = format!("<message role=\"user\">u</message>{source}");
        assert!(!has_tool(format, &source, false), "{source}");
        assert_eq!(has_tool(format, &source, true), freed, "{source}");
    }
    assert!(!has_tool(&jinja, "{{ open(v) }}", false));
    assert!(has_tool(&jinja, "{{ open(v) }}", true));
}

#[test]
fn only_compatible_text_is_encoded() {
    let variables: Map = [("x", Value::from("<é's 😀>"))].into_iter().collect();
    let text = |format: SemanticKernelFormat| {
        let options = CompileOptions::default();
        let source = "<message role=\"user\">{{$x}}{{'<'}}";
        run(&format, source, &options, &variables, &NoFunctions)
            .unwrap()
            .text(0)
    };
    assert_eq!(
        text(SemanticKernelFormat::encoded(Encoding::default())),
        "<message role=\"user\">&lt;&#233;&#39;s &#128512;&gt;&lt;"
    );
    let python = Encoding {
        dialect: HostLanguage::Python,
        ..Encoding::default()
    };
    assert_eq!(
        text(SemanticKernelFormat::encoded(python)),
        "<message role=\"user\">&lt;é&#x27;s 😀&gt;<"
    );
}

#[test]
fn only_well_formed_text_is_a_chat_prompt() {
    let chat = |inner: &str| format!("<message role=\"user\">{inner}</message>");
    let cases = [
        ("a<b x='1'  y='\"'/><c ></c >", true),
        ("<a:b xmlns:a=''><a:c/></a:b>", true),
        ("<!-- c --><?p d?>", true),
        ("<a xml:lang=''/>&#x27;&#9;", true),
        (&"<a>".repeat(62), false),
        ("<a></b>", false),
        ("<a:b/>", false),
        ("<a:b xmlns:a=''/><a:b/>", false),
        ("<a x='1' x='2'/>", false),
        ("<a x=1/>", false),
        ("<a x='1'y='2'/>", false),
        ("<a x='<'/>", false),
        ("<1/>", false),
        ("< a/>", false),
        ("]]>", false),
        ("<!-- -- -->", false),
        ("<![CDATA[", false),
        ("<!DOCTYPE a>", false),
        ("<?XML?>", false),
        ("&nbsp;", false),
        ("&#0;", false),
        ("\u{1}", false),
        ("</root>", false),
    ];
    for (inner, wanted) in cases {
        for dialect in [HostLanguage::DotNet, HostLanguage::Python] {
            let text = chat(inner);
            let found = chat::parse(&text, dialect).expect("nothing is refused");
            assert_eq!(found.structured, wanted, "{inner}");
        }
    }
    let deep = |depth: usize| chat(&("<a>".repeat(depth) + &"</a>".repeat(depth)));
    let structured =
        |text: &str| chat::parse(text, HostLanguage::DotNet).is_ok_and(|p| p.structured);
    assert!(structured(&deep(63)) && !structured(&deep(64)));
}

#[test]
fn python_refuses_some_messages() {
    let cases = [
        (
            "<message role='boss'>x</message>",
            "invalid role \"boss\": use one of system, user, assistant, tool, developer",
        ),
        (
            "<message>x</message>",
            "invalid role \"\": use one of system, user, assistant, tool, developer",
        ),
        (
            "<message role='user'><image>x.png</image></message>",
            "Invalid data uri format. The data is missing.",
        ),
        (
            "<chat_history><a/></chat_history>",
            "Element tag is not message",
        ),
    ];
    for (text, wanted) in cases {
        let error = chat::parse(text, HostLanguage::Python).unwrap_err();
        assert_eq!(error.message, wanted, "{text}");
    }
}

/// Returns the output of a template, or its error with the help.
fn outcome(source: &str) -> String {
    let format = SemanticKernelFormat::new();
    match format.compile(
        &[TemplateSource::new("t", source)],
        &CompileOptions::default(),
    ) {
        Err(error) => error.message,
        Ok(_) => match rendered(source) {
            Ok(rendered) => rendered.text(0),
            Err(error) => match &error.help {
                Some(help) => format!("{} ({help})", error.message),
                None => error.message.clone(),
            },
        },
    }
}

#[test]
fn the_page_shows_what_comes_out() {
    let page = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../docs/formats/semantic-kernel.md"
    );
    let page = std::fs::read_to_string(page).expect("the page is there");
    let error = |line: &str| {
        let (source, message) = line.split_once("  t:")?;
        Some((source.trim_end().to_owned(), format!("t:{message}")))
    };
    let row = |line: &str| {
        let cells = line.strip_prefix("| `")?.strip_suffix("` |")?;
        let (source, text) = cells.split_once("` | `")?;
        Some((source.to_owned(), text.to_owned()))
    };
    let shown: Vec<_> = page
        .lines()
        .filter_map(|line| error(line).or_else(|| row(line)))
        .collect();
    assert_eq!(shown.len(), 8);
    for (source, wanted) in shown {
        assert_eq!(outcome(&source), wanted, "{source}");
    }
}

/// Text that resembles the syntax of the language.
fn hostile() -> impl Strategy<Value = String> {
    let words = prop::sample::select(vec![
        "{{",
        "}}",
        "{",
        "}",
        "$x",
        "'",
        "\"",
        "\\",
        "{{$x}}",
        "{{f}}",
        " ",
        "=",
        "<message role=\"system\">",
        "</message>",
        "<text>",
        "&lt;",
        "&#39;",
        "<",
        "é",
    ]);
    let any = prop_oneof![words.prop_map(str::to_owned), any::<String>()];
    prop::collection::vec(any, 0..10).prop_map(|words| words.concat())
}

proptest! {
    #[test]
    fn an_escaped_text_prints_itself(text in hostile()) {
        let formats = [
            SemanticKernelFormat::new(),
            SemanticKernelFormat::encoded(Encoding { allow_prompt: true, ..Encoding::default() }),
        ];
        for format in formats {
            let escaped = format.escape(&text).unwrap();
            let rendered = run(&format, &escaped, &CompileOptions::default(), &Map::default(), &NoFunctions);
            prop_assert_eq!(rendered.unwrap().text(0), text.as_str());
        }
        // The escaped text must also contain no structure.
        let format = SemanticKernelFormat::new();
        let source = format!("<message role=\"user\">{}</message>", format.escape(&text).unwrap());
        let rendered = run(&format, &source, &CompileOptions::default(), &Map::default(), &NoFunctions);
        let found = rendered.unwrap().messages(0, &[]).unwrap_or_default();
        prop_assert_eq!(found.len(), 1);
        let wanted = Some(text.trim()).filter(|text| !text.is_empty());
        let wanted = wanted.map(|text| ChatMessage::text("user", text));
        prop_assert_eq!(&found[0].parts, &wanted.unwrap_or_default().parts);
    }

    #[test]
    fn data_is_data(text in hostile()) {
        let variables: Map = [("x", Value::from(text.as_str())), ("secret", "S3CR3T".into())].into_iter().collect();
        let source = "<message role=\"user\">[{{$x}}]</message>";
        let format = SemanticKernelFormat::new();
        let rendered = run(&format, source, &CompileOptions::default(), &variables, &echo()).unwrap();
        let messages = rendered.messages(0, &[]).unwrap_or_default();
        prop_assert_eq!(messages, [ChatMessage::text("user", format!("[{text}]"))]);
    }

    #[test]
    fn encoded_text_is_read_back(text in hostile()) {
        // XML does not allow these characters.
        let text = text.replace(|c: char| c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}'), "");
        let variables: Map = [("x", Value::from(text.as_str()))].into_iter().collect();
        for dialect in [HostLanguage::DotNet, HostLanguage::Python] {
            let format = SemanticKernelFormat::encoded(Encoding { dialect, ..Encoding::default() });
            let source = "<message role=\"user\">[{{$x}}]</message>";
            let rendered = run(&format, source, &CompileOptions::default(), &variables, &echo()).unwrap();
            let found = chat::parse(&rendered.text(0), dialect).unwrap();
            // Python decodes references twice.
            let again = dialect == HostLanguage::Python && text.contains('&');
            let same = found.messages == [ChatMessage::text("user", format!("[{text}]"))];
            prop_assert!(again || same, "{}", text);
            prop_assert_eq!(found.messages.len(), 1);
        }
    }

    #[test]
    fn any_template_ends_with_a_text_or_an_error(source in hostile()) {
        let format = SemanticKernelFormat::new();
        match format.compile(&[TemplateSource::new("t", &source)], &CompileOptions::default()) {
            Ok(_) => {
                let error = rendered(&source).err();
                prop_assert!(error.is_none_or(|error| error.span.is_some()));
            }
            Err(error) => prop_assert!(!error.diagnostics.is_empty()),
        }
    }
}

#[test]
fn places_are_whole_characters() {
    let sources = [TemplateSource::new("t", "{{f 'a'ä='b'}}")];
    let compiled = SemanticKernelFormat::new().compile(&sources, &CompileOptions::default());
    let span = compiled.unwrap_err().diagnostics[0].span.unwrap();
    assert_eq!(&sources[0].text[span.start..span.end], "ä");
}
