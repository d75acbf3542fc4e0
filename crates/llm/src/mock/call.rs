//! Selects the tool that the mock calls, and its arguments. The rules are simple, so an offline run
//! exercises tools and always gives the same result.
//!
//! **Tool**: the one in `tool_choice`, or the one with the most words in common with the question.
//! A word of the tool's name counts twice, a word of its description once; the first tool wins a
//! tie. If no words match, no tool is called, or the first one if a call is required. Text without
//! spaces between words (Chinese) is compared by pairs of characters.
//!
//! **Arguments**: the required properties of the schema. If there are none, the first text property
//! is used, provided that the question contains a quoted or capitalized word. For an `enum` the
//! value is the one that occurs in the question, or the first; a `const` or `default` is used as
//! is. A number takes the next number of the question. A text takes the quoted part of the
//! question; a path or address if the property name asks for one; the whole question if the name
//! suggests it (`query`, `text` …); otherwise the last capitalized word, or the question.

use std::collections::HashSet;

use quillet_core::chat::{ChatRequest, ToolChoice, ToolOffer};
use quillet_core::{Role, ToolCall};
use serde_json::{Map, Value, json};

/// Words without meaning for the comparison.
const EMPTY: [&str; 26] = [
    "and", "are", "but", "can", "could", "did", "does", "for", "from", "had", "has", "have", "how",
    "please", "tell", "that", "the", "this", "use", "was", "what", "when", "where", "which",
    "with", "you",
];
/// Names of arguments that receive the whole question.
const WHOLE: [&str; 8] = [
    "query", "question", "text", "prompt", "input", "message", "search", "content",
];
/// Parts of argument names that ask for a path or an address.
const PLACES: [&str; 5] = ["path", "file", "directory", "url", "uri"];
/// Maximum depth of a schema.
const DEEPEST: usize = 8;

/// Returns the call that answers this request, or `None` if the mock answers with text.
pub(super) fn choose(request: &ChatRequest, id: String) -> Option<ToolCall> {
    let last = request.messages.last()?;
    if last.role != Role::User {
        return None;
    }
    let question = last.content.to_string();
    let offer = pick(request, &question)?;
    let ToolOffer::Function {
        name, parameters, ..
    } = offer
    else {
        return None;
    };
    let arguments = Filler::new(&question).object(parameters, 0);
    Some(ToolCall {
        id,
        name: name.clone(),
        arguments: arguments.to_string(),
    })
}

fn pick<'a>(request: &'a ChatRequest, question: &str) -> Option<&'a ToolOffer> {
    let options = &request.options;
    let mut offers = options.tools.iter().filter(|offer| offer.name().is_some());
    match &options.tool_choice {
        Some(ToolChoice::None) => return None,
        Some(ToolChoice::Named(name)) => return offers.find(|offer| offer.name() == Some(name)),
        _ => {}
    }
    let asked = words(question);
    let mut best: Option<(usize, &ToolOffer)> = None;
    for offer in offers.clone() {
        let points = points(offer, &asked);
        if points > best.map_or(0, |(most, _)| most) {
            best = Some((points, offer));
        }
    }
    let has_to = options.tool_choice == Some(ToolChoice::Required);
    let first = offers.next().filter(|_| has_to);
    best.map(|(_, offer)| offer).or(first)
}

fn points(offer: &ToolOffer, asked: &HashSet<String>) -> usize {
    let ToolOffer::Function {
        name, description, ..
    } = offer
    else {
        return 0;
    };
    let name = words(name);
    let description = words(description);
    let said = description.difference(&name);
    2 * name.intersection(asked).count() + said.filter(|word| asked.contains(*word)).count()
}

/// Returns lowercase words of at least three letters, without a plural `s`. Words that are not
/// ASCII are split into pairs of characters.
fn words(text: &str) -> HashSet<String> {
    let mut words = HashSet::new();
    for word in text.to_lowercase().split(|c: char| !c.is_alphanumeric()) {
        if word.is_ascii() {
            if word.len() >= 3 && !EMPTY.contains(&word) {
                words.insert(word.strip_suffix('s').unwrap_or(word).to_owned());
            }
            continue;
        }
        let characters: Vec<char> = word.chars().collect();
        words.extend(characters.windows(2).map(|pair| pair.iter().collect()));
    }
    words
}

/// Fills in arguments from a question.
struct Filler<'a> {
    question: &'a str,
    numbers: Vec<serde_json::Number>,
    /// How many numbers of the question are used.
    used: usize,
}

