//! Argument strings: recorded vectors, and cases that the vectors do not cover.

use std::path::Path;
use std::sync::Arc;

use quillet_core::{Map, MapTable, Span, Value, json};
use quillet_script::argument::{
    Argument, ArgumentSlot, ArgumentValue, Arguments, BareWordPolicy, EvaluatedArguments, parse,
    parse_command, parse_with,
};
use quillet_script::expression::{EvalError, ParsedExpression};

use crate::quickjs;

fn span_of(text: &str) -> Span {
    Span {
        start: 0,
        end: text.len(),
    }
}

/// A recorded vector: the parsed text, its names, and the options of the other library.
struct Vector {
    row: Map,
}

impl Vector {
    fn text(&self, key: &str) -> &str {
        self.row.get(key).and_then(Value::as_str).unwrap_or("")
    }

    fn scope(&self) -> Map {
        let scope = self.row.get("scope").and_then(Value::as_map);
        let data = self.option("templateData").and_then(Value::as_map);
        scope.or(data).cloned().unwrap_or_default()
    }

    fn option(&self, name: &str) -> Option<&Value> {
        self.row.get("options")?.as_map()?.get(name)
    }

    fn is_on(&self, name: &str) -> bool {
        self.option(name) == Some(&Value::Bool(true))
    }

    fn processor(&self) -> &str {
        self.option("argProcessor")
            .and_then(Value::as_str)
            .unwrap_or("")
    }

    fn outcome(&self) -> Option<Value> {
        let input = self.text("input");
        if self.text("fn") == "parseCommand" {
            let command = parse_command(input, span_of(input), BareWordPolicy::Refused).unwrap();
            let args = self.bound(&command.arguments);
            let entries = [("command", Some(command.name.into())), ("args", args)];
            let present = entries.into_iter().filter_map(|(k, v)| Some((k, v?)));
            return Some(Value::Map(present.collect()));
        }
        // Other delimiters are an option of the library, not of the language.
        let input = match self.option("delimiter") {
            Some(_) => input.replace(';', ",").replace(':', "="),
            None => input.to_owned(),
        };
        self.bound(&parse(&input, span_of(&input)).unwrap())
    }

    fn bound(&self, arguments: &Arguments) -> Option<Value> {
        let bound = EvaluatedArguments::new(arguments.items.iter().map(|argument| {
            let (slot, value) = self.evaluated(argument);
            (self.slot(slot), value)
        }));
        self.shaped(&bound)
    }

    /// That library can omit names or positions; this crate always returns both.
    fn slot(&self, slot: ArgumentSlot) -> ArgumentSlot {
        match slot {
            ArgumentSlot::PlaceAndName(name) if self.is_on("excludeAutoNamedFromPositional") => {
                ArgumentSlot::Name(name)
            }
            ArgumentSlot::PlaceAndName(_)
                if self.option("idAsName") == Some(&Value::Bool(false)) =>
            {
                ArgumentSlot::Place
            }
            ArgumentSlot::Name(name)
                if self.option("namedExcludePositional") == Some(&Value::Bool(false)) =>
            {
                ArgumentSlot::PlaceAndName(name)
            }
            slot => slot,
        }
    }

    fn shaped(&self, bound: &EvaluatedArguments) -> Option<Value> {
        let positional = || {
            let items = bound
                .positional
                .iter()
                .map(|v| v.clone().unwrap_or_default());
            Value::from(items.collect::<Vec<_>>())
        };
        let simplify = match self.option("simplify") {
            None | Some(Value::Bool(true)) => return bound.value(),
            Some(Value::Map(simplify)) => simplify.clone(),
            Some(_) => return Some(Value::Map(bound.object())),
        };
        bound.value()?;
        match simplify.get("mode").and_then(Value::as_str) {
            Some("array") => Some(positional()),
            Some("map") => {
                let named = Value::Map(Map::new(bound.named.clone()));
                let entries = [("args", positional()), ("namedArgs", named)];
                Some(Value::Map(entries.into_iter().collect()))
            }
            None if simplify.get("singleValue").is_some() => Some(positional()),
            _ => Some(Value::Map(bound.object())),
        }
    }

