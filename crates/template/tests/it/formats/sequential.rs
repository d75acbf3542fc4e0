//! Checks that a render gives the same text and makes the same calls as a sequential render,
//! however long the tools take.
//!
//! The tests generate random programs of a small language, write them in each format, and render
//! them with tools that take random times. A short interpreter without concurrency computes the
//! expected output.

use std::fmt::Write as _;
use std::sync::Mutex;
use std::time::Duration;

use quillet_core::{BoxFuture, Map, Value, json};
use quillet_template::{CallArguments, CallError, FunctionHost, RenderLimits};

use super::{compile, generous, rows, run};

/// Number of programs per format, unless `SEQUENTIAL_COUNT` is set.
const COUNT: u64 = 300;

/// Programs use the numbers below this one. The range is small, so call chains end and calls repeat
/// often.
const NUMBERS: i64 = 4;

#[derive(Clone, Debug)]
enum Number {
    Plain(i64),
    /// The variable of an enclosing loop, by number of levels outward.
    Turn(usize),
    /// A variable that may be set.
    Set(usize),
    Of(Box<Object>),
}

/// The result of `f`, or of the idempotent `k`.
#[derive(Clone, Debug)]
struct Object {
    shared: bool,
    argument: Number,
}

#[derive(Clone, Debug)]
enum Text {
    Number(Number),
    /// The object itself, which prints as its field `result`.
    Whole(Object),
    Result(Object),
    /// The result of `g`.
    Bracketed(Box<Text>),
}

#[derive(Clone, Debug)]
enum Condition {
    Ok(Object),
    And(Vec<Condition>),
    Or(Vec<Condition>),
}

#[derive(Clone, Debug)]
enum Statement {
    Literal,
    Print(Text),
    If(Condition, Vec<Statement>, Vec<Statement>),
    For(Object, Vec<Statement>),
    /// Leaves the loop.
    BreakIf(Condition),
    Set(usize, Number),
    /// A separate template that reads the result of a call and prints it in brackets.
    Apart(Number),
}

/// A deterministic generator of random numbers.
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % most
    }
}

/// Features of a format besides conditions and loops.
#[derive(Clone, Copy)]
struct Has {
    sets: bool,
    /// Whether a variable set in a loop keeps its value after the loop.
    sets_in_loops: bool,
    logic: bool,
}

fn has(format: &str) -> Option<Has> {
    let (sets, sets_in_loops, logic) = match format {
        "go" => (true, true, true),
        "jinja" => (true, false, true),
        "handlebars" => (false, false, false),
        "liquid" => (true, true, false),
        _ => return None,
    };
    Some(Has {
        sets,
        sets_in_loops,
        logic,
    })
}

struct Author {
    dice: Dice,
    has: Has,
}

impl Author {
    fn number(&mut self, loops: usize, depth: usize) -> Number {
        match self.dice.below(6) {
            0 | 1 if loops > 0 => Number::Turn(self.dice.below(loops)),
            2 | 3 if depth > 0 => Number::Of(Box::new(self.object(loops, depth - 1))),
            4 if self.has.sets => Number::Set(self.dice.below(2)),
            _ => Number::Plain(self.dice.below(NUMBERS as usize) as i64),
        }
    }

    fn object(&mut self, loops: usize, depth: usize) -> Object {
        Object {
            shared: self.dice.below(3) == 0,
            argument: self.number(loops, depth),
        }
    }

    fn text(&mut self, loops: usize, depth: usize) -> Text {
        match self.dice.below(5) {
            0 => Text::Number(self.number(loops, depth)),
            1 => Text::Whole(self.object(loops, depth)),
            2 if depth > 0 => Text::Bracketed(Box::new(self.text(loops, depth - 1))),
            _ => Text::Result(self.object(loops, depth)),
        }
    }

    fn condition(&mut self, loops: usize, depth: usize) -> Condition {
        let logic = if self.has.logic && depth > 0 { 4 } else { 1 };
        let roll = self.dice.below(logic);
        let mut parts = || {
            (0..2 + self.dice.below(2))
                .map(|_| self.condition(loops, depth - 1))
                .collect()
        };
        match roll {
            2 => Condition::And(parts()),
            3 => Condition::Or(parts()),
            _ => Condition::Ok(self.object(loops, depth)),
        }
    }

    fn body(&mut self, loops: usize, depth: usize) -> Vec<Statement> {
        let many = 1 + self.dice.below(if loops == 0 { 5 } else { 3 });
        (0..many).map(|_| self.statement(loops, depth)).collect()
    }

