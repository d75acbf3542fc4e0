//! Determines the kind of completion from the line before the cursor.

use quillet_core::Span;

use crate::directive::Directive;
use crate::reader;

/// The kind of completion, and the text that is already typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CompletionContext {
    pub(super) span: Span,
    pub(super) wanted: CompletionScope,
}

/// The kind of completion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum CompletionScope {
    /// A directive or a function, with `$`.
    Call,
    /// A parameter of a directive, or a variable.
    Parameter(String),
    /// A variable.
    Variable,
    /// A script, or a function.
    Script,
    /// A script or a tool.
    Tool,
    /// The role of a message, or a directive.
    Message,
    /// A pattern of `$match`.
    Pattern,
    /// A front matter key below this path.
    Key(Vec<String>),
    /// A value of the front matter key at this path.
    Value(Vec<String>),
}

/// Maximum number of bytes before the cursor to analyze. Longer lines have no completion.
const MOST_LOOKED_AT: usize = 4_000;

impl CompletionContext {
    /// Returns the completion context at a byte offset.
    pub(super) fn of(text: &str, at: usize) -> Option<Self> {
        let before = text.get(..at)?;
        let start = before.rfind(['\n', '\r']).map_or(0, |end| end + 1);
        let line = before
            .get(start..)
            .filter(|line| line.len() <= MOST_LOOKED_AT)?;
        let front = reader::split(text).front;
        let in_front = front.is_some_and(|front| (front.start..=front.end).contains(&at));
        let (word, wanted) = match within(line) {
            Some(found) => found,
            None if in_front => config(before.get(front?.start..start)?, line)?,
            None => instruction(line)?,
        };
        let span = Span {
            start: at - word,
            end: at,
        };
        Some(CompletionContext { span, wanted })
    }
}

type ContextMatch = (usize, CompletionScope);

/// Matches a template, a hole or an expression, which are completed in the same way everywhere.
fn within(line: &str) -> Option<ContextMatch> {
    let word = word_length(line, "");
    if let Some(open) = line
        .rfind("[[")
        .filter(|open| line.rfind("]]").is_none_or(|close| close < *open))
    {
        let inside = line.get(open + 2..)?;
        return hole(inside);
    }
    if line
        .rfind("{{")
        .is_some_and(|open| line.rfind("}}").is_none_or(|close| close < open))
    {
        return Some((word, CompletionScope::Variable));
    }
    if let Some(expression) = line.rfind("?=") {
        let inside = line.get(expression + 2..)?;
        return (!in_quotes(inside)).then_some((word, CompletionScope::Variable));
    }
    None
}

fn hole(inside: &str) -> Option<ContextMatch> {
    if inside.contains('(') {
        return Some((word_length(inside, ""), CompletionScope::Variable));
    }
    if let Some(name) = inside.strip_prefix("@$") {
        return Some((name.len() + 1, CompletionScope::Call));
    }
    if let Some(name) = inside.strip_prefix('@') {
        return Some((name.len(), CompletionScope::Script));
    }
    match inside.strip_prefix('/') {
        Some(pattern) => {
            let behind = pattern.rsplit_once(':').map(|(_, name)| name);
            Some((behind?.len(), CompletionScope::Variable))
        }
        None => Some((word_length(inside, ""), CompletionScope::Variable)),
    }
}

/// Matches a line of the body.
fn instruction(line: &str) -> Option<ContextMatch> {
    let row = item(line);
    if let Some(links) = row.strip_prefix("->") {
        let link = links.rsplit("->").next().unwrap_or(links).trim_start();
        return Some(called(link, CompletionScope::Script));
    }
    if row.starts_with('$') {
        return called_directive(row);
    }
    if let Some(pattern) = row
        .strip_prefix(':')
        .filter(|pattern| !pattern.contains(':'))
    {
        return Some((pattern.len() + 1, CompletionScope::Pattern));
    }
    if let Some((key, value)) = row.split_once(':') {
        let value = unquoted(value);
        return match key.trim() {
            "id" | "filename" | "script" => Some((value.len(), CompletionScope::Script)),
            "name" if line.starts_with(' ') => Some((value.len(), CompletionScope::Tool)),
            _ if value.starts_with('$') => Some((value.len(), CompletionScope::Call)),
            _ => None,
        };
    }
    let names = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    row.chars()
        .all(names)
        .then_some((row.len(), CompletionScope::Message))
}

