//! Parses the signature of a function in `!fn`: its name, its parameters, and the position where
//! the keyword `function` is missing. The body is not parsed.

use serde::{Deserialize, Serialize};

use super::error::{Code, CodePosition, JsError, JsErrorKind, StackFrame};
use super::id::FunctionId;

/// A parameter of a function.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parameter {
    /// The parameter's name; empty if the parameter is destructured (`{a, b}`, `[a, b]`).
    pub name: String,
    /// The keys that a destructured parameter reads: `a` and `b` for `{a, b: c = 1}`.
    pub keys: Vec<String>,
    /// Whether the parameter is destructured as an object. Named arguments are then passed as one
    /// object.
    pub object: bool,
    /// Whether the parameter is a rest parameter (`...rest`).
    pub rest: bool,
    /// Whether the parameter has a default value.
    pub optional: bool,
}

/// The signature of a function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Signature {
    /// The function's name; empty for an anonymous function.
    pub name: String,
    /// The parameters, in order.
    pub parameters: Vec<Parameter>,
    /// Whether the function is `async`.
    pub is_async: bool,
    /// Byte offset where `function ` must be inserted to make the code an expression.
    pub(crate) keyword: Option<usize>,
}

/// Parses the signature of a function in any form that scripts use. The keyword `function` is
/// optional; `async`, arrow functions, anonymous functions and leading comments are supported.
///
/// # Errors
/// Kind `Syntax`: the missing element and its position.
pub fn signature(code: &str) -> Result<Signature, JsError> {
    Scanner { code, at: 0 }.signature()
}

/// Scans text that is similar to JavaScript, with at most one word of backtracking.
struct Scanner<'a> {
    code: &'a str,
    at: usize,
}

impl<'a> Scanner<'a> {
    fn signature(&mut self) -> Result<Signature, JsError> {
        let mut head = Signature::default();
        self.space();
        let mut start = self.at;
        let mut word = self.word();
        if word == "async" && !self.next_is("=>") && self.same_line() {
            head.is_async = true;
            self.space();
            start = self.at;
            word = self.word();
        }
        let keyword = word == "function";
        if keyword {
            self.space();
            self.eat("*");
            self.space();
            word = self.word();
        }
        if word.is_empty() && self.peek() != Some('(') {
            return Err(self.error("expected a function's name or parameters"));
        }
        self.space();
        if !keyword && !word.is_empty() && self.eat("=>") {
            head.parameters.push(named(word));
            return Ok(head);
        }
        head.name = word.to_owned();
        head.parameters = self.parameters()?;
        self.space();
        if !keyword && head.name.is_empty() && self.eat("=>") {
            return Ok(head);
        }
        if self.peek() != Some('{') {
            return Err(self.error("expected `{` before the function's body"));
        }
        if !keyword {
            head.keyword = Some(start);
        }
        Ok(head)
    }

    fn parameters(&mut self) -> Result<Vec<Parameter>, JsError> {
        if !self.eat("(") {
            return Err(self.error("expected `(` before the function's parameters"));
        }
        let mut parameters = Vec::new();
        loop {
            self.space();
            if self.eat(")") {
                return Ok(parameters);
            }
            parameters.push(self.parameter()?);
            self.space();
            if !self.eat(",") && self.peek() != Some(')') {
                return Err(self.error("missing `,` or `)` after a parameter"));
            }
        }
    }

    fn parameter(&mut self) -> Result<Parameter, JsError> {
        let rest = self.eat("...");
        self.space();
        let mut parameter = match self.peek() {
            Some('{') => Parameter {
                keys: self.keys()?,
                object: true,
                ..Parameter::default()
            },
            Some('[') => {
                self.skip(&[','])?;
                Parameter::default()
            }
            _ => {
                let name = self.word();
                if name.is_empty() {
                    return Err(self.error("missing name of a parameter"));
                }
                named(name)
            }
        };
        parameter.rest = rest;
        self.space();
        if self.eat("=") {
            parameter.optional = true;
            self.skip(&[','])?;
        }
        Ok(parameter)
    }

