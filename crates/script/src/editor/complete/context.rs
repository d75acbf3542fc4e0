//! What is wanted at a place, derived from the line before it.

use quillet_core::Span;

use crate::directive::Directive;
use crate::reader;

/// What could stand somewhere, and the bytes of it that are there already.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Context {
    pub(super) span: Span,
    pub(super) wanted: Wanted,
}

/// What is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
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
    /// A key of the front matter below these.
    Key(Vec<String>),
    /// A value of the front matter's key.
    Value(Vec<String>),
}

/// Bytes before a place that are looked at: longer lines are not completed.
const MOST_LOOKED_AT: usize = 4_000;

impl Context {
    /// What is wanted at a byte of a text.
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
        Some(Context { span, wanted })
    }
}

type Found = (usize, Wanted);

/// Inside of a template, a hole, an expression: the same everywhere.
fn within(line: &str) -> Option<Found> {
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
        return Some((word, Wanted::Variable));
    }
    if let Some(expression) = line.rfind("?=") {
        let inside = line.get(expression + 2..)?;
        return (!in_quotes(inside)).then_some((word, Wanted::Variable));
    }
    None
}

fn hole(inside: &str) -> Option<Found> {
    if inside.contains('(') {
        return Some((word_length(inside, ""), Wanted::Variable));
    }
    if let Some(name) = inside.strip_prefix("@$") {
        return Some((name.len() + 1, Wanted::Call));
    }
    if let Some(name) = inside.strip_prefix('@') {
        return Some((name.len(), Wanted::Script));
    }
    match inside.strip_prefix('/') {
        Some(pattern) => {
            let behind = pattern.rsplit_once(':').map(|(_, name)| name);
            Some((behind?.len(), Wanted::Variable))
        }
        None => Some((word_length(inside, ""), Wanted::Variable)),
    }
}

/// A line of the body.
fn instruction(line: &str) -> Option<Found> {
    let row = item(line);
    if let Some(links) = row.strip_prefix("->") {
        let link = links.rsplit("->").next().unwrap_or(links).trim_start();
        return Some(called(link, Wanted::Script));
    }
    if row.starts_with('$') {
        return called_directive(row);
    }
    if let Some(pattern) = row
        .strip_prefix(':')
        .filter(|pattern| !pattern.contains(':'))
    {
        return Some((pattern.len() + 1, Wanted::Pattern));
    }
    if let Some((key, value)) = row.split_once(':') {
        let value = unquoted(value);
        return match key.trim() {
            "id" | "filename" | "script" => Some((value.len(), Wanted::Script)),
            "name" if line.starts_with(' ') => Some((value.len(), Wanted::Tool)),
            _ if value.starts_with('$') => Some((value.len(), Wanted::Call)),
            _ => None,
        };
    }
    let names = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    row.chars()
        .all(names)
        .then_some((row.len(), Wanted::Message))
}

/// `$`, `$pri`, `$if(`, `$if: `, `$exec: {id: `.
fn called_directive(row: &str) -> Option<Found> {
    let name_end = row.find(|c: char| !(c.is_alphanumeric() || "_$|.".contains(c)));
    let Some(end) = name_end else {
        return Some((row.len(), Wanted::Call));
    };
    let name = row.get(1..end)?.trim_start_matches('|');
    let rest = row.get(end..)?;
    let last = rest.rsplit([',', '(', '{']).next().unwrap_or(rest);
    let directive = Directive::named(name);
    if directive == Some(Directive::Exec)
        && let Some((key, value)) = last.split_once([':', '='])
        && matches!(key.trim(), "id" | "filename" | "")
    {
        return Some((unquoted(value).len(), Wanted::Script));
    }
    if directive == Some(Directive::Tool) {
        return Some((
            unquoted(last).trim_start_matches(':').trim_start().len(),
            Wanted::Tool,
        ));
    }
    let word = word_length(rest, "");
    if rest.starts_with(['(', '（']) && !in_quotes(rest) {
        return Some((word, Wanted::Parameter(name.to_owned())));
    }
    use Directive::{Echo, For, Get, If, Match, Print, Ret, While};
    let names_variables = matches!(
        directive,
        Some(If | While | Match | For | Get | Echo | Print | Ret)
    );
    (rest.starts_with(':') && names_variables && !in_quotes(rest))
        .then_some((word, Wanted::Variable))
}

/// The last link of a chain.
fn called(link: &str, wanted: Wanted) -> Found {
    match link {
        link if link.contains('(') => (word_length(link, ""), Wanted::Variable),
        link if link.starts_with('$') => (link.len(), Wanted::Call),
        link => (link.len(), wanted),
    }
}