impl<'a> Filler<'a> {
    fn new(question: &'a str) -> Self {
        let digits = |c: char| !(c.is_ascii_digit() || c == '.' || c == '-');
        let numbers = question.split(digits);
        let numbers = numbers.filter_map(|text| text.trim_end_matches(['.', '-']).parse().ok());
        Filler {
            question,
            numbers: numbers.collect(),
            used: 0,
        }
    }

    fn object(&mut self, schema: &Value, depth: usize) -> Value {
        let mut object = Map::new();
        let required = schema["required"].as_array().map_or(&[][..], Vec::as_slice);
        for name in required.iter().filter_map(Value::as_str) {
            let value = self.value(name, &schema["properties"][name], depth + 1);
            object.insert(name.to_owned(), value);
        }
        if object.is_empty()
            && let Some(name) = self.meant(schema)
        {
            object.insert(name.to_owned(), Value::String(self.text(name)));
        }
        Value::Object(object)
    }

    /// Returns the first free text property, if the question contains a quoted or capitalized word.
    fn meant<'s>(&self, schema: &'s Value) -> Option<&'s str> {
        let names_something = self.question.contains('"') || self.capitalised().is_some();
        let properties = schema["properties"].as_object()?;
        let free = |schema: &Value| kind(schema) == "string" && schema["enum"].is_null();
        let first = properties.iter().find(|(_, schema)| free(schema))?;
        names_something.then_some(first.0.as_str())
    }

    fn value(&mut self, name: &str, schema: &Value, depth: usize) -> Value {
        if depth > DEEPEST {
            return Value::Null;
        }
        if let Some(value) = self.given(schema) {
            return value;
        }
        match kind(schema) {
            "integer" | "number" => self.number(schema),
            "boolean" => Value::Bool(true),
            "array" => json!([self.value(name, &schema["items"], depth + 1)]),
            "object" => self.object(schema, depth),
            "null" => Value::Null,
            _ => Value::String(self.text(name)),
        }
    }

    /// Returns the value that the schema determines: a choice, a constant or a default.
    fn given(&self, schema: &Value) -> Option<Value> {
        let question = self.question.to_lowercase();
        let named = |value: &&Value| {
            let text = value.as_str().map(str::to_lowercase);
            text.is_some_and(|text| question.contains(&text))
        };
        let choices = schema["enum"].as_array().map_or(&[][..], Vec::as_slice);
        let choice = choices.iter().find(named).or(choices.first());
        let others = || schema.get("const").or(schema.get("default"));
        choice.or_else(others).cloned()
    }

    fn number(&mut self, schema: &Value) -> Value {
        let next = self.numbers.get(self.used).cloned();
        self.used += 1;
        let fits = next.filter(|number| kind(schema) == "number" || !number.is_f64());
        match fits {
            Some(number) => Value::Number(number),
            None => schema.get("minimum").cloned().unwrap_or(json!(1)),
        }
    }

    fn text(&self, name: &str) -> String {
        let name = name.to_lowercase();
        if let Some(quoted) = self
            .question
            .split('"')
            .nth(1)
            .filter(|text| !text.is_empty())
        {
            return quoted.to_owned();
        }
        if PLACES.iter().any(|place| name.contains(place))
            && let Some(place) = self.question.split_whitespace().find_map(place)
        {
            return place.to_owned();
        }
        match self.capitalised() {
            Some(word) if !WHOLE.contains(&name.as_str()) => word.to_owned(),
            _ => self.question.to_owned(),
        }
    }

    /// Returns the last capitalized word, except for the first word of the question.
    fn capitalised(&self) -> Option<&'a str> {
        let words = self.question.split_whitespace().skip(1);
        let words = words.map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()));
        words
            .filter(|word| word.starts_with(char::is_uppercase) && word.chars().count() > 1)
            .last()
    }
}

/// Returns a word that looks like a path or an address.
fn place(word: &str) -> Option<&str> {
    let word = word.trim_end_matches(['.', ',', '?', '!', ':', ';']);
    word.contains(['/', '.']).then_some(word)
}

/// Returns the first type of a schema that is not `null`.
fn kind(schema: &Value) -> &str {
    let is_null = |kind: &&str| *kind == "null";
    match &schema["type"] {
        Value::String(kind) => kind,
        Value::Array(kinds) => {
            let mut kinds = kinds.iter().filter_map(Value::as_str);
            kinds.find(|kind| !is_null(kind)).unwrap_or("null")
        }
        _ => "string",
    }
}

#[cfg(test)]
mod tests {
    use quillet_core::Message;
    use quillet_core::chat::ChatOptions;

    use super::*;