    fn evaluated(&self, argument: &Argument) -> (ArgumentSlot, Option<Value>) {
        let as_text = |slot| (slot, Some(Value::Str(Arc::clone(&argument.text))));
        match &argument.value {
            ArgumentValue::Choice(choice) if !self.processor().is_empty() => {
                let items = choice.items.iter().map(|item| match item {
                    ArgumentValue::Literal(value) => value.clone(),
                    other => panic!("{other:?}"),
                });
                (argument.slot(), Some(choice.to_value(items.collect())))
            }
            ArgumentValue::Choice(_) => as_text(ArgumentSlot::Place),
            _ if self.is_on("skipExpression") => as_text(argument.slot()),
            ArgumentValue::Expression(_) => self.expression(argument),
            value => (argument.slot(), self.plain(value)),
        }
    }

    fn plain(&self, value: &ArgumentValue) -> Option<Value> {
        match value {
            ArgumentValue::Literal(value) => Some(value.clone()),
            ArgumentValue::Text(text) => Some(Value::Str(Arc::clone(text))),
            ArgumentValue::Template(text) if self.processor().is_empty() => {
                Some(Value::Str(Arc::clone(text)))
            }
            ArgumentValue::Template(text) => Some(self.rendered(text)),
            _ => None,
        }
    }

    /// These few templates contain only expressions that JavaScript template literals support too.
    fn rendered(&self, template: &str) -> Value {
        let script = template
            .replace("{{", "${")
            .replace("}}", "}")
            .replace('\n', "\\n");
        quickjs::evaluate(&format!("`{script}`"), &self.scope())
            .unwrap()
            .unwrap()
    }

    fn expression(&self, argument: &Argument) -> (ArgumentSlot, Option<Value>) {
        let ArgumentValue::Expression(parsed) = &argument.value else {
            panic!()
        };
        let ParsedExpression::Native(expression) = parsed else {
            let value = quickjs::evaluate(&argument.text, &self.scope()).unwrap();
            return (argument.slot(), value);
        };
        match expression.evaluate(&self.scope()) {
            Ok(value) => (argument.slot(), value),
            Err(EvalError::Unknown { .. }) if self.is_on("preserveUnresolvedName") => (
                ArgumentSlot::Place,
                Some(Value::Str(Arc::clone(&argument.text))),
            ),
            // The library evaluates an unknown name to `undefined`, but in a run it is an error.
            Err(EvalError::Unknown { .. }) => (argument.slot(), None),
            Err(error) => panic!("{}: {error:?}", argument.text),
        }
    }
}

/// A value cannot represent `undefined`: such a field is omitted, and such an item is null.
fn plain_value(value: &Value) -> Option<Value> {
    match value {
        Value::Map(map) if map.get("$undefined").is_some() => None,
        Value::Map(map) if map.get("$num").is_some() => Some(Value::Float(f64::NAN)),
        Value::Map(map) => {
            let entries = map
                .iter()
                .filter_map(|(k, v)| Some((Arc::clone(k), plain_value(v)?)));
            Some(Value::Map(Map::new(entries.collect::<MapTable>())))
        }
        Value::List(list) => {
            let items = list
                .iter()
                .map(|item| plain_value(item).unwrap_or_default());
            Some(Value::from(items.collect::<Vec<_>>()))
        }
        value => Some(value.clone()),
    }
}

fn same(a: &Option<Value>, b: &Option<Value>) -> bool {
    let nan = |value: &Option<Value>| matches!(value, Some(Value::Float(n)) if n.is_nan());
    a == b || nan(a) && nan(b)
}