    fn statement(&mut self, loops: usize, depth: usize) -> Statement {
        let can_set = self.has.sets && (loops == 0 || self.has.sets_in_loops);
        match self.dice.below(10) {
            0 => Statement::Literal,
            1 | 2 if depth > 0 => Statement::If(
                self.condition(loops, 1),
                self.body(loops, depth - 1),
                self.body(loops, depth - 1),
            ),
            3 | 4 if depth > 0 && loops < 2 => {
                let over = self.object(loops, 1);
                Statement::For(over, self.body(loops + 1, depth - 1))
            }
            5 if loops > 0 && self.has.logic => Statement::BreakIf(self.condition(loops, 1)),
            6 | 7 if can_set => Statement::Set(self.dice.below(2), self.number(loops, 1)),
            8 if self.has.sets => Statement::Apart(self.number(loops, 1)),
            _ => Statement::Print(self.text(loops, 2)),
        }
    }
}

/// The sequential interpreter, with its output and calls.
#[derive(Default)]
struct Sequential {
    out: String,
    calls: Vec<String>,
    turns: Vec<i64>,
    set: [i64; 2],
}

impl Sequential {
    fn number(&mut self, number: &Number) -> i64 {
        match number {
            Number::Plain(number) => *number,
            Number::Turn(up) => self.turns[self.turns.len() - 1 - up],
            Number::Set(which) => self.set[*which],
            Number::Of(object) => self.object(object),
        }
    }

    /// Calls the function of an object and returns the number in its result.
    fn object(&mut self, object: &Object) -> i64 {
        let number = self.number(&object.argument);
        let call = format!("{} {number}", if object.shared { "k" } else { "f" });
        if !object.shared || !self.calls.contains(&call) {
            self.calls.push(call);
        }
        number_of(number)
    }

    fn text(&mut self, text: &Text) -> String {
        match text {
            Text::Number(number) => self.number(number).to_string(),
            Text::Whole(object) | Text::Result(object) => format!("r{}", self.object(object)),
            Text::Bracketed(text) => {
                let text = self.text(text);
                self.calls.push(format!("g {text}"));
                format!("[{text}]")
            }
        }
    }

    fn condition(&mut self, condition: &Condition) -> bool {
        match condition {
            Condition::Ok(object) => self.object(object) % 2 == 0,
            Condition::And(all) => all.iter().all(|it| self.condition(it)),
            Condition::Or(all) => all.iter().any(|it| self.condition(it)),
        }
    }

    /// Runs a body. Returns whether the loop continues.
    fn body(&mut self, body: &[Statement]) -> bool {
        body.iter().all(|it| self.statement(it))
    }

    fn statement(&mut self, statement: &Statement) -> bool {
        match statement {
            Statement::Literal => self.out.push('-'),
            Statement::Print(text) => {
                let text = self.text(text);
                self.out.push_str(&text);
            }
            Statement::If(condition, then, otherwise) => {
                let taken = if self.condition(condition) {
                    then
                } else {
                    otherwise
                };
                return self.body(taken);
            }
            Statement::For(over, body) => {
                let number = self.object(over);
                for turn in items(number) {
                    self.turns.push(turn);
                    let goes_on = self.body(body);
                    self.turns.pop();
                    if !goes_on {
                        break;
                    }
                }
            }
            Statement::BreakIf(condition) => return !self.condition(condition),
            Statement::Set(which, number) => self.set[*which] = self.number(number),
            Statement::Apart(number) => {
                let argument = Number::Plain(self.number(number));
                let object = Object {
                    shared: false,
                    argument,
                };
                let text = self.text(&Text::Bracketed(Box::new(Text::Result(object))));
                self.out.push_str(&text);
            }
        }
        true
    }
}

/// Returns the number that `f` computes from its argument.
fn number_of(number: i64) -> i64 {
    (number * 3 + 1) % NUMBERS
}

fn items(number: i64) -> Vec<i64> {
    (0..number % 3)
        .map(|item| (number + item) % NUMBERS)
        .collect()
}

/// Writes a program in a format.
struct Writer<'f> {
    format: &'f str,
    loops: usize,
    /// Number of names assigned to call results.
    names: usize,
    out: String,
}