    fn offer(name: &str, description: &str, parameters: Value) -> ToolOffer {
        ToolOffer::Function {
            name: name.to_owned(),
            description: description.to_owned(),
            parameters,
            strict: None,
            extra: serde_json::Map::new(),
        }
    }

    fn offers() -> Vec<ToolOffer> {
        let one = |name: &str, kind: &str| json!({"type": "object", "required": [name], "properties": {name: {"type": kind}}});
        vec![
            offer(
                "silent_exit",
                "Ends the run without an answer.",
                json!(null),
            ),
            offer(
                "get_weather",
                "Says how the weather is in a city.",
                one("city", "string"),
            ),
            offer("web_search", "Searches the web.", one("query", "string")),
            offer(
                "read_file",
                "Reads a file of the workspace.",
                one("file_path", "string"),
            ),
            offer("查询天气", "查询一个城市的天气", one("question", "string")),
        ]
    }

    fn called(question: &str, choice: Option<ToolChoice>) -> Option<(String, String)> {
        let request = ChatRequest {
            model: None,
            messages: vec![Message::new(Role::User, question)],
            options: ChatOptions {
                tools: offers(),
                tool_choice: choice,
                ..ChatOptions::default()
            },
        };
        choose(&request, "call_1".to_owned()).map(|call| (call.name, call.arguments))
    }

    #[test]
    fn the_tool_with_the_most_common_words_is_called() {
        for (question, expected) in [
            (
                "What is the weather in Paris?",
                Some(("get_weather", r#"{"city":"Paris"}"#)),
            ),
            (
                "search the web for rust news",
                Some(("web_search", r#"{"query":"search the web for rust news"}"#)),
            ),
            (
                "Read the file docs/notes.md, please",
                Some(("read_file", r#"{"file_path":"docs/notes.md"}"#)),
            ),
            (
                r#"Search the web for "late binding""#,
                Some(("web_search", r#"{"query":"late binding"}"#)),
            ),
            (
                "北京今天天气怎么样",
                Some(("查询天气", r#"{"question":"北京今天天气怎么样"}"#)),
            ),
            ("Hello there", None),
        ] {
            let expected =
                expected.map(|(name, arguments)| (name.to_owned(), arguments.to_owned()));
            assert_eq!(called(question, None), expected, "{question}");
        }
    }

    #[test]
    fn the_choice_of_the_request_counts() {
        let weather = "What is the weather in Paris?";
        assert_eq!(called(weather, Some(ToolChoice::None)), None);
        let named = called(weather, Some(ToolChoice::Named("web_search".to_owned())));
        assert_eq!(named.unwrap().0, "web_search");
        assert_eq!(
            called(weather, Some(ToolChoice::Named("none".to_owned()))),
            None
        );
        let required = called("Hello there", Some(ToolChoice::Required));
        assert_eq!(required, Some(("silent_exit".to_owned(), "{}".to_owned())));
    }

    #[test]
    fn an_optional_text_is_given_where_the_question_names_something() {
        let schema = json!({"type": "object", "properties": {
            "times": {"type": "integer"}, "name": {"type": "string", "default": "the world"}}});
        let filled = |question: &str| Filler::new(question).object(&schema, 0);
        assert_eq!(filled("Say hello to Ada"), json!({"name": "Ada"}));
        assert_eq!(filled("Say hello"), json!({}));
    }

    #[test]
    fn required_arguments_are_filled_by_their_types() {
        let schema = json!({
            "type": "object",
            "required": ["unit", "days", "factor", "exact", "places", "more", "left", "none"],
            "properties": {
                "unit": {"enum": ["kelvin", "celsius"]},
                "days": {"type": "integer"},
                "factor": {"type": ["null", "number"]},
                "exact": {"type": "boolean"},
                "places": {"type": "array", "items": {"type": "string"}},
                "more": {"type": "object", "required": ["limit"], "properties": {"limit": {"type": "integer", "minimum": 5}}},
                "left": {"type": "string", "default": "so"},
            },
        });
        let mut filler = Filler::new("In Celsius: 3 days in Rome, times 1.5.");
        let expected = json!({
            "unit": "celsius", "days": 3, "factor": 1.5, "exact": true, "places": ["Rome"],
            "more": {"limit": 5}, "left": "so", "none": "Rome",
        });
        assert_eq!(filler.object(&schema, 0), expected);
    }

    #[test]
    fn schemas_of_any_depth_are_survived() {
        let mut schema = json!({"type": "string"});
        for _ in 0..100 {
            schema = json!({"type": "object", "required": ["a"], "properties": {"a": schema}});
        }
        assert!(
            Filler::new("hi")
                .object(&schema, 0)
                .to_string()
                .contains("null")
        );
    }
}