/// A line of the front matter, and those above it.
fn config(above: &str, line: &str) -> Option<Found> {
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
        None => Some((row.len(), Wanted::Key(path))),
        Some((key, value)) => {
            let key = key.trim().to_owned();
            let scripts = ["extends", "import", "roles", "tools"];
            let value = unquoted(value);
            if path.is_empty() && scripts.contains(&&*key) {
                let word = value.rsplit([' ', ',', '[']).next().unwrap_or(value);
                return Some((unquoted(word).len(), Wanted::Tool));
            }
            Some((value.len(), Wanted::Value([path, vec![key]].concat())))
        }
    }
}

/// Below `tools:` and the like stand names of scripts.
fn list_of(path: &[&str], row: &str) -> Option<Wanted> {
    match (path, row.contains(':')) {
        (["tools"], false) => Some(Wanted::Tool),
        (["import" | "extends"], false) | (["roles"], true) => Some(Wanted::Script),
        _ => None,
    }
}

/// The keys that a line with this indentation stands in.
fn parents(above: &str, mut indent_of: usize) -> Vec<String> {
    let mut path = Vec::new();
    for line in above.lines().rev() {
        let own = indent(line);
        let row = line.trim();
        // A list may stand at its key's own column: the line of a dash has one column more.
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

/// Blanks before a line, and one more for each dash of a list.
fn indent(line: &str) -> usize {
    let rest = line.trim_start_matches([' ', '-']);
    line.len() - rest.len()
}

/// What follows blanks and the dash of a list.
fn item(line: &str) -> &str {
    let row = line.trim_start();
    let row = row.strip_prefix("- ").map_or(row, str::trim_start);
    unquoted(row)
}

fn unquoted(value: &str) -> &str {
    let value = value.trim_start();
    value.strip_prefix(['"', '\'']).unwrap_or(value)
}

/// Bytes of the name that ends a line.
fn word_length(line: &str, more: &str) -> usize {
    let part = |c: char| c.is_alphanumeric() || c == '_' || more.contains(c);
    line.len() - line.trim_end_matches(part).len()
}

/// Whether a text ends inside of quotes.
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

    fn wanted(text: &str) -> Option<(String, Wanted)> {
        let at = text.find('‸').unwrap();
        let whole = text.replacen('‸', "", 1);
        let found = Context::of(&whole, at)?;
        Some((
            whole[found.span.start..found.span.end].to_owned(),
            found.wanted,
        ))
    }

    #[test]
    fn the_line_before_a_place_says_what_is_wanted() {
        let value =
            |path: &[&str]| Wanted::Value(path.iter().map(|key| (*key).to_owned()).collect());
        let key = |path: &[&str]| Wanted::Key(path.iter().map(|key| (*key).to_owned()).collect());
        let parameter = |name: &str| Wanted::Parameter(name.to_owned());
        let table = [
            ("$pri‸", "$pri", Wanted::Call),
            ("- $‸", "$", Wanted::Call),
            ("- then:\n    - $|pri‸", "$|pri", Wanted::Call),
            ("$if(na‸", "na", parameter("if")),
            ("$if: na‸", "na", Wanted::Variable),
            ("- $while: a > b‸", "b", Wanted::Variable),
            ("us‸", "us", Wanted::Message),
            ("‸", "", Wanted::Message),
            ("user: Hello {{na‸}}", "na", Wanted::Variable),
            ("user: \"[[@tra‸\"", "tra", Wanted::Script),
            ("user: \"[[@$ec‸\"", "$ec", Wanted::Call),
            ("user: \"[[@tra(te‸\"", "te", Wanted::Variable),
            ("assistant: \"[[AN‸]]\"", "AN", Wanted::Variable),
            ("assistant: \"[[/a(b)/i:AN‸\"", "AN", Wanted::Variable),
            ("$echo: ?=co‸", "co", Wanted::Variable),
            ("-> jo‸", "jo", Wanted::Script),
            ("-> joke -> $pri‸", "$pri", Wanted::Call),
            ("-> joke(te‸", "te", Wanted::Variable),
            ("$match(x):\n  :/‸", ":/", Wanted::Pattern),
            ("$exec:\n  id: tra‸", "tra", Wanted::Script),
            ("$exec: {id: tra‸", "tra", Wanted::Script),
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
            ("---\ntools:\n  - we‸\n---\n", "we", Wanted::Tool),
            ("---\ntools:\n- we‸\n---\n", "we", Wanted::Tool),
            ("---\nroles:\n  bob: ch‸\n---\n", "ch", Wanted::Script),
            ("---\nextends: ba‸\n---\n", "ba", Wanted::Tool),
        ];
        for (text, word, expected) in table {
            assert_eq!(wanted(text), Some((word.to_owned(), expected)), "{text}");
        }
        for text in ["user: Hello ‸", "user: no $‸", "$echo: ?=\"te‸"] {
            assert_eq!(wanted(text), None, "{text}");
        }
    }
}
