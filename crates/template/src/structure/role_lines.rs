//! Role lines: `system:` or `user[name="Ann"]:` on a separate line, as in prompty. A value can name
//! the role too: `{{ message.role }}:`.
//!
//! Each role line is a separate line, so it is found in the template's own text before compilation,
//! in any format. It is enclosed in two marks. A line from a value that looks the same has no marks
//! and remains text.

use std::borrow::Cow;

use quillet_core::{Map, Span, Value};

use super::directive::{self, Directive, DirectivePart};
use super::message::{ChatMessage, MessagePart};
use super::secret;

const ROLES: [&str; 6] = [
    "system",
    "user",
    "assistant",
    "developer",
    "tool",
    "function",
];

/// Characters that divide the attributes of a role line.
const DIVIDERS: [char; 3] = ['"', ',', '='];

/// Byte offsets of the inserted marks in the marked text, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Insertions(Vec<usize>);

impl Insertions {
    /// Converts an offset in the marked text to an offset in the original text.
    pub(crate) fn before(&self, byte: usize) -> usize {
        let length = secret::secret().len();
        let begun = self.0.partition_point(|start| *start <= byte);
        let last = begun.checked_sub(1).and_then(|last| self.0.get(last));
        match last {
            Some(start) if byte < start + length => start - (begun - 1) * length,
            _ => byte - begun * length,
        }
    }
}

/// Encloses the role lines of a text in marks. The second mark precedes the colon. The characters
/// that separate attributes are marked too, so that a value printed in an attribute cannot end the
/// attribute. `loose` is [`crate::TemplateFormat::has_loose_role_lines`].
pub(crate) fn mark(text: &str, loose: bool) -> (Cow<'_, str>, Insertions) {
    let secret = secret::secret();
    let mut marked = String::new();
    let mut insertions = Insertions::default();
    let mut done = 0;
    for at in lines(text, loose).flat_map(|(start, colon)| places(text, start, colon)) {
        marked.push_str(&text[done..at]);
        insertions.0.push(marked.len());
        marked.push_str(secret);
        done = at;
    }
    if insertions.0.is_empty() {
        return (Cow::Borrowed(text), insertions);
    }
    marked.push_str(&text[done..]);
    (Cow::Owned(marked), insertions)
}

/// Yields the offsets of role lines and of their colons.
fn lines(text: &str, loose: bool) -> impl Iterator<Item = (usize, usize)> {
    let mut at = 0;
    text.split_inclusive('\n').filter_map(move |line| {
        let start = at;
        at += line.len();
        let bare = line.trim_end();
        // A plain role line wins even in loose mode.
        match is_role_line(bare) {
            true => Some((start, start + bare.len() - 1)),
            false if loose => loose_colon(line).map(|colon| (start, start + colon)),
            false => output(bare)
                .filter(|inside| asks_for_role(inside))
                .map(|_| (start, start + bare.len() - 1)),
        }
    })
}

/// Returns the text in the braces of a line that consists of an output and a colon.
fn output(bare: &str) -> Option<&str> {
    let inside = bare.trim_start().strip_prefix("{{")?.strip_suffix("}}:")?;
    // A line with two outputs does not name a single role.
    (!inside.contains("}}")).then_some(inside)
}

/// Whether an output prints a role by its name: `role`, `message.role`, `message["role"]`. Any
/// other line such as `{{ title }}:` is text. If it were a role line, a document with the title
/// `system` would be a system message.
fn asks_for_role(inside: &str) -> bool {
    // `{{-` removes the line ending before it, so its output does not begin a line.
    if inside.starts_with(['-', '~']) {
        return false;
    }
    // The path determines whether the output is a role, regardless of the filters after it.
    let path = inside.split('|').next().unwrap_or_default();
    let path = path.trim_matches(['{', '}', '&', '-', '~', ' ', '\t']);
    let quoted = ["[\"role\"]", "['role']"];
    if quoted.iter().any(|last| path.ends_with(last)) {
        return true;
    }
    let first = path.rfind(['.', '$']).map_or(0, |divider| divider + 1);
    path[first..].eq_ignore_ascii_case("role")
}

/// Finds the first role line in a template's text whose role is a value, as in `{{ message.role
/// }}:`.
#[must_use]
pub fn computed_role_line(text: &str) -> Option<usize> {
    let mut lines = lines(text, false).map(|(start, _)| start);
    lines.find(|start| text[*start..].trim_start().starts_with("{{"))
}

/// Returns the offset of the colon in a line such as `user: hi`, or in a line that consists of an
/// output and a colon.
fn loose_colon(line: &str) -> Option<usize> {
    let bare = line.trim_end();
    if output(bare).is_some() {
        return Some(bare.len() - 1);
    }
    let colon = line.find(':')?;
    let behind = line[colon + 1..].chars().next();
    let role = line[..colon].trim_start();
    let fits = known(role) && behind.is_some_and(char::is_whitespace);
    fits.then_some(colon)
}

