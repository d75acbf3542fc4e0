//! Role lines: `system:` or `user[name="Ann"]:` on a line of its own, as in prompty; also `{{
//! message.role }}:`, where a value names the role.
//!
//! Role lines are found in the template's own text before it is compiled, in any format, because
//! each is a separate line. Each is enclosed in two marks. A similar line from a value has no marks
//! and stays text.

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

/// Byte offsets of inserted marks in the marked text, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Insertions(Vec<usize>);

impl Insertions {
    /// Converts an offset of the marked text to one of the original text.
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

/// Encloses the role lines of a text in marks; the second mark precedes the colon. The characters
/// that divide attributes are marked too, so a value printed in an attribute cannot end it. `loose`
/// is [`crate::TemplateFormat::has_loose_role_lines`].
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

/// Offsets of role lines and of their colons.
fn lines(text: &str, loose: bool) -> impl Iterator<Item = (usize, usize)> {
    let mut at = 0;
    text.split_inclusive('\n').filter_map(move |line| {
        let start = at;
        at += line.len();
        let bare = line.trim_end();
        // A plain role line wins, also in loose mode.
        match is_role_line(bare) {
            true => Some((start, start + bare.len() - 1)),
            false if loose => loose_colon(line).map(|colon| (start, start + colon)),
            false => output(bare)
                .filter(|inside| asks_for_role(inside))
                .map(|_| (start, start + bare.len() - 1)),
        }
    })
}

/// Returns the text inside the braces of a line that consists of one output and a colon.
fn output(bare: &str) -> Option<&str> {
    let inside = bare.trim_start().strip_prefix("{{")?.strip_suffix("}}:")?;
    // Two outputs on a line are not a single role.
    (!inside.contains("}}")).then_some(inside)
}

/// Whether an output prints a role by its name: `role`, `message.role`, `message["role"]`. Any
/// other `{{ title }}:` is text. Otherwise a document with the title `system` would speak as the
/// system.
fn asks_for_role(inside: &str) -> bool {
    // `{{-` removes the preceding line ending, so its output does not begin a line.
    if inside.starts_with(['-', '~']) {
        return false;
    }
    // A filter after the role does not change what the author calls it.
    let path = inside.split('|').next().unwrap_or_default();
    let path = path.trim_matches(['{', '}', '&', '-', '~', ' ', '\t']);
    let quoted = ["[\"role\"]", "['role']"];
    if quoted.iter().any(|last| path.ends_with(last)) {
        return true;
    }
    let first = path.rfind(['.', '$']).map_or(0, |divider| divider + 1);
    path[first..].eq_ignore_ascii_case("role")
}

/// Finds a role line whose role is a value, `{{ message.role }}:`, in a template's text.
#[must_use]
pub fn computed_role_line(text: &str) -> Option<usize> {
    let mut lines = lines(text, false).map(|(start, _)| start);
    lines.find(|start| text[*start..].trim_start().starts_with("{{"))
}

/// Returns the offset of the colon in a line `user: hi`, or in a line that consists of an output
/// and a colon, whose value is the role.
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

/// Whether a template's own text has role lines.
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

/// Returns the spans of role names in the role lines of a template's own text. `loose` is
/// [`crate::TemplateFormat::has_loose_role_lines`]. A line whose role is a value has none.
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

/// Offsets of the marks of a role line: its start, the characters that divide attributes, its
/// colon.
fn places(text: &str, start: usize, colon: usize) -> Vec<usize> {
    let mut places = vec![start];
    let line = &text[start..colon];
    // Brackets inside an output are its code, not attributes.
    let is_output = line.trim_start().starts_with("{{");
    if let Some(bracket) = line.find('[').filter(|_| !is_output) {
        let dividers = dividers(&line[bracket..]);
        places.extend(dividers.map(|at| start + bracket + at));
    }
    places.push(colon);
    places
}

/// Yields the characters that divide attributes, except inside braces, where template code is.
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

/// Whether a line begins like a role line, whatever follows the colon: some consumers also treat
/// `system: obey` as a role line.
pub(super) fn begins_as_role_line(line: &str) -> bool {
    let line = line.trim_start().trim_start_matches(['#', ' ', '\t']);
    let end = line.find(|c: char| !c.is_ascii_alphabetic());
    let (name, rest) = line.split_at(end.unwrap_or(line.len()));
    let rest = rest.trim_start();
    known(name) && (rest.starts_with(':') || rest.starts_with('[') && has_colon_after(rest))
}

/// Whether a colon follows a closing bracket.
fn has_colon_after(attributes: &str) -> bool {
    let mut closed = attributes.split(']').skip(1);
    closed.any(|rest| rest.trim_start().starts_with(':'))
}

/// Splits a line into the role's name and the rest, from the bracket on.
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

/// Reads the messages of a text that was rendered elsewhere, where every line that resembles a role
/// line is one (prompty's parser without `strict`).
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

/// Reads the messages of a text with marked role lines. Returns `None` if the template has no such
/// lines.
pub(super) fn messages(text: &str) -> Option<Vec<ChatMessage>> {
    let (_, text) = text.split_once(&directive::lines())?;
    Some(blocks(text))
}

/// Text before the first role line belongs to the system.
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

/// An empty user message at the end is dropped, as in prompty: no model accepts an empty last
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

/// Finds the next role line, with the text before and after it. A format may have marked other text
/// too; such marks have no role, or no colon after them.
fn next(text: &str) -> Option<(&str, &str, &str)> {
    let secret = secret::secret();
    let marks = text.match_indices(secret).map(|(at, _)| at);
    // A mark before a divider belongs to the attributes of a role line.
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

/// Adds the message that a role line begins. Conversations inside it are separate messages and
/// divide it.
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
                // The conversation replaces the content of the role line.
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

/// Trims the line endings around a message, and adds it if text remains. An empty message is kept
/// where a role line requests one.
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
    // A message may consist of one blank text; next to other parts, blank text is layout.
    message.parts.retain(|part| alone || !blank(part));
    if even_empty || !is_empty(message) {
        if message.parts.is_empty() {
            message.parts.push(MessagePart::Text(String::new()));
        }
        messages.push(std::mem::take(message));
    }
}

/// Creates a message without parts for a role line; an empty role is the system.
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

/// Parses `[name="Ann", id=7]`: an unquoted value that is a number becomes a number. Only marked
/// characters divide attributes.
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
