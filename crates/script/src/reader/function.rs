//! Parses `!fn` and `!fn#`: functions in JavaScript and other languages.

use std::collections::HashMap;

use quillet_core::Span;
use quillet_yaml::{Node, YamlProblem};

use super::located_scalar::LocatedScalar;
use crate::syntax::FunctionDeclaration;

/// Returns whether a node is a function.
pub(crate) fn is_function(node: &Node) -> bool {
    matches!(node.tag.as_deref(), Some("fn" | "fn#"))
}

/// Parses a function. Its name is empty if it has none.
pub(crate) fn function(node: &Node, file: &str) -> Result<FunctionDeclaration, YamlProblem> {
    let Some(text) = node.text() else {
        let message = format!("a function must be a string of code, not {}", node.kind());
        return Err(
            YamlProblem::new(node.span, message).help("write `!fn |-` and the code below it")
        );
    };
    let placed = LocatedScalar::of(node, text, file);
    let (language, begin) = mark(text);
    let code = placed.cut(begin, text.len());
    if code.text.is_empty() {
        return Err(YamlProblem::new(node.span, "missing code of the function")
            .help("write `!fn |-` and the code below it, indented"));
    }
    let name = name(code.text, &language);
    let before = file.get(..node.span.start).unwrap_or_default();
    Ok(FunctionDeclaration {
        span: Span {
            // The span of a node starts after its tag, but the span of a declaration includes the
            // tag.
            start: before.rfind("!fn").unwrap_or(node.span.start),
            end: node.span.end,
        },
        template: node.tag.as_deref() == Some("fn#") || name.starts_with("template$"),
        name,
        language,
        code: code.to_text(),
    })
}

/// Parses a language mark such as `[python]`. Returns the language and the offset of the code.
fn mark(text: &str) -> (String, usize) {
    let blank = text.len() - text.trim_start().len();
    let named = text.trim_start().strip_prefix('[');
    let named = named.and_then(|rest| rest.split_once(']'));
    let word = |word: &&str| !word.is_empty() && word.chars().all(|char| char.is_alphanumeric());
    match named.map(|(language, _)| language).filter(word) {
        // `[a, b]` is not a language, so the bracket is part of the code.
        None => ("js".to_owned(), 0),
        Some(language) => {
            let begin = blank + language.len() + 2;
            match language.to_lowercase().as_str() {
                "javascript" => ("js".to_owned(), begin),
                language => (language.to_owned(), begin),
            }
        }
    }
}

/// Returns the name that the code declares. Empty for `(event) {…}`, `function (x) {…}` and `x =>
/// …`.
fn name(code: &str, language: &str) -> String {
    let keywords: &[&str] = match language {
        "js" => &["async", "function", "*"],
        _ => &["async", "def", "function"],
    };
    let mut rest = code.trim_start();
    for keyword in keywords {
        let after = rest.strip_prefix(keyword).unwrap_or(rest);
        // `functional(a)` only starts with a keyword, so the whole word is the name.
        let apart = after.starts_with(|next: char| next.is_whitespace() || "(*".contains(next));
        if apart || *keyword == "*" {
            rest = after.trim_start();
        }
    }
    let part = |char: char| char.is_alphanumeric() || "_$".contains(char);
    let (name, after) = rest.split_at(rest.find(|char| !part(char)).unwrap_or(rest.len()));
    if after.trim_start().starts_with('(') {
        name.to_owned()
    } else {
        String::new()
    }
}

/// Checks the functions of a script: each needs a unique name.
pub(super) fn distinct(
    functions: Vec<FunctionDeclaration>,
    problems: &mut Vec<YamlProblem>,
) -> Vec<FunctionDeclaration> {
    let mut seen: HashMap<String, Span> = HashMap::new();
    let mut kept = Vec::new();
    for function in functions {
        if function.name.is_empty() {
            problems.push(
                YamlProblem::new(function.span, "missing name of the function")
                    .help("write `name(arguments) { … }`"),
            );
            continue;
        }
        if let Some(first) = seen.get(&function.name) {
            let message = format!("function `{}` is declared twice", function.name);
            problems.push(YamlProblem::new(function.span, message).first(*first));
            continue;
        }
        seen.insert(function.name.clone(), function.span);
        kept.push(function);
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_in_every_way_to_declare() {
        let table = [
            ("function func1 ({arg1}) {\n}", "js", "func1"),
            ("func1 ({arg1}) {\n}", "js", "func1"),
            ("async myTool ({a}) {}", "js", "myTool"),
            ("async function f(){}", "js", "f"),
            ("function* gen(){}", "js", "gen"),
            ("function *gen(){}", "js", "gen"),
            ("asynchron(a) {}", "js", "asynchron"),
            ("functional(a) {}", "js", "functional"),
            ("template$up(x) {}", "js", "template$up"),
            ("加(a, b) {}", "js", "加"),
            ("(event) { return 1 }", "js", ""),
            ("function (x) {}", "js", ""),
            ("async (x) => 1", "js", ""),
            ("x => 1", "js", ""),
            ("def func1(a, b):\n  return a", "python", "func1"),
            ("async def f(a): pass", "python", "f"),
            ("lambda x: x", "python", ""),
        ];
        for (code, language, expected) in table {
            assert_eq!(name(code, language), expected, "{code}");
        }
    }

    #[test]
    fn marks_name_the_language() {
        let table = [
            ("[js]hi() {}", "js", 4),
            (" [Python] def f(): pass", "python", 9),
            ("[JavaScript]f() {}", "js", 12),
            ("f() {}", "js", 0),
            ("[a, b] => 1", "js", 0),
            ("[] + 1", "js", 0),
        ];
        for (text, language, begin) in table {
            assert_eq!(mark(text), (language.to_owned(), begin), "{text}");
        }
    }
}
