//! The syntax tree of scripts, rule by rule.

use std::sync::Arc;

use quillet_core::json;
use quillet_script::reader::{self, ParsedScript, read};
use quillet_script::syntax::{
    CallExpr, CallTarget, FunctionDeclaration, Instruction, InstructionBlock, ItemKind,
    ScriptSource,
};

pub(crate) fn read_text(text: &str) -> ParsedScript {
    read(Arc::new(ScriptSource {
        name: "s".to_owned(),
        path: None,
        text: text.into(),
    }))
}

/// Formats a block on one line: `user "hi"; ---; $print(x); -> a -> $b`.
pub(crate) fn show(block: &InstructionBlock) -> String {
    let items: Vec<String> = block.items.iter().map(show_item).collect();
    items.join("; ")
}

fn show_item(item: &Instruction) -> String {
    match &item.kind {
        ItemKind::Message(message) => {
            let role = message.role.as_ref().map_or("", |role| &role.value);
            let to = message
                .to
                .as_ref()
                .map_or(String::new(), |to| format!("[{}]", to.value));
            let fields = show_fields(&message.fields);
            format!(
                "{role}{to} {}{fields}",
                json::to_string(&message.content.value())
            )
        }
        ItemKind::Separator { pin: false } => "---".to_owned(),
        ItemKind::Separator { pin: true } => "---!".to_owned(),
        ItemKind::Call(call) => show_call(call),
        ItemKind::Chain(links) => {
            let links: Vec<String> = links.iter().map(show_call).collect();
            links.join(" ")
        }
        ItemKind::Expression(text) => format!("?={}", text.value),
        ItemKind::Block(block) => format!("[{}]", show(block)),
    }
}

fn show_call(call: &CallExpr) -> String {
    let sign = match call.target {
        CallTarget::Directive(_) | CallTarget::Function => "$",
        CallTarget::Script => "@",
        CallTarget::Tool => "tool:",
    };
    let pipe = if call.piped { "|" } else { "" };
    let arguments = call
        .arguments
        .as_ref()
        .map_or(String::new(), |text| format!("({})", text.value));
    let value = call.value.as_ref().map_or(String::new(), |value| {
        format!(" = {}", json::to_string(&value.value()))
    });
    let fields = show_fields(&call.fields);
    let branches: String = call
        .branches
        .iter()
        .map(|branch| format!(" {}<{}>", branch.key.value, show(&branch.block)))
        .collect();
    format!(
        "{sign}{pipe}{}{arguments}{value}{fields}{branches}",
        call.name.value
    )
}

fn show_fields(fields: &[quillet_yaml::MapEntry]) -> String {
    fields
        .iter()
        .map(|field| {
            format!(
                " .{}={}",
                field.name(),
                json::to_string(&field.value.value())
            )
        })
        .collect()
}

fn show_function(function: &FunctionDeclaration) -> String {
    let template = if function.template { "#" } else { "" };
    format!(
        "fn{template} {}:{} {}",
        function.language, function.name, function.code.value
    )
}

fn check(table: &[(&str, &str)]) {
    for (text, expected) in table {
        let read = read_text(text);
        assert!(
            read.diagnostics.is_empty(),
            "{text}: {:#?}",
            read.diagnostics
        );
        assert_eq!(show(&read.script.body), *expected, "{text}");
    }
}