/// Matches `$`, `$pri`, `$if(`, `$if: `, `$exec: {id: `.
fn called_directive(row: &str) -> Option<ContextMatch> {
    let name_end = row.find(|c: char| !(c.is_alphanumeric() || "_$|.".contains(c)));
    let Some(end) = name_end else {
        return Some((row.len(), CompletionScope::Call));
    };
    let name = row.get(1..end)?.trim_start_matches('|');
    let rest = row.get(end..)?;
    let last = rest.rsplit([',', '(', '{']).next().unwrap_or(rest);
    let directive = Directive::named(name);
    if directive == Some(Directive::Exec)
        && let Some((key, value)) = last.split_once([':', '='])
        && matches!(key.trim(), "id" | "filename" | "")
    {
        return Some((unquoted(value).len(), CompletionScope::Script));
    }
    if directive == Some(Directive::Tool) {
        return Some((
            unquoted(last).trim_start_matches(':').trim_start().len(),
            CompletionScope::Tool,
        ));
    }
    let word = word_length(rest, "");
    if rest.starts_with(['(', '（']) && !in_quotes(rest) {
        return Some((word, CompletionScope::Parameter(name.to_owned())));
    }
    use Directive::{Echo, For, Get, If, Match, Print, Ret, While};
    let names_variables = matches!(
        directive,
        Some(If | While | Match | For | Get | Echo | Print | Ret)
    );
    (rest.starts_with(':') && names_variables && !in_quotes(rest))
        .then_some((word, CompletionScope::Variable))
}

/// Matches the last call of a chain.
fn called(link: &str, wanted: CompletionScope) -> ContextMatch {
    match link {
        link if link.contains('(') => (word_length(link, ""), CompletionScope::Variable),
        link if link.starts_with('$') => (link.len(), CompletionScope::Call),
        link => (link.len(), wanted),
    }
}

/// Matches a line of the front matter by the lines above it.
fn config(above: &str, line: &str) -> Option<ContextMatch> {
    let row = item(line);
    let path = parents(above, indent(line));
    let names: Vec<&str> = path.iter().map(String::as_str).collect();
    if let Some(wanted) = list_of(&names, row) {
        let word = row
            .rsplit([' ', ',', '[', ':', '"', '\''])
            .next()
            .unwrap_or(row);
        return Some((word.len(), wanted));
    }
    match row.split_once(':') {
        None => Some((row.len(), CompletionScope::Key(path))),
        Some((key, value)) => {
            let key = key.trim().to_owned();
            let scripts = ["extends", "import", "roles", "tools"];
            let value = unquoted(value);
            if path.is_empty() && scripts.contains(&&*key) {
                let word = value.rsplit([' ', ',', '[']).next().unwrap_or(value);
                return Some((unquoted(word).len(), CompletionScope::Tool));
            }
            Some((
                value.len(),
                CompletionScope::Value([path, vec![key]].concat()),
            ))
        }
    }
}

/// Returns the scope for lists of script names, such as `tools:`.
fn list_of(path: &[&str], row: &str) -> Option<CompletionScope> {
    match (path, row.contains(':')) {
        (["tools"], false) => Some(CompletionScope::Tool),
        (["import" | "extends"], false) | (["roles"], true) => Some(CompletionScope::Script),
        _ => None,
    }
}

/// Returns the keys that enclose a line with this indentation.
fn parents(above: &str, mut indent_of: usize) -> Vec<String> {
    let mut path = Vec::new();
    for line in above.lines().rev() {
        let own = indent(line);
        let row = line.trim();
        // Scripts are searched from the script itself to its oldest parent, because the nearest
        // declaration is the one that runs.
        if row.is_empty() || row.starts_with('#') || own >= indent_of {
            continue;
        }
        if let Some((key, _)) = item(line).split_once(':') {
            path.push(key.trim().trim_matches(['"', '\'']).to_owned());
        }
        indent_of = own;
        if own == 0 {
            break;
        }
    }
    path.reverse();
    path
}

/// Returns the number of spaces before a line, plus one for each list dash.
fn indent(line: &str) -> usize {
    let rest = line.trim_start_matches([' ', '-']);
    line.len() - rest.len()
}

/// Returns the text after the indentation and a list dash.
fn item(line: &str) -> &str {
    let row = line.trim_start();
    let row = row.strip_prefix("- ").map_or(row, str::trim_start);
    unquoted(row)
}