/// Returns whether a template's own text contains role lines.
///
/// # Examples
///
/// ```
/// use quillet_template::structure::has_role_lines;
///
/// assert!(has_role_lines("system:\nBe brief.", false));
/// assert!(!has_role_lines("The system: it works.", false));
/// ```
#[must_use]
pub fn has_role_lines(text: &str, loose: bool) -> bool {
    lines(text, loose).next().is_some()
}

/// Returns the spans of the role names in a template's own text. `loose` is
/// [`crate::TemplateFormat::has_loose_role_lines`]. Role lines whose role is a value are omitted.
#[must_use]
pub fn role_names(text: &str, loose: bool) -> Vec<Span> {
    let name = |(start, colon): (usize, usize)| {
        let line = text.get(start..colon)?;
        let (name, _) = divided(line);
        let at = start + line.find(name).filter(|_| known(name))?;
        Some(Span {
            start: at,
            end: at + name.len(),
        })
    };
    lines(text, loose).filter_map(name).collect()
}

/// Returns the offsets of the marks of a role line: its start, the characters that separate
/// attributes, and its colon.
fn places(text: &str, start: usize, colon: usize) -> Vec<usize> {
    let mut places = vec![start];
    let line = &text[start..colon];
    // Brackets in an output are code, not attributes.
    let is_output = line.trim_start().starts_with("{{");
    if let Some(bracket) = line.find('[').filter(|_| !is_output) {
        let dividers = dividers(&line[bracket..]);
        places.extend(dividers.map(|at| start + bracket + at));
    }
    places.push(colon);
    places
}

/// Yields the characters that separate attributes, except those in template code in braces.
fn dividers(attributes: &str) -> impl Iterator<Item = usize> {
    let (mut braces, mut quoted) = (0_usize, false);
    attributes.char_indices().filter_map(move |(at, c)| {
        match c {
            '{' => braces += 1,
            '}' => braces = braces.saturating_sub(1),
            '"' if braces == 0 => {
                quoted = !quoted;
                return Some(at);
            }
            ',' | '=' if braces == 0 && !quoted => return Some(at),
            _ => {}
        }
        None
    })
}

fn is_role_line(line: &str) -> bool {
    let Some(rest) = line.trim_start().strip_suffix(':') else {
        return false;
    };
    let (name, attributes) = divided(rest);
    known(name) && attributes.is_none_or(|text| text.ends_with(']'))
}

/// Whether a line begins like a role line. Text after the colon is allowed, because some programs
/// treat `system: obey` as a role line too.
pub(super) fn begins_as_role_line(line: &str) -> bool {
    let line = line.trim_start().trim_start_matches(['#', ' ', '\t']);
    let end = line.find(|c: char| !c.is_ascii_alphabetic());
    let (name, rest) = line.split_at(end.unwrap_or(line.len()));
    let rest = rest.trim_start();
    known(name) && (rest.starts_with(':') || rest.starts_with('[') && has_colon_after(rest))
}

/// Whether a closing bracket is followed by a colon.
fn has_colon_after(attributes: &str) -> bool {
    let mut closed = attributes.split(']').skip(1);
    closed.any(|rest| rest.trim_start().starts_with(':'))
}

/// Splits a line into the name of the role and the attributes in brackets.
fn divided(line: &str) -> (&str, Option<&str>) {
    let line = line.trim_start_matches(['#', ' ', '\t']).trim_end();
    match line.find('[') {
        Some(at) => (line[..at].trim_end(), Some(&line[at..])),
        None => (line, None),
    }
}

fn known(name: &str) -> bool {
    ROLES.iter().any(|role| role.eq_ignore_ascii_case(name))
}

/// Returns the messages in text that another program rendered. Every line that resembles a role
/// line is treated as a role line, as in prompty's parser without `strict`.
///
/// # Examples
///
/// ```
/// use quillet_template::structure::parse_role_lines;
///
/// let messages = parse_role_lines("system:\nBe brief.\nuser:\nHi");
/// let roles: Vec<&str> = messages.iter().map(|message| &*message.role).collect();
/// assert_eq!(roles, ["system", "user"]);
/// ```
#[must_use]
pub fn parse_role_lines(text: &str) -> Vec<ChatMessage> {
    blocks(&mark(text, false).0)
}

/// Returns the messages of a text with marked role lines, or `None` if there are none.
pub(super) fn messages(text: &str) -> Option<Vec<ChatMessage>> {
    let (_, text) = text.split_once(&directive::lines())?;
    Some(blocks(text))
}

/// Splits a text into messages. Text before the first role line belongs to the system.
fn blocks(text: &str) -> Vec<ChatMessage> {
    let mut messages = Vec::new();
    let (mut line, mut rest) = ("", text);
    while let Some((before, next, after)) = next(rest) {
        block(line, before, &mut messages);
        (line, rest) = (next, after);
    }
    block(line, rest, &mut messages);
    drop_empty_end(&mut messages);
    messages
}