impl Writer<'_> {
    fn is(&self, format: &str) -> bool {
        self.format == format
    }

    fn number(&mut self, number: &Number) -> String {
        let dollar = if self.is("go") { "$" } else { "" };
        match number {
            Number::Plain(number) => number.to_string(),
            Number::Turn(up) => format!("{dollar}l{}", self.loops - 1 - up),
            Number::Set(which) => format!("{dollar}s{which}"),
            Number::Of(object) => self.field(object, "n"),
        }
    }

    fn object(&mut self, object: &Object) -> String {
        let name = if object.shared { "k" } else { "f" };
        let argument = self.number(&object.argument);
        self.call(name, &argument)
    }

    fn call(&mut self, name: &str, argument: &str) -> String {
        match self.format {
            "jinja" => format!("{name}({argument})"),
            // In Liquid a call is a filter and cannot be part of a condition, so its result is
            // assigned first.
            "liquid" => {
                self.names += 1;
                let result = format!("r{}", self.names);
                let assign = format!("{{% assign {result} = {argument} | {name} %}}");
                self.out.push_str(&assign);
                result
            }
            _ => format!("({name} {argument})"),
        }
    }

    fn field(&mut self, object: &Object, field: &str) -> String {
        let object = self.object(object);
        match self.format {
            "go" | "liquid" => format!("{object}.{field}"),
            "jinja" => format!("{object}['{field}']"),
            _ => format!("(lookup {object} '{field}')"),
        }
    }

    fn text(&mut self, text: &Text) -> String {
        match text {
            Text::Number(number) => self.number(number),
            Text::Whole(object) => self.object(object),
            Text::Result(object) => self.field(object, "result"),
            Text::Bracketed(text) => {
                let text = self.text(text);
                self.call("g", &text)
            }
        }
    }

    fn condition(&mut self, condition: &Condition) -> String {
        let (word, all) = match condition {
            Condition::Ok(object) => return self.field(object, "ok"),
            Condition::And(all) => ("and", all),
            Condition::Or(all) => ("or", all),
        };
        let all: Vec<String> = all.iter().map(|it| self.condition(it)).collect();
        if self.is("go") {
            format!("({word} {})", all.join(" "))
        } else {
            format!("({})", all.join(&format!(" {word} ")))
        }
    }

    /// Writes a tag. Liquid uses the Jinja text, because most of its tags are the same.
    fn put(&mut self, go: &str, jinja: &str, handlebars: &str) {
        self.out.push_str(match self.format {
            "go" => go,
            "jinja" | "liquid" => jinja,
            _ => handlebars,
        });
    }

    fn body(&mut self, body: &[Statement]) {
        for statement in body {
            self.statement(statement);
        }
    }

    fn statement(&mut self, statement: &Statement) {
        match statement {
            Statement::Literal => self.out.push('-'),
            Statement::Print(text) => {
                let text = self.text(text);
                // A printed call in Handlebars has no parentheses.
                let bare = text
                    .strip_prefix('(')
                    .and_then(|text| text.strip_suffix(')'));
                let handlebars = match text.parse::<i64>() {
                    Ok(_) => text.clone(),
                    Err(_) => format!("{{{{{}}}}}", bare.unwrap_or(&text)),
                };
                self.put(
                    &format!("{{{{{text}}}}}"),
                    &format!("{{{{ {text} }}}}"),
                    &handlebars,
                );
            }
            Statement::If(condition, then, otherwise) => {
                let condition = self.condition(condition);
                self.put(
                    &format!("{{{{if {condition}}}}}"),
                    &format!("{{% if {condition} %}}"),
                    &format!("{{{{#if {condition}}}}}"),
                );
                self.body(then);
                self.put("{{else}}", "{% else %}", "{{else}}");
                self.body(otherwise);
                self.put("{{end}}", "{% endif %}", "{{/if}}");
            }
            Statement::For(over, body) => {
                let (over, turn) = (self.field(over, "items"), self.loops);
                self.put(
                    &format!("{{{{range $l{turn} := {over}}}}}"),
                    &format!("{{% for l{turn} in {over} %}}"),
                    &format!("{{{{#each {over} as |l{turn}|}}}}"),
                );
                self.loops += 1;
                self.body(body);
                self.loops -= 1;
                self.put("{{end}}", "{% endfor %}", "{{/each}}");
            }
            Statement::BreakIf(condition) => {
                let condition = self.condition(condition);
                self.put(
                    &format!("{{{{if {condition}}}}}{{{{break}}}}{{{{end}}}}"),
                    &format!("{{% if {condition} %}}{{% break %}}{{% endif %}}"),
                    "",
                );
            }
            Statement::Set(which, number) if self.is("liquid") => {
                let number = self.number(number);
                let assign = format!("{{% assign s{which} = {number} %}}");
                self.out.push_str(&assign);
            }
            Statement::Apart(number) if self.is("liquid") => {
                let argument = self.number(number);
                let object = self.call("f", &argument);
                let text = self.call("g", &format!("{object}.result"));
                self.out.push_str(&format!("{{{{ {text} }}}}"));
            }
            Statement::Set(which, number) => {
                let number = self.number(number);
                self.put(
                    &format!("{{{{$s{which} = {number}}}}}"),
                    &format!("{{% set s{which} = {number} %}}"),
                    "",
                );
            }
            Statement::Apart(number) => {
                let number = self.number(number);
                self.put(
                    &format!("{{{{template \"apart\" {number}}}}}"),
                    &format!("{{{{ apart({number}) }}}}"),
                    "",
                );
            }
        }
    }
}

