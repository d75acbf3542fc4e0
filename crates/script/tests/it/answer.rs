//! Parsing model answers in every format, and the instructions that request the formats.

use proptest::prelude::*;
use quillet_core::{Map, Value, json};
use quillet_script::answer::{
    self, AnswerFormat, AnswerSchema, ChoiceConstraint, Inputs, ProviderSchema, Random, Splitter,
    ThinkingSettings,
};
use quillet_script::run::ScriptInput;
use serde_json::json;

fn read(format: AnswerFormat, text: &str, schema: &str) -> String {
    let schema = (!schema.is_empty()).then(|| {
        let schema = serde_json::from_str(schema).unwrap();
        AnswerSchema::new(&schema).unwrap().tree().clone()
    });
    match answer::read(format, text, schema.as_ref()) {
        Ok(value) => json::to_string(&value),
        Err(error) => format!("! {error}"),
    }
}

#[test]
fn json_and_yaml_are_read_with_their_fences_and_scalars() {
    for (format, text, expected) in [
        (AnswerFormat::Json, "8", "8"),
        (AnswerFormat::Json, " {\"aa\":1}\n", r#"{"aa":1}"#),
        (
            AnswerFormat::Json,
            "```json\n{\"aa\":1}\n```",
            r#"{"aa":1}"#,
        ),
        (AnswerFormat::Json, "Sure:\n```\n[1]\n```\nDone.", "[1]"),
        (
            AnswerFormat::Json,
            "The answer is {\"a\": [1]}. Bye",
            r#"{"a":[1]}"#,
        ),
        (
            AnswerFormat::Json,
            "not json",
            "! invalid JSON: expected ident at line 1 column 2 of the answer",
        ),
        (
            AnswerFormat::Json,
            "Here:\n```json\n{\n \"a\": x}\n```",
            "! invalid JSON: expected value at line 4 column 7 of the answer",
        ),
        (
            AnswerFormat::Yaml,
            "aa: 1\nbb: two",
            r#"{"aa":1,"bb":"two"}"#,
        ),
        (AnswerFormat::Yaml, "```yaml\naa: 1\n```", r#"{"aa":1}"#),
        (
            AnswerFormat::Yaml,
            "Well:\n~~~yml\n- 1\n- x\n~~~\n",
            r#"[1,"x"]"#,
        ),
        (AnswerFormat::Yaml, "8", "8"),
        (
            AnswerFormat::Yaml,
            " ",
            "! it is empty at line 1 column 1 of the answer",
        ),
    ] {
        assert_eq!(read(format, text, ""), expected, "{text:?}");
    }
}

#[test]
fn broken_yaml_says_where() {
    let said = read(AnswerFormat::Yaml, "Well:\n```\na: [1\nb: 2\n```", "");
    assert!(said.starts_with("! invalid YAML"), "{said}");
    assert!(said.contains("at line"), "{said}");
}

const PERSON: &str = r#"{"type": "object", "properties": {
    "name": {"type": "string"}, "age": {"type": "int"}, "city": {"type": "string"},
    "tags": {"type": "array", "items": {"type": "string"}}, "is_ok": {"type": "bool"},
    "home": {"type": "object", "properties": {"street": {"type": "string"}, "no": {"type": "int"}}},
    "kids": {"type": "array", "items": {"type": "object", "properties": {
        "name": {"type": "string"}, "age": {"type": "number"}}}}}}"#;