    /// Returns the keys of `{a, b: c, 'd': {e}, f = 1, ...g}`.
    fn keys(&mut self) -> Result<Vec<String>, JsError> {
        self.eat("{");
        let mut keys = Vec::new();
        loop {
            self.space();
            if self.eat("}") {
                return Ok(keys);
            }
            let rest = self.eat("...");
            self.space();
            let key = self.key()?;
            if !rest && !key.is_empty() {
                keys.push(key);
            }
            self.skip(&[','])?;
            if !self.eat(",") && self.peek() != Some('}') {
                return Err(self.error("missing `}` after a destructured parameter"));
            }
        }
    }

    fn key(&mut self) -> Result<String, JsError> {
        match self.peek() {
            Some(quote @ ('"' | '\'')) => {
                let start = self.at + 1;
                self.string(quote)?;
                Ok(self.slice(start, self.at - 1).to_owned())
            }
            Some('[') => Ok(String::new()),
            _ => Ok(self.word().to_owned()),
        }
    }

    /// Skips to one of these characters, or to an unmatched closing bracket.
    fn skip(&mut self, until: &[char]) -> Result<(), JsError> {
        let mut open = Vec::new();
        loop {
            self.space();
            let Some(next) = self.peek() else {
                return Err(self.error("unexpected end of code in a function's parameters"));
            };
            match next {
                '(' | '[' | '{' => open.push(next),
                ')' | ']' | '}' if open.pop().is_none() => return Ok(()),
                '"' | '\'' | '`' => {
                    self.string(next)?;
                    continue;
                }
                _ if open.is_empty() && until.contains(&next) => return Ok(()),
                _ => {}
            }
            self.at += next.len_utf8();
        }
    }

    /// Skips a string, or a template literal including its `${…}` parts.
    fn string(&mut self, quote: char) -> Result<(), JsError> {
        let rest = self.rest();
        let mut escaped = false;
        for (index, char) in rest.char_indices().skip(1) {
            match char {
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                _ if char == quote => {
                    self.at += index + 1;
                    return Ok(());
                }
                _ => {}
            }
        }
        Err(self.error("unclosed string"))
    }

    /// Skips white space and comments.
    fn space(&mut self) {
        loop {
            let rest = self.rest();
            let trimmed = rest.trim_start_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
            self.at += rest.len() - trimmed.len();
            let length = if trimmed.starts_with("//") {
                trimmed.find('\n').unwrap_or(trimmed.len())
            } else if trimmed.starts_with("/*") {
                trimmed.find("*/").map_or(trimmed.len(), |end| end + 2)
            } else {
                return;
            };
            self.at += length;
        }
    }

    fn word(&mut self) -> &'a str {
        let rest = self.rest();
        let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
        let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        self.at += end;
        self.slice(self.at - end, self.at)
    }

    /// Returns whether more follows on the same line: `async` alone on a line is a name.
    fn same_line(&self) -> bool {
        let rest = self.rest().trim_start_matches([' ', '\t']);
        !rest.starts_with(['\n', '\r', ',', ')', '='])
    }

    fn next_is(&self, text: &str) -> bool {
        self.rest().trim_start().starts_with(text)
    }

    fn eat(&mut self, text: &str) -> bool {
        let found = self.rest().starts_with(text);
        if found {
            self.at += text.len();
        }
        found
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn rest(&self) -> &'a str {
        self.slice(self.at, self.code.len())
    }

    fn slice(&self, from: usize, to: usize) -> &'a str {
        self.code.get(from..to).unwrap_or_default()
    }

    fn error(&self, message: &str) -> JsError {
        let mut error = JsError::new(JsErrorKind::Syntax, format!("SyntaxError: {message}"));
        error.stack.push(StackFrame {
            function: String::new(),
            code: Code::Function(FunctionId(0)),
            place: place(self.code, self.at),
        });
        error
    }
}