fn written(format: &str, body: &[Statement]) -> String {
    let mut writer = Writer {
        format,
        loops: 0,
        names: 0,
        out: String::new(),
    };
    if format == "liquid" {
        writer
            .out
            .push_str("{% assign s0 = 0 %}{% assign s1 = 0 %}");
        writer.body(body);
        return writer.out;
    }
    writer.put(
        "{{define \"apart\"}}{{g (f .).result}}{{end}}{{$s0 := 0}}{{$s1 := 0}}",
        "{% macro apart(x) %}{{ g(f(x)['result']) }}{% endmacro %}{% set s0 = 0 %}{% set s1 = 0 %}",
        "",
    );
    writer.body(body);
    writer.out
}

/// Tools whose calls take random times.
struct Tools {
    dice: Mutex<Dice>,
    calls: Mutex<Vec<String>>,
}

impl FunctionHost for Tools {
    fn contains(&self, name: &str) -> bool {
        self.names().contains(&name)
    }
    fn names(&self) -> Vec<&str> {
        vec!["f", "g", "k"]
    }
    fn idempotent(&self, name: &str) -> bool {
        name == "k"
    }
    fn call<'a>(
        &'a self,
        name: &'a str,
        arguments: CallArguments,
    ) -> BoxFuture<'a, Result<Value, CallError>> {
        let argument = arguments.positional.first().cloned().unwrap_or_default();
        let time = self.dice.lock().expect("nobody panicked").below(100) as u64;
        Box::pin(async move {
            tokio::time::sleep(Duration::from_millis(time)).await;
            let (said, answer) = match (name, &argument) {
                ("f" | "k", Value::Int(number)) => {
                    let number_then = number_of(*number);
                    let text = format!(
                        r#"{{"result":"r{number_then}","n":{number_then},"ok":{},"items":{:?}}}"#,
                        number_then % 2 == 0,
                        items(number_then)
                    );
                    let fields = json::parse(&text).expect("it is JSON");
                    let map = fields.as_map().expect("it is an object").clone();
                    (number.to_string(), map.with_display_key("result").into())
                }
                ("g", given) => {
                    let given = given.as_map().and_then(Map::display_value).unwrap_or(given);
                    let text = json::to_string(given);
                    let text = text.trim_matches('"');
                    (text.to_owned(), format!("[{text}]").into())
                }
                _ => panic!("{name} of {argument:?}"),
            };
            let mut calls = self.calls.lock().expect("nobody panicked");
            calls.push(format!("{name} {said}"));
            Ok(answer)
        })
    }
}

#[tokio::test(start_paused = true)]
async fn text_and_calls_are_those_of_a_sequential_render() {
    let count = std::env::var("SEQUENTIAL_COUNT").ok();
    let count = count.and_then(|text| text.parse().ok()).unwrap_or(COUNT);
    let limits = RenderLimits {
        concurrency: 256,
        passes: 1_000,
        // The paused clock continues from one render to the next, so the limit must be very long.
        time: Duration::from_secs(1 << 30),
        ..generous()
    };
    for (format, row) in rows() {
        let Some(has) = has(row.format) else { continue };
        for seed in 1..=count {
            let dice = |salt: u64| Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ salt);
            let body = Author { dice: dice(1), has }.body(0, 3);
            let mut expected = Sequential::default();
            expected.body(&body);
            let text = written(row.format, &body);
            let template = compile(&*format, &text);
            let tools = Tools {
                dice: Mutex::new(dice(2)),
                calls: Mutex::default(),
            };
            let rendered = run(&*template, &Map::default(), &tools, &limits).await;
            let mut what = String::new();
            let _ = write!(what, "{} {seed}\n{text}", row.format);
            let rendered = rendered.unwrap_or_else(|error| panic!("{error}\n{what}"));
            assert_eq!(rendered.text(0), expected.out, "{what}");
            let mut calls = tools.calls.into_inner().expect("nobody panicked");
            calls.sort();
            expected.calls.sort();
            assert_eq!(calls, expected.calls, "{what}");
        }
    }
}