#[test]
fn all_recorded_argument_strings_mean_what_they_meant() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../../shared/vectors/ppe/vectors/argument_strings.json");
    let Ok(text) = std::fs::read_to_string(&path) else {
        println!("left out: the recorded argument strings are not here");
        return;
    };
    let Ok(Value::List(rows)) = json::parse(&text) else {
        panic!("the vectors are a list")
    };
    assert_eq!(rows.len(), 106);
    let mut wrong = Vec::new();
    for row in rows.iter() {
        let vector = Vector {
            row: row.as_map().unwrap().clone(),
        };
        let expected = plain_value(vector.row.get("result").unwrap());
        let outcome = vector.outcome();
        if !same(&outcome, &expected) {
            wrong.push(format!("{row:?}\n  gives {outcome:?}"));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} differ:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

fn only(text: &str) -> Argument {
    let arguments = parse(text, span_of(text)).unwrap();
    assert_eq!(arguments.items.len(), 1, "{text}");
    arguments.items[0].clone()
}

#[test]
fn choices_are_read_with_their_parameters() {
    for (text, expected) in [
        (
            "|苹果|香蕉|橙子:type='random'",
            r#"{"items":["苹果","香蕉","橙子"],"type":"random"}"#,
        ),
        (
            "|苹果|香蕉：random",
            r#"{"items":["苹果","香蕉"],"type":"random"}"#,
        ),
        (
            "|你好，世界|时间：现在",
            r#"{"items":["你好，世界","时间：现在"]}"#,
        ),
        (
            r#"|"a|b"|'c:d':2:";":minPick=1:prefix="- ":suffix=".""#,
            r#"{"items":["a|b","c:d"],"maxPick":2,"minPick":1,"separator":";","prefix":"- ","suffix":"."}"#,
        ),
        ("|it's|not", r#"{"items":["it's","not"]}"#),
    ] {
        let ArgumentValue::Choice(choice) = only(text).value else {
            panic!("{text}")
        };
        let items = choice.items.iter().map(|item| match item {
            ArgumentValue::Literal(value) => value.clone(),
            other => panic!("{other:?}"),
        });
        let value = choice.to_value(items.collect());
        assert_eq!(value, json::parse(expected).unwrap(), "{text}");
    }
}

#[test]
fn a_choice_keeps_options_of_the_model() {
    let ArgumentValue::Choice(choice) = only("|a|?=b+1|{{c}}:temperature=0.1").value else {
        panic!()
    };
    assert_eq!(choice.options[0].name.as_deref(), Some("temperature"));
    assert!(matches!(choice.items[1], ArgumentValue::Expression(_)));
    assert!(matches!(choice.items[2], ArgumentValue::Template(_)));
}

#[test]
fn full_width_marks_stand_for_their_narrow_forms() {
    let text = "“值”，名字＝‘甲，乙’，3";
    let arguments = parse(text, span_of(text)).unwrap();
    let bound = EvaluatedArguments::new(arguments.items.iter().map(
        |argument| match &argument.value {
            ArgumentValue::Literal(value) => (argument.slot(), Some(value.clone())),
            other => panic!("{other:?}"),
        },
    ));
    let expected = json::parse(r#"{"0":"值","1":3,"名字":"甲，乙"}"#).unwrap();
    assert_eq!(bound.value(), Some(expected));
    let command = parse_command("$问（“你好”）", Span::default(), BareWordPolicy::Refused).unwrap();
    assert_eq!((&*command.name, command.arguments.items.len()), ("$问", 1));
}

#[test]
fn places_point_into_the_file() {
    let text = "a, key = nobody.x";
    let base = Span {
        start: 100,
        end: 100 + text.len(),
    };
    let second = parse(text, base).unwrap().items[1].clone();
    assert_eq!(
        second.span,
        Span {
            start: 103,
            end: 117
        }
    );
    assert_eq!(
        second.value_span,
        Span {
            start: 109,
            end: 117
        }
    );
    assert_eq!(
        second.place(Span { start: 7, end: 8 }),
        Span {
            start: 116,
            end: 117
        }
    );
    // With YAML escapes, the text differs from the file.
    let escaped = parse(text, Span { start: 5, end: 90 }).unwrap();
    assert_eq!(escaped.items[1].span, Span { start: 5, end: 90 });
}

#[test]
fn what_is_no_argument_says_so() {
    for (text, message, start) in [
        (
            "hello world",
            "invalid value `hello world`: unexpected `world`",
            6,
        ),
        ("1, (2", "invalid value `(2`: `)` is missing", 3),
        ("|", "a choice needs at least one option", 0),
        ("|a|b:randm", "unknown parameter `randm` of a choice", 5),
        (
            "|a|b:maxpick=2",
            "unknown parameter `maxpick` of a choice",
            5,
        ),
        (
            "|a|b:maxPick=many",
            "`maxPick` of a choice must be a whole number, not `many`",
            5,
        ),
    ] {
        let error = parse(text, span_of(text)).unwrap_err();
        assert_eq!(
            (&*error.message, error.span.start),
            (message, start),
            "{text}"
        );
    }
    let words = parse_with("my notes.txt", Span::default(), BareWordPolicy::Text).unwrap();
    assert!(
        matches!(&words.items[0].value, ArgumentValue::Text(text) if &**text == "my notes.txt")
    );
    for text in ["", "(1)", "f(1", "f(1) g", "f g(1)"] {
        assert!(
            parse_command(text, span_of(text), BareWordPolicy::Refused).is_err(),
            "{text}"
        );
    }
}

#[test]
fn hostile_text_costs_no_more_than_its_length() {
    for unit in ["“", "'", "(", "|", "：", ",", "{{", "\\", "@(", "=", "|a:"] {
        let text = unit.repeat(50_000);
        let _ = parse(&text, span_of(&text));
        let _ = parse_command(&text, span_of(&text), BareWordPolicy::Text);
    }
}