#[test]
fn messages() {
    check(&[
        ("user: hi", r#"user "hi""#),
        ("user: hi\nuser: ho\n", r#"user "hi"; user "ho""#),
        ("- user: hi\n- ho", r#"user "hi";  "ho""#),
        ("hi\nho", r#" "hi";  "ho""#),
        ("hi\n  there", r#" "hi there""#),
        ("\"hi\" # c", r#" "hi""#),
        ("# c\n\n# d\n", ""),
        ("", ""),
        ("- # c\n- ~\n- hi", r#" "hi""#),
        ("user: |-\n  a\n\n  b\nhi", r#"user "a\n\nb";  "hi""#),
        ("user:\n|-\n  a\n  b\nhi", r#"user "a\nb";  "hi""#),
        ("user: 42", "user 42"),
        ("- 42", " 42"),
        ("user:", "user null"),
        ("-5 degrees", r#" "-5 degrees""#),
        ("$5 is much", r#" "$5 is much""#),
        ("narrator: it rains", r#"narrator "it rains""#),
        (
            "system:\n  background: a\n  notes: [b]",
            r#"system {"background":"a","notes":["b"]}"#,
        ),
        (
            "user: hi\r\nsystem: |-\r\n  a\r\n  b\r\n",
            r#"user "hi"; system "a\nb""#,
        ),
        (
            "{role: user, content: hi, templateFormat: golang}",
            r#"user "hi" .templateFormat="golang""#,
        ),
        (
            "- role: user\n  content: hi\n  private: true",
            r#"user "hi" .private=true"#,
        ),
        ("- content: hi", r#" "hi""#),
        ("- content: hi\n  name: x", r#" "hi" .name="x""#),
        (
            "- user: hi\n  templateFormat: golang",
            r#"user "hi" .templateFormat="golang""#,
        ),
        (
            "- role: user[@dobby]\n  content: hi",
            r#"user[@dobby] "hi""#,
        ),
        (
            "user[@dobby(PM), @other]: hi",
            r#"user[@dobby(PM), @other] "hi""#,
        ),
        ("\"user[@a]\": hi", r#"user[@a] "hi""#),
        ("#:[-1:system]new", ""),
        (":[-1:system]new", r#" ":[-1:system]new""#),
        ("\"#+[0:system]new\"", r##" "#+[0:system]new""##),
        ("'---x'", r#" "---x""#),
    ]);
}

#[test]
fn full_width_punctuation() {
    check(&[
        ("user：你好", r#"user "你好""#),
        ("- user：你好", r#"user "你好""#),
        ("user：|-\n  一\n  二", r#"user "一\n二""#),
        ("user： \"你: 好\" # c", r#"user "你: 好""#),
        ("user［@多比（私）］：你好", r#"user[@多比（私）] "你好""#),
        ("user【@a，@b】: 你好", r#"user[@a，@b] "你好""#),
        ("注意：请回答", r#" "注意：请回答""#),
        ("---\nroles: {多比: d}\n---\n多比：你好", r#"多比 "你好""#),
        ("---\nname: 我\n---\n我：你好", r#"我 "你好""#),
        ("$print（a，b）", "$print(a，b)"),
        ("$echo：好", r#"$echo = "好""#),
        (
            "$if: x\n  then:\n    - user：好",
            r#"$if = "x" then<user "好">"#,
        ),
        ("user: 一：二", r#"user "一：二""#),
    ]);
}

#[test]
fn separators() {
    check(&[
        ("a\n---\nb\n***\nc", r#" "a"; ---;  "b"; ---;  "c""#),
        ("---! # pin\na", r#"---!;  "a""#),
        ("- '---'\n- a", r#"---;  "a""#),
        (
            "$if: x\n  then:\n    - ---\n    - '***!'",
            r#"$if = "x" then<---; ---!>"#,
        ),
        ("---\n---\n--- # New\na", r#"---;  "a""#),
    ]);
}

#[test]
fn calls() {
    check(&[
        ("$AI", "$AI"),
        ("$AI:", "$AI"),
        (
            "$AI: # c\n  # d\n  max_tokens: 5",
            r#"$AI = {"max_tokens":5}"#,
        ),
        ("- $prompt:\n  a: 1", "$prompt .a=1"),
        ("$prompt:\n  a: 1", r#"$prompt = {"a":1}"#),
        ("$echo: null", "$echo = null"),
        ("$echo: ?=23+5", r#"$echo = "?=23+5""#),
        ("$print(JOKE)", "$print(JOKE)"),
        ("$ret('')", "$ret('')"),
        ("$print()", "$print()"),
        ("$print(\"a: b # c\") # d", r#"$print("a: b # c")"#),
        ("- $print(\"a: b # c\") # d", r#"$print("a: b # c")"#),
        ("$print(\"it's (so\")", r#"$print("it's (so")"#),
        ("$print(it's)", "$print(it's)"),
        ("$print(\n  a,\n  b\n)", "$print(a, b)"),
        ("$a(1) and $b(2)", r#" "$a(1) and $b(2)""#),
        ("$path.basename(x)", "$path.basename(x)"),
        ("$char-dobby(message=true)", "$char-dobby(message=true)"),
        ("$|func1", "$|func1"),
        ("$|func1(a=1)", "$|func1(a=1)"),
        ("- llm: $tool\n- $|print", "tool:llm; $|print"),
        ("toolId: $tool\n  a: 1", "tool:toolId .a=1"),
        ("- |\n- $func1\n- $pipe", "$pipe; $func1; $pipe"),
        ("\"$print(x)\"", "$print(x)"),
        ("- - $a\n  - b", r#"[$a;  "b"]"#),
        ("[$a, b]", r#"[$a;  "b"]"#),
        (
            "$set: {\n  a: 1\n}\n$get: [\n  a\n]",
            r#"$set = {"a":1}; $get = ["a"]"#,
        ),
        ("?=1+2", "?=1+2"),
        ("- \"?= a ? b : c\"", "?=a ? b : c"),
        (
            "$on:\n  event: e\n  callback: !fn |- # c\n    (e) { return 1 }",
            r#"$on = {"event":"e","callback":"(e) { return 1 }"}"#,
        ),
    ]);
}

#[test]
fn chains() {
    check(&[
        ("-> calculator  # c", "@|calculator"),
        (
            "-> translator(target=\"x -> y: z\") -> $print",
            "@|translator(target=\"x -> y: z\") $|print",
        ),
        ("- -> a -> b(1)", "@|a @|b(1)"),
        ("-> a\n  -> b", "@|a @|b"),
        (
            "- \"-> ./lib/x.ai.yaml(a=1) -> $y\"",
            "@|./lib/x.ai.yaml(a=1) $|y",
        ),
        (
            "$if: x\n  then:\n    -> a(b=\"c: d\")",
            r#"$if = "x" then<@|a(b="c: d")>"#,
        ),
        ("-> char-dobby->$print", "@|char-dobby $|print"),
    ]);
}

#[test]
fn blocks() {
    check(&[
        (
            "$for: 3 # c\n  as:\n    value: item\n  do:\n    - $print(\"a:{{item}}\")",
            r#"$for = 3 .as={"value":"item"} do<$print("a:{{item}}")>"#,
        ),
        ("- $for: 3\n  do: $break", "$for = 3 do<$break>"),
        (
            "- $for: 3\n    do: $break\n- a",
            r#"$for = 3 do<$break>;  "a""#,
        ),
        (
            "$for: [1, 2]\n  do:\n    - $if: x\n        then: a\n        else: b",
            r#"$for = [1,2] do<$if = "x" then< "a"> else< "b">>"#,
        ),
        (
            "$if: \"{{x}}\"\n  then:\n    $ret: v\n  else:\n    # nothing",
            r#"$if = "{{x}}" then<$ret = "v"> else<>"#,
        ),
        ("$if:\n  $isOK: true", r#"$if = {"$isOK":true}"#),
        (
            "- $if:\n    $isOK: true\n  then: |-\n    a\n      b: c\n  else: $continue",
            r#"$if = {"$isOK":true} then< "a\n  b: c"> else<$continue>"#,
        ),
        (
            "$if: x\n  then: |-\n    $if: y\n      do: z\n  else: b",
            r#"$if = "x" then< "$if: y\n  do: z"> else< "b">"#,
        ),
        ("$while(i > 0):\n  do: $a", "$while(i > 0) do<$a>"),
        (
            "$while(i > 0):\n  - $a\n  - b",
            r#"$while(i > 0) do<$a;  "b">"#,
        ),
        ("$if(x): {then: a}", r#"$if(x) then< "a">"#),
        (
            "$match(c[, allMatches=false]):\n  :/RegEx/:\n    - $echo: a\n  :> 12: b\n  :\"string\": c\n  :1 || 2: d\n  :1..5: $e\n  \":['a,b', _, _, last]\": f\n  \":{x='a', ..}\": g\n  _ : h",
            r#"$match(c[, allMatches=false]) :/RegEx/<$echo = "a"> :> 12< "b"> :"string"< "c"> :1 || 2< "d"> :1..5<$e> :['a,b', _, _, last]< "f"> :{x='a', ..}< "g"> _< "h">"#,
        ),
        (
            "$match: x\n  allMatches: true\n  :1: a",
            r#"$match = "x" .allMatches=true :1< "a">"#,
        ),
        (
            "$match:\n  :1: a\n  parallel: true",
            r#"$match .parallel=true :1< "a">"#,
        ),
        (
            "$if: x\n  then:\n    - - a\n      - b",
            r#"$if = "x" then<[ "a";  "b"]>"#,
        ),
        ("$do: 3\n  then: x", r#"$do = 3 .then="x""#),
    ]);
}

#[test]
fn functions_are_hoisted() {
    let text = "- !fn |-\n    [python] def a(x):\n      return x\n- $if: x\n  then:\n    - !fn# b(y) { }\n    - $a\n!fn |-\n  async function template$c() {}\n";
    let read = read_text(text);
    assert!(read.diagnostics.is_empty(), "{:#?}", read.diagnostics);
    assert_eq!(show(&read.script.body), r#"$if = "x" then<$a>"#);
    let functions: Vec<String> = read.script.functions.iter().map(show_function).collect();
    assert_eq!(
        functions,
        [
            "fn python:a def a(x):\n  return x",
            "fn# js:b b(y) { }",
            "fn# js:template$c async function template$c() {}",
        ]
    );
    let first = read.script.functions[0].span;
    assert!(text[first.start..first.end].starts_with("!fn |-\n"));
    assert_eq!(read.items, 3);
}

#[test]
fn front_matter() {
    let table = [
        ("a", false, "{}"),
        ("---\n---\na", true, "{}"),
        ("# c\n\n---\r\nx: 1 # d\r\n---\r\na", true, r#"{"x":1}"#),
        ("---\nx: &a [1]\n---\na", true, r#"{"x":[1]}"#),
    ];
    for (text, has, config) in table {
        let read = read_text(text);
        assert!(
            read.diagnostics.is_empty(),
            "{text}: {:?}",
            read.diagnostics
        );
        assert_eq!(read.script.has_front_matter, has, "{text}");
        assert_eq!(
            json::to_string(&read.script.config.value()),
            config,
            "{text}"
        );
        assert_eq!(show(&read.script.body), r#" "a""#, "{text}");
    }
}

#[test]
fn parts_of_calls_know_their_bytes() {
    let text = "# é\r\n$match(é, x):\r\n  :1: -> a(é) -> $b\r\n- \"$print(\\t)\"\r\n";
    let read = read_text(text);
    assert!(read.diagnostics.is_empty(), "{:#?}", read.diagnostics);
    let at = |span: quillet_core::Span| &text[span.start..span.end];
    let ItemKind::Call(call) = &read.script.body.items[0].kind else {
        panic!("a call")
    };
    assert_eq!(at(call.name.span), "match");
    assert_eq!(at(call.arguments.as_ref().unwrap().span), "é, x");
    assert_eq!(at(call.branches[0].key.span), ":1");
    let ItemKind::Chain(links) = &call.branches[0].block.items[0].kind else {
        panic!("a chain")
    };
    assert_eq!(at(links[0].span), "a(é)");
    assert_eq!(at(links[1].name.span), "b");
    let ItemKind::Call(call) = &read.script.body.items[1].kind else {
        panic!("a call")
    };
    // YAML changed the text, so the location is the whole text.
    assert_eq!(at(call.arguments.as_ref().unwrap().span), "\"$print(\\t)\"");
}

#[test]
fn anchors_of_the_front_matter_reach_the_body() {
    check(&[(
        "---\nx: &a {max_tokens: 1}\n---\n$AI: *a\nuser: &b hi\nuser: *b",
        r#"$AI = {"max_tokens":1}; user "hi"; user "hi""#,
    )]);
}

#[test]
fn nodes_are_classified_at_run_time() {
    let source = Arc::new(ScriptSource {
        name: "s".to_owned(),
        path: None,
        text: "$if: x\n  then: {$isOK: true}\n".into(),
    });
    let read = read(Arc::clone(&source));
    let ItemKind::Call(call) = &read.script.body.items[0].kind else {
        panic!("a call")
    };
    let value = call.value.as_ref().unwrap();
    assert_eq!(show_item(&reader::item(value, &source).unwrap()), r#" "x""#);
    let span = quillet_core::Span { start: 5, end: 6 };
    let table = [
        ("$break", "$break"),
        ("-> a -> $b", "@|a $|b"),
        ("?= 1", "?=1"),
        ("---", "---"),
        ("", r#" """#),
        ("null", r#" "null""#),
    ];
    for (text, expected) in table {
        let item = reader::text_item(text, span, &source).unwrap();
        assert_eq!(show_item(&item), expected, "{text}");
        assert_eq!(item.span, span);
    }
    let wrong = reader::text_item("-> a b", span, &source).unwrap_err();
    assert_eq!(
        wrong[0].to_string(),
        "s:1:6: the name of a script cannot contain spaces (write a chain as `-> script(name=value) -> $directive`)"
    );
}

#[test]
fn functions_are_values_too() {
    let source = Arc::new(ScriptSource {
        name: "s".to_owned(),
        path: None,
        text: "$set:\n  f: !fn (key) { return key + ' hi' }\n  g: [js]\n".into(),
    });
    let read = read(Arc::clone(&source));
    let ItemKind::Call(call) = &read.script.body.items[0].kind else {
        panic!("a call")
    };
    let value = call.value.as_ref().unwrap();
    let function = reader::function(value.get("f").unwrap(), &source)
        .unwrap()
        .unwrap();
    assert_eq!(
        show_function(&function),
        "fn js: (key) { return key + ' hi' }"
    );
    assert_eq!(
        reader::function(value.get("g").unwrap(), &source).unwrap(),
        None
    );
}