fn named(name: &str) -> Parameter {
    Parameter {
        name: name.to_owned(),
        ..Parameter::default()
    }
}

/// Returns the line and column of a byte offset.
pub(crate) fn place(text: &str, at: usize) -> CodePosition {
    let before = text.get(..at).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before
        .rsplit('\n')
        .next()
        .unwrap_or_default()
        .chars()
        .count()
        + 1;
    CodePosition {
        line: u32::try_from(line).unwrap_or(u32::MAX),
        column: u32::try_from(column).unwrap_or(u32::MAX),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(code: &str) -> String {
        let head = match signature(code) {
            Ok(head) => head,
            Err(error) => return format!("{} {:?}", error.message, error.place().map(|f| f.place)),
        };
        let parameters: Vec<String> = head.parameters.iter().map(parameter).collect();
        let is_async = if head.is_async { "async " } else { "" };
        format!(
            "{is_async}{}({}) {:?}",
            head.name,
            parameters.join(", "),
            head.keyword
        )
    }

    fn parameter(parameter: &Parameter) -> String {
        let name = if parameter.object {
            format!("{{{}}}", parameter.keys.join(" "))
        } else {
            parameter.name.clone()
        };
        let rest = if parameter.rest { "..." } else { "" };
        let optional = if parameter.optional { "?" } else { "" };
        format!("{rest}{name}{optional}")
    }

    #[test]
    fn heads_in_every_written_form() {
        let cases = [
            (
                "function func1 ({arg1, arg2}) {\n}",
                "func1({arg1 arg2}) None",
            ),
            ("func1 ({arg1, arg2}) {\n}", "func1({arg1 arg2}) Some(0)"),
            ("twice(x) { return x * 2 }", "twice(x) Some(0)"),
            (
                "async myTool ({a = {b: ')'}, 'c': d, ...e}) {}",
                "async myTool({a c}) Some(6)",
            ),
            (
                "async function f(a, b = (1, 2), ...c) {}",
                "async f(a, b?, ...c) None",
            ),
            ("function* g() {}", "g() None"),
            (
                "(event, part, content) { const t = part.content }",
                "(event, part, content) Some(0)",
            ),
            ("function(event) { return 1 }", "(event) None"),
            ("(event, x) => event", "(event, x) None"),
            ("event => event.type", "(event) None"),
            ("async (x) => await x", "async (x) None"),
            ("async x => x", "async (x) None"),
            ("async => async", "(async) None"),
            ("async(x) { return x }", "async (x) Some(5)"),
            (
                "// first\n/* then */ hi(x /* y */, // z\n y) {}",
                "hi(x, y) Some(20)",
            ),
            ("  ünï_$1 () {}", "ünï_$1() Some(2)"),
            ("f([a, b], {c: {d}}) {}", "f(, {c}) Some(0)"),
            ("f(a,) {}", "f(a) Some(0)"),
        ];
        for (code, expected) in cases {
            assert_eq!(shown(code), expected, "{code}");
        }
    }

    #[test]
    fn heads_that_are_none_say_where() {
        let cases = [
            ("", (1, 1)),
            ("1 + 1", (1, 3)),
            ("f", (1, 2)),
            ("f(", (1, 3)),
            ("f(a b) {}", (1, 5)),
            ("f(a\n, {b", (2, 5)),
            ("f(a = 'x) {}", (1, 7)),
            ("f() return 1", (1, 5)),
            ("f() => 1", (1, 5)),
        ];
        for (code, (line, column)) in cases {
            let error = signature(code).expect_err(code);
            let place = error.place().map(|frame| frame.place);
            assert_eq!(
                place,
                Some(CodePosition { line, column }),
                "{code}: {}",
                error.message
            );
        }
    }
}