#[test]
fn nobj_is_read_however_a_model_dresses_it() {
    for (text, schema, expected) in [
        ("name: John\nage: 28", PERSON, r#"{"name":"John","age":28}"#),
        (
            "- **name**: John\n- **age**: 28",
            PERSON,
            r#"{"name":"John","age":28}"#,
        ),
        (
            "1. **Name:** John\n2. **Age:** 28 years",
            PERSON,
            r#"{"name":"John","age":28}"#,
        ),
        (
            "name is John Doe\nage is 30\ncity is New York",
            PERSON,
            r#"{"name":"John Doe","age":30,"city":"New York"}"#,
        ),
        (
            "age = 5\nname = 'A = B'",
            PERSON,
            r#"{"age":5,"name":"A = B"}"#,
        ),
        ("name是张三\nage为8", PERSON, r#"{"name":"张三","age":8}"#),
        ("tags: a, b、c，d", PERSON, r#"{"tags":["a","b","c","d"]}"#),
        ("tags have a, b", PERSON, r#"{"tags":["a","b"]}"#),
        (
            "tags:\n- a\n- b: c\nname: x",
            PERSON,
            r#"{"tags":["a","b: c"],"name":"x"}"#,
        ),
        ("tags:\n  1. a\n  2. b", PERSON, r#"{"tags":["a","b"]}"#),
        (
            "tags: [\"a, b\", \"c\"]",
            PERSON,
            r#"{"tags":["a, b","c"]}"#,
        ),
        (
            "home\n  street is High St\n  no is 7\nname: x",
            PERSON,
            r#"{"home":{"street":"High St","no":7},"name":"x"}"#,
        ),
        (
            "kids:\n  - name: A\n    age: 1.5\n  - name: B\n    age: 2",
            PERSON,
            r#"{"kids":[{"name":"A","age":1.5},{"name":"B","age":2}]}"#,
        ),
        ("is ok: yes", PERSON, r#"{"is_ok":true}"#),
        (
            "Here is what you asked for:\n\n```nobj\nname: Li\n```\nAnything else?",
            PERSON,
            r#"{"name":"Li"}"#,
        ),
        (
            "Here is the person: enjoy\nname: Li\nI hope that helps: bye",
            PERSON,
            r#"{"name":"Li"}"#,
        ),
        (
            "name: \"\"\"\n  one\n    two\n\"\"\"\nage: 1",
            PERSON,
            r#"{"name":"one\n  two","age":1}"#,
        ),
        ("name: \"\"\"one\"\"\"", PERSON, r#"{"name":"one"}"#),
        ("\"full name\": X\n`n`: 1", "", r#"{"full name":"X","n":1}"#),
        (
            "age is 30 as string\nx as int: 4",
            "",
            r#"{"age":"30","x":4}"#,
        ),
        (
            "a: true\nb: 1.5\nc: \"1\"\nd: 10:30",
            "",
            r#"{"a":true,"b":1.5,"c":"1","d":"10:30"}"#,
        ),
        ("a:\n  b:\n    c is 1", "", r#"{"a":{"b":{"c":1}}}"#),
        ("{\"name\": \"J\"}", PERSON, r#"{"name":"J"}"#),
        ("42", r#"{"type": "number"}"#, "42"),
        (
            "- a\n- b",
            r#"{"type": "array", "items": {"type": "string"}}"#,
            r#"["a","b"]"#,
        ),
        (
            "I do not know",
            PERSON,
            "! no line of the form `name: value` at line 1 column 1 of the answer",
        ),
        (
            "x\nname: \"\"\"\nendless",
            PERSON,
            "! unclosed string: the closing `\"\"\"` is missing at line 2 column 1 of the answer",
        ),
    ] {
        assert_eq!(read(AnswerFormat::NObj, text, schema), expected, "{text}");
    }
}

#[test]
fn hostile_nobj_is_an_answer_or_an_error() {
    let deep: String = (0..5_000)
        .map(|n| format!("{}k:\n", " ".repeat(n.min(300))))
        .collect();
    let stairs: String = (0..60).map(|n| format!("{}k:\n", " ".repeat(n))).collect();
    assert!(
        read(
            AnswerFormat::NObj,
            &format!("{stairs}{}x: 1", " ".repeat(61)),
            ""
        )
        .starts_with("! objects")
    );
    for text in [
        deep,
        "is ".repeat(100_000),
        "\"".repeat(100_000),
        "\n: \n=".repeat(50_000),
    ] {
        for format in [AnswerFormat::NObj, AnswerFormat::Json, AnswerFormat::Yaml] {
            read(format, &text, "");
            read(format, &text, PERSON);
        }
    }
}

#[test]
fn schemas_are_made_valid_and_say_what_breaks_them() {
    let schema = json!({"properties": {
        "n": {"type": "int", "required": true}, "s": "string", "a": {"type": "list", "items": "text"}}});
    let schema = AnswerSchema::new(&schema).unwrap();
    let value = json::parse(r#"{"s": 1, "a": ["x", 2]}"#).unwrap();
    let findings = schema.check(&value).unwrap_err();
    assert_eq!(findings.len(), 3, "{findings:?}");
    for part in [
        "s: 1 is not of type \"string\"",
        "a[1]: 2",
        "\"n\" is a required property",
    ] {
        assert!(
            findings.iter().any(|finding| finding.contains(part)),
            "{part} in {findings:?}"
        );
    }
    let error = AnswerSchema::new(&json!({"properties": {"a": {"type": "strng"}}})).unwrap_err();
    assert!(
        error.starts_with("a: unknown type \"strng\" (did you mean \"string\"?)"),
        "{error}"
    );
}

#[test]
fn providers_get_an_object_and_its_value_is_taken_out_again() {
    let number =
        AnswerSchema::new(&json!({"type": "int", "$defs": {"x": {"type": "int"}}})).unwrap();
    let provided = ProviderSchema::new(number.tree());
    let expected = json!({"type": "object", "$defs": {"x": {"type": "integer"}},
        "properties": {"answer": {"type": "integer"}}, "required": ["answer"],
        "additionalProperties": false});
    assert_eq!(provided.schema, expected);
    assert!(provided.strict && provided.wrapped);
    let wrapped = json::parse(r#"{"answer": 8}"#).unwrap();
    assert_eq!(provided.unwrap(wrapped), Value::Int(8));
    assert_eq!(provided.unwrap(Value::Int(8)), Value::Int(8));
    let object = ProviderSchema::new(&json!({"type": "object", "properties": {"a": {}}}));
    assert!(!object.wrapped && !object.strict);
}

#[test]
fn an_output_is_told_in_words() {
    let schema = json!({"type": "object", "required": ["a"], "properties": {
        "a": {"type": "number", "description": "the A", "minimum": 1},
        "b": {"type": "string", "enum": ["x", "y"]},
        "c": {"type": "array", "items": {"type": "object", "properties": {"d": {"type": "boolean"}}}}}});
    let expected = "An object with these fields:\n\
        - \"a\" (number, required): the A (at least 1)\n\
        - \"b\" (string, optional) (one of \"x\", \"y\")\n\
        - \"c\" (list of object, optional)\n  \
          Each item is object.\n  \
          - \"d\" (boolean, optional)";
    assert_eq!(answer::describe(&schema), expected);
    assert!(answer::section(&schema, AnswerFormat::Json, "no name here").is_none());
    let section = answer::section(&schema, AnswerFormat::Yaml, "").unwrap();
    assert!(section.contains("YAML") && section.ends_with(expected));
    assert!(answer::section(&json!({"type": "number"}), AnswerFormat::Json, "").is_none());
    assert_eq!(
        answer::describe(&json!({"type": "number"})),
        "A value of type number."
    );
}

fn inputs(text: &str) -> Result<Inputs, String> {
    let read = Inputs::read(&json::parse(text).unwrap());
    read.map_err(|problems| problems[0].to_string())
}

fn bind(declared: &str, given: ScriptInput, configured: &str) -> String {
    let configured = json::parse(configured).unwrap();
    let bound = inputs(declared)
        .unwrap()
        .bind(given, configured.as_map().unwrap());
    match bound {
        Ok(bound) => match bound.rest {
            None => json::to_string(&bound.values.into()),
            Some(rest) => format!("rest {}", json::to_string(&rest)),
        },
        Err(problems) => format!("! {}", problems[0]),
    }
}

fn named(text: &str) -> ScriptInput {
    ScriptInput::Named(json::parse(text).unwrap().as_map().unwrap().clone())
}

#[test]
fn inputs_are_bound_by_name_place_and_default() {
    let list = r#"["lang", {"content": {"required": true, "index": 0}}, {"n": {"type": "int", "default": 7}}]"#;
    let map = r#"{"content": {"type": "string", "required": true, "index": 0}, "b": {"value": 8}}"#;
    for (declared, given, configured, expected) in [
        (
            list,
            named(r#"{"content": "x", "n": "3"}"#),
            "{}",
            r#"{"content":"x","n":3}"#,
        ),
        (
            list,
            ScriptInput::Single("x".into()),
            "{}",
            r#"{"content":"x","n":7}"#,
        ),
        (list, ScriptInput::None, r#"{"content": "c"}"#, r#"{"n":7}"#),
        (
            list,
            ScriptInput::None,
            "{}",
            "! input content: missing required value",
        ),
        (
            list,
            named(r#"{"contnt": 1}"#),
            "{}",
            "! input content: missing required value (unknown argument contnt: did you mean content?)",
        ),
        (
            list,
            named(r#"{"content": "x", "n": "many"}"#),
            "{}",
            "! input n: \"many\" is not of type \"integer\"",
        ),
        (
            map,
            ScriptInput::Single(Value::Int(5)),
            "{}",
            r#"{"content":"5","b":8}"#,
        ),
        (
            map,
            ScriptInput::Single(vec![Value::from("p")].into()),
            "{}",
            r#"{"content":"p","b":8}"#,
        ),
        (
            map,
            named(r#"{"content": "x", "other": [1]}"#),
            "{}",
            r#"{"content":"x","other":[1],"b":8}"#,
        ),
        (
            r#"["a"]"#,
            ScriptInput::Single("hello".into()),
            "{}",
            r#"rest "hello""#,
        ),
        (r#""a, b""#, named(r#"{"a": null}"#), "{}", r#"{"a":null}"#),
        (
            r#"[{"c": {"enum": ["x", "y"]}}]"#,
            named(r#"{"c": "z"}"#),
            "{}",
            "! input c: \"z\" is not one of \"x\" or \"y\"",
        ),
        (
            r#"{"l": {"type": "array", "items": {"type": "int"}, "index": 0}}"#,
            ScriptInput::Single(vec![Value::from("1"), Value::Int(2)].into()),
            "{}",
            r#"{"l":[1,2]}"#,
        ),
    ] {
        assert_eq!(
            bind(declared, given.clone(), configured),
            expected,
            "{declared} {given:?}"
        );
    }
}

#[test]
fn declarations_that_cannot_be_meant_are_named() {
    for (declared, expected) in [
        (
            r#"[{"a": {"type": "strng"}}]"#,
            "input a: unknown type \"strng\" (did you mean \"string\"?)",
        ),
        (
            r#"[{"a": {"requird": true}}]"#,
            "input a: unknown key requird (did you mean required?)",
        ),
        (
            r#"[{"a": {"index": -1}}]"#,
            "input a: index must be a whole number from 0, not -1",
        ),
        (
            r#"[{"a": {"index": 0}}, {"b": {"index": 0}}]"#,
            "input b: duplicate index 0: a has the same index",
        ),
        (
            r#"[{"a": {"type": "int", "default": "x"}}]"#,
            "input a: invalid default: ",
        ),
        ("7", "input input: expected a list of names and objects"),
    ] {
        let error = inputs(declared).unwrap_err();
        assert!(error.starts_with(expected), "{error}");
    }
}

#[test]
fn inputs_are_a_tools_parameters() {
    let declared = r#"[{"date": {"default": "today", "example": "2025-02-04"}},
        {"location": {"description": "city", "required": true, "index": 0}}, {"secret": {"hidden": true}}]"#;
    let expected = json!({"type": "object", "required": ["location"], "properties": {
        "location": {"type": "string", "description": "city"},
        "date": {"type": "string", "default": "today", "examples": ["2025-02-04"]}}});
    assert_eq!(inputs(declared).unwrap().to_parameters_schema(), expected);
}

#[test]
fn choices_are_found_in_what_models_write() {
    let fruits = || ["苹果", "香蕉", "Red Orange"].map(str::to_owned).to_vec();
    let one = ChoiceConstraint::one_of(fruits());
    let two = ChoiceConstraint {
        max_pick: 2,
        ..ChoiceConstraint::one_of(fruits())
    };
    for (choice, text, expected) in [
        (&one, "香蕉", Ok("香蕉")),
        (&one, " \"香蕉。\" ", Ok("香蕉")),
        (&one, "**red orange**!", Ok("Red Orange")),
        (&one, r#"{"answer": "苹果"}"#, Ok("苹果")),
        (
            &one,
            "梨",
            Err("\"梨\" is not one of the options: 苹果, 香蕉, Red Orange"),
        ),
        (
            &one,
            "red orang",
            Err("\"red orang\" is not one of the options (did you mean \"Red Orange\"?)"),
        ),
        (&one, "", Err("the answer is empty")),
        (&two, "苹果、香蕉", Ok("苹果, 香蕉")),
        (&two, r#"{"answer": ["香蕉", "苹果"]}"#, Ok("香蕉, 苹果")),
        (
            &two,
            "苹果, 香蕉, red orange",
            Err("too many options: 3 (at most 2)"),
        ),
    ] {
        let found = choice.check(text).map(|picked| choice.text(&picked));
        let expected = expected.map(str::to_owned).map_err(str::to_owned);
        assert_eq!(found, expected, "{text}");
    }
}

#[test]
fn a_draw_is_the_same_for_the_same_seed_and_takes_each_option_once() {
    let choice = ChoiceConstraint {
        max_pick: 3,
        min_pick: 2,
        ..ChoiceConstraint::one_of((0..9).map(|n| n.to_string()).collect())
    };
    let mut seen = Map::default().to_table();
    for seed in 0..200 {
        let drawn = choice.draw(&mut Random::new(seed));
        assert_eq!(drawn, choice.draw(&mut Random::new(seed)));
        assert!((2..=3).contains(&drawn.len()) && drawn[0] != drawn[1]);
        seen.insert(drawn[0].to_string().into(), Value::Null);
    }
    assert_eq!(seen.len(), 9);
}

fn apart(config: &str, text: &str) -> (String, String) {
    let config = json::parse(config).unwrap();
    let (thinking, problems) = ThinkingSettings::read(Some(&config));
    assert!(problems.is_empty(), "{problems:?}");
    let by = |size: usize| {
        let characters: Vec<char> = text.chars().collect();
        let mut splitter = Splitter::new(&thinking);
        let mut thought = String::new();
        let mut said = String::new();
        for piece in characters.chunks(size).map(String::from_iter) {
            let split = splitter.push(&piece);
            thought.push_str(&split.thinking);
            said.push_str(&split.answer);
        }
        let rest = splitter.finish();
        (thought + &rest.thinking, said + &rest.answer)
    };
    let whole = by(usize::MAX);
    assert_eq!(by(1), whole, "{text}");
    assert_eq!(by(3), whole, "{text}");
    (whole.0.trim().to_owned(), whole.1)
}

#[test]
fn thinking_is_told_apart_from_the_answer_in_every_mode() {
    let tags = r#"{"mode": "deep", "thinkTag": ["<think>", "</think>"]}"#;
    let both = r#"{"mode": "first", "thinkTag": ["<t>", "</t>"], "answerTag": ["<a>", "</a>"]}"#;
    let own = r#"{"mode": "first", "thinkTag": "Gedanke", "answerTag": "Antwort"}"#;
    let regex =
        r#"{"mode": "deep", "thinkRegex": "/\\[\\[(.*?)\\]\\]/", "answerRegex": "=> (.*)"}"#;
    for (config, text, thinking, answer) in [
        (
            tags,
            "<think>ponder hard</think>The answer is 4",
            "ponder hard",
            "The answer is 4",
        ),
        (tags, "<think>a</think>\n\nAnswer: 4", "a", "4"),
        (tags, "<think>cut in the mid", "cut in the mid", ""),
        (tags, "no tags at all ", "", "no tags at all"),
        (
            r#""last""#,
            "The answer is 4\n\nThink: because 2+2=4",
            "because 2+2=4",
            "The answer is 4",
        ),
        (r#""last""#, "Answer: 4\n**Thinking:** sums", "sums", "4"),
        (r#""last""#, "四\n\n思考：二加二", "二加二", "四"),
        (
            r#""last""#,
            "I think: not\nThinkers say so\n",
            "",
            "I think: not\nThinkers say so",
        ),
        (
            r#""first""#,
            "Think: 2+2\nis 4\n\nAnswer: 4\nor so",
            "2+2\nis 4",
            "4\nor so",
        ),
        (r#""first""#, "## Think\n2+2\n## Answer\n4", "2+2", "4"),
        (r#""first""#, "It is 2+2.\n答案：4", "It is 2+2.", "4"),
        (r#""first""#, "just 4", "", "just 4"),
        (
            r#""first""#,
            "<think>own</think>\nThink: more\nAnswer: 4",
            "own\nmore",
            "4",
        ),
        (both, "x <t>one</t> y <a>4</a> z", "onex  y  z", "4"),
        (both, "<t>one</t> 4", "one", "4"),
        (
            own,
            "Gedanke: ja\nAntwort: nein\nThink: doch",
            "ja",
            "nein\nThink: doch",
        ),
        (regex, "[[why]] => 4", "why", "4"),
        (
            r#""off""#,
            "<think>model's own</think>\n4 <think> 5",
            "model's own",
            "4 <think> 5",
        ),
        (
            "false",
            "Think: nothing\nAnswer: 4 ",
            "",
            "Think: nothing\nAnswer: 4 ",
        ),
    ] {
        let expected = (thinking.to_owned(), answer.to_owned());
        assert_eq!(apart(config, text), expected, "{config} {text:?}");
    }
}

#[test]
fn what_is_wrong_with_should_think_is_said() {
    for (config, problem) in [
        (r#""deeep""#, "unknown shouldThink mode \"deeep\""),
        (
            r#"{"mode": "first", "thnkTag": "x"}"#,
            "unknown key shouldThink.thnkTag (did you mean thinkTag?)",
        ),
        (
            r#"{"thinkTag": ["a"]}"#,
            "shouldThink.thinkTag must be a string",
        ),
        (
            r#"{"thinkRegex": "(" }"#,
            "shouldThink.thinkRegex: invalid regular expression /(/",
        ),
        (
            "7",
            "shouldThink is ignored: expected true, off, last, first, deep or an object, not integer",
        ),
    ] {
        let (_, problems) = ThinkingSettings::read(Some(&json::parse(config).unwrap()));
        assert!(problems[0].starts_with(problem), "{problems:?}");
    }
}

proptest! {
    /// Any model output is either parsed or rejected, and thinking is found however the text is
    /// split.
    #[test]
    fn nothing_that_a_model_writes_breaks_its_reader(
        pieces in prop::collection::vec(prop::sample::select(&[
            "a", "名", ": ", "：", " is ", "是", "\n", "  ", "- ", "**", "\"\"\"", "\"", "{", "}", "[",
            "]", ",", "、", "```", "<think>", "</think>", "<", "Think:", "Answer", "1", " as int", "=",
        ][..]), 0..40),
    ) {
        let text = pieces.concat();
        for format in [AnswerFormat::Json, AnswerFormat::Yaml, AnswerFormat::NObj] {
            read(format, &text, "");
            read(format, &text, PERSON);
        }
        apart(r#""last""#, &text);
        apart(r#"{"mode": "first", "thinkTag": ["<think>", "</think>"]}"#, &text);
        apart(r#"{"mode": "deep", "answerTag": ["<", "</think>"]}"#, &text);
    }
}