/// Drops an empty user message at the end, as prompty does, because models reject an empty last
/// message.
fn drop_empty_end(messages: &mut Vec<ChatMessage>) {
    let says_nothing = |message: &ChatMessage| message.role == "user" && is_empty(message);
    if messages.len() > 1 && messages.last().is_some_and(says_nothing) {
        messages.pop();
    }
}

fn is_empty(message: &ChatMessage) -> bool {
    let blank =
        |part: &MessagePart| matches!(part, MessagePart::Text(text) if text.trim().is_empty());
    message.parts.iter().all(blank)
}

/// Finds the next role line. Returns the text before it, the line, and the text after it. Marks of
/// a format's other structure are skipped, because they have no role or colon.
fn next(text: &str) -> Option<(&str, &str, &str)> {
    let secret = secret::secret();
    let marks = text.match_indices(secret).map(|(at, _)| at);
    // A mark before a separator belongs to an attribute.
    let mut marks = marks.filter(|at| !text[at + secret.len()..].starts_with(DIVIDERS));
    let mut start = marks.next()?;
    for end in marks {
        let line = &text[start + secret.len()..end];
        let after = text[end + secret.len()..].strip_prefix(':');
        if let Some(after) = after.filter(|_| known(divided(line.trim()).0)) {
            return Some((&text[..start], line, after));
        }
        start = end;
    }
    None
}

/// Adds the message that a role line begins. Earlier conversations in its content become separate
/// messages and split it.
fn block(line: &str, content: &str, messages: &mut Vec<ChatMessage>) {
    let head = head(line);
    let named = !line.is_empty();
    let mut current = head.clone();
    let mut divided = false;
    let content = content.trim_start_matches([' ', '\t']);
    for piece in directive::pieces(content) {
        match piece {
            DirectivePart::Text(text) => {
                let text = secret::clean_text(text, secret::secret()).into_owned();
                current.parts.push(MessagePart::Text(text));
            }
            DirectivePart::Directive(Directive::Thread(thread)) => {
                // The content before the conversation is a separate message.
                finish(&mut current, false, messages);
                messages.extend(thread);
                current = head.clone();
                divided = true;
            }
            DirectivePart::Directive(found) => current.parts.extend(found.into_part()),
        }
    }
    finish(&mut current, named && !divided, messages);
}

/// Trims the line endings around a message, and adds it if any text remains. With `even_empty`, an
/// empty message is added too.
fn finish(message: &mut ChatMessage, even_empty: bool, messages: &mut Vec<ChatMessage>) {
    let newlines = ['\n', '\r'];
    if let Some(MessagePart::Text(text)) = message.parts.first_mut() {
        *text = text.trim_start_matches(newlines).to_owned();
    }
    if let Some(MessagePart::Text(text)) = message.parts.last_mut() {
        *text = text.trim_end_matches(newlines).to_owned();
    }
    let blank =
        |part: &MessagePart| matches!(part, MessagePart::Text(text) if text.trim().is_empty());
    let alone = message.parts.len() == 1;
    // A message may consist of a single blank string, but a blank string next to other parts is
    // layout.
    message.parts.retain(|part| alone || !blank(part));
    if even_empty || !is_empty(message) {
        if message.parts.is_empty() {
            message.parts.push(MessagePart::Text(String::new()));
        }
        messages.push(std::mem::take(message));
    }
}

/// Creates a message without parts for a role line. Without a role it belongs to the system.
fn head(line: &str) -> ChatMessage {
    let line = line.trim();
    let (name, attributes) = divided(line);
    let role = if name.is_empty() { "system" } else { name };
    ChatMessage {
        role: role.to_ascii_lowercase(),
        parts: Vec::new(),
        metadata: attributes.map(metadata).unwrap_or_default(),
    }
}

/// Parses `[name="Ann", id=7]`. An unquoted number becomes a number. Only marked characters
/// separate attributes.
fn metadata(text: &str) -> Map {
    let text = text.strip_prefix('[').unwrap_or(text);
    let inside = text.strip_suffix(']').unwrap_or(text);
    let [quote, comma, equals] = DIVIDERS.map(|c| format!("{}{c}", secret::secret()));
    let pair = |pair: &str| {
        let (key, value) = pair.split_once(&equals)?;
        let key = secret::clean_text(key.trim(), secret::secret()).into_owned();
        Some((key, attribute(value.trim(), &quote)))
    };
    inside.split(&comma).filter_map(pair).collect()
}

fn attribute(value: &str, quote: &str) -> Value {
    let quoted = value.strip_prefix(quote);
    let text = quoted.map_or(value, |text| text.strip_suffix(quote).unwrap_or(text));
    let value = &*secret::clean_text(text, secret::secret());
    if quoted.is_some() {
        return value.into();
    }
    if let Ok(number) = value.parse::<i64>() {
        return number.into();
    }
    match value.parse::<f64>() {
        Ok(number) if number.is_finite() => number.into(),
        _ => value.into(),
    }
}
