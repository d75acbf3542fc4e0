//! Reads messages from a rendered text whose tags were marked by [`super::Elements`].
//!
//! Only marked characters are structure. Unmarked text that resembles structure came from data and
//! is copied unchanged.

use quillet_core::value::MapTable;

use super::message::{ChatMessage, MessagePart};
use super::{entity, secret};

/// Returns the messages of a text with marked tags, or `None` if it has none.
///
/// Text outside messages, if not blank, belongs to the user. Before the first message it belongs to
/// the system, unless all of it is data.
pub(super) fn messages(text: &str) -> Option<Vec<ChatMessage>> {
    let mut pieces = text.split(secret::secret());
    let mut reader = ElementReader::default();
    reader.text(pieces.next().unwrap_or_default());
    for piece in pieces {
        reader.marked(piece);
    }
    reader.finish()
}

#[derive(Debug, Default)]
struct ElementReader {
    messages: Vec<ChatMessage>,
    /// Whether a message tag was found.
    any: bool,
    /// Text outside of messages.
    outside: String,
    open: Option<OpenMessage>,
    tag: Option<OpenTag>,
    /// Whether the next tag was marked twice.
    twice: bool,
}

/// A message whose end tag is pending.
#[derive(Debug, Default)]
struct OpenMessage {
    role: String,
    metadata: MapTable,
    parts: Vec<MessagePart>,
    text: String,
    part: Option<OpenPart>,
}

