//! Reads the messages of a rendered text in which [`super::Elements`] has marked the tags.
//!
//! Only marked characters are structure. Unmarked text that resembles a tag is data and is copied
//! unchanged.

use quillet_core::value::MapTable;

use super::message::{ChatMessage, MessagePart};
use super::{entity, secret};

/// Returns the messages of a text with marked tags, or `None` if there are none.
///
/// Nonblank text outside messages belongs to the user. Before the first message it belongs to the
/// system, unless all of it is data.
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
    /// Text outside messages.
    outside: String,
    open: Option<OpenMessage>,
    tag: Option<OpenTag>,
    /// Whether the next tag was marked twice.
    twice: bool,
}

/// A message without its end tag.
#[derive(Debug, Default)]
struct OpenMessage {
    role: String,
    metadata: MapTable,
    parts: Vec<MessagePart>,
    text: String,
    part: Option<OpenPart>,
}

/// A `<text>` or media element without its end tag.
#[derive(Debug)]
struct OpenPart {
    kind: ElementKind,
    /// The opening tag as written. It becomes text if there is no end tag.
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

/// A tag without its `>`.
#[derive(Debug)]
struct OpenTag {
    kind: ElementKind,
    /// The tag as written. It becomes text if it turns out not to be a tag.
    raw: String,
    attributes: Vec<(String, String)>,
    place: TagPosition,
    /// Whether a `/` was read, so that the tag has no content.
    empty: bool,
    /// Whether text of the template's author precedes the tag.
    words: bool,
}

/// Position in a tag.
#[derive(Debug)]
enum TagPosition {
    /// Outside attributes.
    Between,
    /// In an attribute's name.
    Name(String),
    /// After `=`. The name is empty if it is not the template's own text.
    Equals(String),
    /// In the value of the named attribute.
    Quoted(char, String, String),
}

impl ElementReader {
    /// Adds unmarked text to the message or to the text outside messages.
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
        // An empty piece is between two adjacent marks, so the next tag is marked twice.
        let twice = std::mem::replace(&mut self.twice, piece.is_empty());
        if let Some(mut tag) = self.tag.take() {
            match tag.marked(piece) {
                Some(TagProgress::Goes) => return self.tag = Some(tag),
                Some(TagProgress::Ends) => {
                    self.ended(tag);
                    return self.text(&piece[1..]);
                }
                // This is not a tag, so its text is restored, and the current piece is read as
                // usual.
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

    /// Reads an end tag and the text after it.
    fn closing(&mut self, piece: &str) {
        let (tag, after) = piece.split_once('>').unwrap_or((piece, ""));
        let kind = kind(tag[2..].trim_end());
        let Some(message) = self.open.as_mut() else {
            // An end tag outside a message is text.
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
            // The tag is not valid here, so it is restored as text.
            _ => {
                let raw = tag.raw + ">";
                self.text(&raw);
            }
        }
    }

    fn begin(&mut self, tag: OpenTag) {
        // An unclosed message ends at the start of the next message.
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

    /// Adds the text outside messages as a message, unless it is blank.
    fn flush(&mut self, role: &str) {
        let text = std::mem::take(&mut self.outside);
        let text = text.trim();
        if !text.is_empty() {
            self.messages.push(ChatMessage::text(role, text));
        }
    }

    fn finish(mut self) -> Option<Vec<ChatMessage>> {
        // The output ends inside a tag, so the tag is text.
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

    /// Adds the text between parts as a part, unless it is blank.
    fn flush(&mut self) {
        let text = std::mem::take(&mut self.text);
        let text = text.trim();
        if !text.is_empty() {
            self.parts.push(MessagePart::Text(text.to_owned()));
        }
    }

    fn close(mut self) -> ChatMessage {
        // A part without an end tag is text, and so is its opening tag.
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

/// Result of reading a piece of a tag.
enum TagProgress {
    Goes,
    /// The tag ended here.
    Ends,
}

impl OpenTag {
    /// Creates a tag from a piece of text that begins with `<` and the name.
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
        // The first of several attributes with the same name wins.
        let mut found = self.attributes.iter().filter(|(known, _)| known == name);
        found.next().map(|(_, value)| value.as_str())
    }

    /// Reads a marked character and the text after it. Returns `None` if this is not a tag.
    fn marked(&mut self, piece: &str) -> Option<TagProgress> {
        let first = piece.chars().next()?;
        let rest = &piece[first.len_utf8()..];
        let place = std::mem::replace(&mut self.place, TagPosition::Between);
        self.place = match (place, first) {
            (TagPosition::Quoted(quote, name, value), _) if first == quote => {
                // A name from data is ignored.
                if !name.is_empty() {
                    self.attributes.push((name, value));
                }
                TagPosition::Between
            }
            (TagPosition::Quoted(quote, name, mut value), '&') => {
                // A marked `&` begins a valid reference, because the compiler has checked it.
                let (character, length) = entity::read(piece)?;
                value.push(character);
                value.push_str(&piece[length..]);
                TagPosition::Quoted(quote, name, value)
            }
            // As in XML, a `<` is invalid in a tag, even in quotes.
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