fn unquoted(value: &str) -> &str {
    let value = value.trim_start();
    value.strip_prefix(['"', '\'']).unwrap_or(value)
}

/// Returns the length of the name at the end of a line in bytes.
fn word_length(line: &str, more: &str) -> usize {
    let part = |c: char| c.is_alphanumeric() || c == '_' || more.contains(c);
    line.len() - line.trim_end_matches(part).len()
}

/// Returns whether a text ends inside quotes.
fn in_quotes(text: &str) -> bool {
    let mut open = None;
    for c in text.chars() {
        match open {
            Some(quote) if quote == c => open = None,
            None if matches!(c, '"' | '\'' | '`') => open = Some(c),
            _ => {}
        }
    }
    open.is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(text: &str) -> Option<(String, CompletionScope)> {
        let at = text.find('‸').unwrap();
        let whole = text.replacen('‸', "", 1);
        let found = CompletionContext::of(&whole, at)?;
        Some((
            whole[found.span.start..found.span.end].to_owned(),
            found.wanted,
        ))
    }

    #[test]
    fn the_line_before_a_place_says_what_is_wanted() {
        let value = |path: &[&str]| {
            CompletionScope::Value(path.iter().map(|key| (*key).to_owned()).collect())
        };
        let key = |path: &[&str]| {
            CompletionScope::Key(path.iter().map(|key| (*key).to_owned()).collect())
        };
        let parameter = |name: &str| CompletionScope::Parameter(name.to_owned());
        let table = [
            ("$pri‸", "$pri", CompletionScope::Call),
            ("- $‸", "$", CompletionScope::Call),
            ("- then:\n    - $|pri‸", "$|pri", CompletionScope::Call),
            ("$if(na‸", "na", parameter("if")),
            ("$if: na‸", "na", CompletionScope::Variable),
            ("- $while: a > b‸", "b", CompletionScope::Variable),
            ("us‸", "us", CompletionScope::Message),
            ("‸", "", CompletionScope::Message),
            ("user: Hello {{na‸}}", "na", CompletionScope::Variable),
            ("user: \"[[@tra‸\"", "tra", CompletionScope::Script),
            ("user: \"[[@$ec‸\"", "$ec", CompletionScope::Call),
            ("user: \"[[@tra(te‸\"", "te", CompletionScope::Variable),
            ("assistant: \"[[AN‸]]\"", "AN", CompletionScope::Variable),
            (
                "assistant: \"[[/a(b)/i:AN‸\"",
                "AN",
                CompletionScope::Variable,
            ),
            ("$echo: ?=co‸", "co", CompletionScope::Variable),
            ("-> jo‸", "jo", CompletionScope::Script),
            ("-> joke -> $pri‸", "$pri", CompletionScope::Call),
            ("-> joke(te‸", "te", CompletionScope::Variable),
            ("$match(x):\n  :/‸", ":/", CompletionScope::Pattern),
            ("$exec:\n  id: tra‸", "tra", CompletionScope::Script),
            ("$exec: {id: tra‸", "tra", CompletionScope::Script),
            ("---\ntem‸\n---\n", "tem", key(&[])),
            (
                "---\ntemplateFormat: go‸\n---\n",
                "go",
                value(&["templateFormat"]),
            ),
            (
                "---\nresponse_format:\n  ty‸\n---\n",
                "ty",
                key(&["response_format"]),
            ),
            (
                "---\nparameters:\n  response_format:\n    type: ‸\n---\n",
                "",
                value(&["parameters", "response_format", "type"]),
            ),
            ("---\ntools:\n  - we‸\n---\n", "we", CompletionScope::Tool),
            ("---\ntools:\n- we‸\n---\n", "we", CompletionScope::Tool),
            (
                "---\nroles:\n  bob: ch‸\n---\n",
                "ch",
                CompletionScope::Script,
            ),
            ("---\nextends: ba‸\n---\n", "ba", CompletionScope::Tool),
        ];
        for (text, word, expected) in table {
            assert_eq!(wanted(text), Some((word.to_owned(), expected)), "{text}");
        }
        for text in ["user: Hello ‸", "user: no $‸", "$echo: ?=\"te‸"] {
            assert_eq!(wanted(text), None, "{text}");
        }
    }
}