/// `<text>` or media whose end tag is pending.
#[derive(Debug)]
struct OpenPart {
    kind: ElementKind,
    /// Source of its tag, used if the tag never ends.
    raw: String,
    content_type: Option<String>,
    text: String,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum ElementKind {
    Message,
    Text,
    /// Kind of media in a [`MessagePart`].
    Media(&'static str),
}

/// A tag whose `>` is pending.
#[derive(Debug)]
struct OpenTag {
    kind: ElementKind,
    /// Its full text, restored if it turns out not to be a tag.
    raw: String,
    attributes: Vec<(String, String)>,
    place: TagPosition,
    /// Whether `/` was read: the tag has no content.
    empty: bool,
    /// Whether the author's own text precedes it.
    words: bool,
}

/// Position inside a tag.
#[derive(Debug)]
enum TagPosition {
    /// Outside quotes.
    Between,
    /// In an attribute's name.
    Name(String),
    /// After `=`; the name is empty if it did not come from the template.
    Equals(String),
    /// In the value of the named attribute.
    Quoted(char, String, String),
}

impl ElementReader {
    /// Reads unmarked text.
    fn text(&mut self, text: &str) {
        let Some(message) = &mut self.open else {
            return self.outside.push_str(text);
        };
        match &mut message.part {
            Some(part) => part.text.push_str(text),
            None => message.text.push_str(text),
        }
    }

    /// Reads a marked character and the text after it.
    fn marked(&mut self, piece: &str) {
        // An empty piece means two marks in a row: the next tag was marked twice.
        let twice = std::mem::replace(&mut self.twice, piece.is_empty());
        if let Some(mut tag) = self.tag.take() {
            match tag.marked(piece) {
                Some(TagProgress::Goes) => return self.tag = Some(tag),
                Some(TagProgress::Ends) => {
                    self.ended(tag);
                    return self.text(&piece[1..]);
                }
                // Not a tag after all: its text is restored, and this piece is read as if nothing
                // had begun.
                None => self.text(&tag.raw),
            }
        }
        match piece.as_bytes().first() {
            Some(b'<') if piece.starts_with("</") => self.closing(piece),
            Some(b'<') => self.tag = Some(OpenTag::new(piece, twice)),
            Some(b'&') => match entity::read(piece) {
                Some((character, length)) => {
                    self.text(character.encode_utf8(&mut [0; 4]));
                    self.text(&piece[length..]);
                }
                None => self.text(piece),
            },
            _ => self.text(piece),
        }
    }

    /// Reads `</name>` and the text after it.
    fn closing(&mut self, piece: &str) {
        let (tag, after) = piece.split_once('>').unwrap_or((piece, ""));
        let kind = kind(tag[2..].trim_end());
        let Some(message) = self.open.as_mut() else {
            // A closing tag outside a message is text.
            return self.text(piece);
        };
        let of_part = message.part.as_ref().map(|part| part.kind);
        match kind {
            ElementKind::Message => self.close(),
            _ if of_part == Some(kind) => message.end_part(),
            _ => return self.text(piece),
        }
        self.text(after);
    }

    /// Handles the `>` of a tag.
    fn ended(&mut self, tag: OpenTag) {
        match (tag.kind, &mut self.open) {
            (ElementKind::Message, _) if tag.attribute("role").is_some() => self.begin(tag),
            (ElementKind::Text | ElementKind::Media(_), Some(message))
                if message.part.is_none() =>
            {
                let empty = tag.empty;
                message.part = Some(OpenPart::new(tag));
                if empty {
                    message.end_part();
                }
            }
            // Not valid here, so the tag is restored as text.
            _ => {
                let raw = tag.raw + ">";
                self.text(&raw);
            }
        }
    }

    fn begin(&mut self, tag: OpenTag) {
        // An unclosed message ends where the next one begins.
        self.close();
        self.flush(if tag.words && !self.any {
            "system"
        } else {
            "user"
        });
        self.any = true;
        let mut message = OpenMessage::default();
        for (name, value) in tag.attributes {
            if name == "role" {
                message.role = value;
            } else {
                message.metadata.insert(name.into(), value.into());
            }
        }
        self.open = Some(message);
        if tag.empty {
            self.close();
        }
    }

    /// Ends the open message, if any.
    fn close(&mut self) {
        self.messages
            .extend(self.open.take().map(OpenMessage::close));
    }

    /// Turns the text outside messages into a message, unless it is blank.
    fn flush(&mut self, role: &str) {
        let text = std::mem::take(&mut self.outside);
        let text = text.trim();
        if !text.is_empty() {
            self.messages.push(ChatMessage::text(role, text));
        }
    }

    fn finish(mut self) -> Option<Vec<ChatMessage>> {
        // The output ended inside a tag, which is therefore text.
        if let Some(tag) = self.tag.take() {
            self.text(&tag.raw);
        }
        if !self.any {
            return None;
        }
        self.close();
        self.flush("user");
        Some(self.messages)
    }
}

impl OpenMessage {
    fn end_part(&mut self) {
        let Some(part) = self.part.take() else {
            return;
        };
        self.flush();
        let text = part.text.trim().to_owned();
        self.parts.push(match part.kind {
            ElementKind::Media(kind) => MessagePart::Media {
                kind: Some(kind.to_owned()),
                url: text,
                content_type: part.content_type,
            },
            _ => MessagePart::Text(text),
        });
    }

    /// Turns the text between parts into a part, unless it is blank.
    fn flush(&mut self) {
        let text = std::mem::take(&mut self.text);
        let text = text.trim();
        if !text.is_empty() {
            self.parts.push(MessagePart::Text(text.to_owned()));
        }
    }

    fn close(mut self) -> ChatMessage {
        // A part without an end tag is text, including its opening tag.
        if let Some(part) = self.part.take() {
            self.text += &part.raw;
            self.text += &part.text;
        }
        self.flush();
        ChatMessage {
            role: self.role,
            parts: self.parts,
            metadata: self.metadata.into_iter().collect(),
        }
    }
}

impl OpenPart {
    fn new(tag: OpenTag) -> Self {
        OpenPart {
            kind: tag.kind,
            content_type: tag.attribute("mimetype").map(str::to_owned),
            raw: tag.raw + ">",
            text: String::new(),
        }
    }
}

/// Result of reading one character of a tag.
enum TagProgress {
    Goes,
    /// The tag ended with this `>`.
    Ends,
}

impl OpenTag {
    /// Starts a tag at the start of a text that has its name and more.
    fn new(piece: &str, words: bool) -> Self {
        let name = piece[1..].find(|c: char| !c.is_ascii_alphabetic());
        let end = name.map_or(piece.len(), |length| 1 + length);
        OpenTag {
            kind: kind(&piece[1..end]),
            raw: piece.to_owned(),
            attributes: Vec::new(),
            place: TagPosition::Between,
            empty: false,
            words,
        }
    }

    fn attribute(&self, name: &str) -> Option<&str> {
        // The first of duplicate attributes wins.
        let mut found = self.attributes.iter().filter(|(known, _)| known == name);
        found.next().map(|(_, value)| value.as_str())
    }

    /// Reads a marked character and the text after it; `None` if this is not a tag.
    fn marked(&mut self, piece: &str) -> Option<TagProgress> {
        let first = piece.chars().next()?;
        let rest = &piece[first.len_utf8()..];
        let place = std::mem::replace(&mut self.place, TagPosition::Between);
        self.place = match (place, first) {
            (TagPosition::Quoted(quote, name, value), _) if first == quote => {
                // A name that comes from data does not count.
                if !name.is_empty() {
                    self.attributes.push((name, value));
                }
                TagPosition::Between
            }
            (TagPosition::Quoted(quote, name, mut value), '&') => {
                // A marked `&` is always a reference, which the compiler has checked.
                let (character, length) = entity::read(piece)?;
                value.push(character);
                value.push_str(&piece[length..]);
                TagPosition::Quoted(quote, name, value)
            }
            // `<` is invalid inside a tag even in quotes, as in XML.
            (TagPosition::Quoted(..), _) | (_, '<' | '&') => return None,
            (_, '>') => return Some(TagProgress::Ends),
            (_, '/') => {
                self.empty = true;
                TagPosition::Between
            }
            (TagPosition::Name(name), '=') => TagPosition::Equals(name),
            (_, '=') => TagPosition::Equals(String::new()),
            (TagPosition::Equals(name), '"' | '\'') => {
                TagPosition::Quoted(first, name, rest.to_owned())
            }
            (_, '"' | '\'') => TagPosition::Quoted(first, String::new(), rest.to_owned()),
            _ => TagPosition::Name(piece.trim().to_owned()),
        };
        self.raw.push_str(piece);
        Some(TagProgress::Goes)
    }
}

fn kind(name: &str) -> ElementKind {
    match name.to_ascii_lowercase().as_str() {
        "message" => ElementKind::Message,
        "image" => ElementKind::Media("image"),
        "audio" => ElementKind::Media("audio"),
        "binary" => ElementKind::Media("file"),
        _ => ElementKind::Text,
    }
}
