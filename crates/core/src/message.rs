//! Messages of a conversation, in the form common to chat APIs.

use std::borrow::Cow;
use std::fmt;

use serde::de::value::SeqAccessDeserializer;
use serde::de::{self, Deserializer, SeqAccess, Visitor};
use serde::ser::Serializer;
use serde::{Deserialize, Serialize};

/// Role of a message's author.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Instructions of the application.
    System,
    /// Instructions of the application, under OpenAI's newer name.
    Developer,
    /// The user, a person or a program.
    User,
    /// The model.
    Assistant,
    /// The result of a tool call.
    Tool,
}

impl Role {
    /// Name in JSON.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Role::System => "system",
            Role::Developer => "developer",
            Role::User => "user",
            Role::Assistant => "assistant",
            Role::Tool => "tool",
        }
    }

    /// Returns the role with this name.
    ///
    /// # Examples
    ///
    /// ```
    /// use quillet_core::Role;
    ///
    /// assert_eq!(Role::parse("assistant"), Some(Role::Assistant));
    /// assert_eq!(Role::parse("Assistant"), None);
    /// ```
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        [
            Role::System,
            Role::Developer,
            Role::User,
            Role::Assistant,
            Role::Tool,
        ]
        .into_iter()
        .find(|role| role.as_str() == name)
    }
}

/// Writes the name in JSON.
impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // `pad` honours the width of a format, which `write_str` ignores.
        f.pad(self.as_str())
    }
}

/// One message of a conversation. Its JSON has the format of OpenAI's Chat API.
///
/// # Examples
///
/// ```
/// use quillet_core::{Message, Role};
///
/// let message = Message::new(Role::User, "Hello");
/// let json = serde_json::to_string(&message)?;
/// assert_eq!(json, r#"{"role":"user","content":"Hello"}"#);
/// assert_eq!(serde_json::from_str::<Message>(&json)?, message);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Message {
    /// Role of the author.
    pub role: Role,
    /// Content; empty for a turn of the model that only makes calls.
    #[serde(default, deserialize_with = "nothing_is_no_text")]
    pub content: MessageContent,
    /// Name of the author, if several have the same role.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Calls requested by the model; only in messages of the assistant.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "nothing_is_none"
    )]
    pub tool_calls: Vec<ToolCall>,
    /// Id of the call that this message answers; only in messages of a tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
    /// Whether the call failed; only in messages of a tool.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_error: bool,
    /// The model's visible reasoning; only in messages of the assistant.
    #[serde(
        default,
        rename = "reasoning_content",
        skip_serializing_if = "Option::is_none"
    )]
    pub reasoning: Option<String>,
    /// The message in a provider's own format. It is sent to that provider only, and must be
    /// removed when the message is changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub native: Option<NativeTurn>,
}

impl Message {
    /// Creates a message.
    pub fn new(role: Role, content: impl Into<MessageContent>) -> Self {
        Message {
            role,
            content: content.into(),
            name: None,
            tool_calls: Vec::new(),
            tool_call_id: None,
            is_error: false,
            reasoning: None,
            native: None,
        }
    }

    /// Creates the result of a call.
    ///
    /// # Examples
    ///
    /// ```
    /// use quillet_core::Message;
    ///
    /// let json = serde_json::to_string(&Message::tool("call_1", "12 °C"))?;
    /// assert_eq!(json, r#"{"role":"tool","content":"12 °C","tool_call_id":"call_1"}"#);
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn tool(call: impl Into<String>, content: impl Into<MessageContent>) -> Self {
        Message {
            tool_call_id: Some(call.into()),
            ..Message::new(Role::Tool, content)
        }
    }
}

fn is_false(value: &bool) -> bool {
    !value
}

fn nothing_is_no_text<'de, D: Deserializer<'de>>(reader: D) -> Result<MessageContent, D::Error> {
    // In OpenAI's Chat API, the content of a turn that only makes calls is `null`.
    Ok(Option::<MessageContent>::deserialize(reader)?.unwrap_or_default())
}

fn nothing_is_none<'de, D: Deserializer<'de>>(reader: D) -> Result<Vec<ToolCall>, D::Error> {
    // Some programs write `null` instead of an empty list.
    Ok(Option::<Vec<ToolCall>>::deserialize(reader)?.unwrap_or_default())
}

/// A call requested by the model. Its JSON has the format of OpenAI's Chat API:
/// `{"id": …, "type": "function", "function": {"name": …, "arguments": "{…}"}}`.
///
/// # Examples
///
/// ```
/// use quillet_core::ToolCall;
///
/// let call: ToolCall = serde_json::from_str(
///     r#"{"id": "call_1", "type": "function", "function": {"name": "now", "arguments": "{}"}}"#,
/// )?;
/// assert_eq!((call.id.as_str(), call.name.as_str()), ("call_1", "now"));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ToolCall {
    /// The provider's id of the call.
    pub id: String,
    /// The tool.
    pub name: String,
    /// JSON text of the arguments, unchanged from the model.
    pub arguments: String,
}

impl ToolCall {
    /// Returns the arguments, if their text is a complete JSON object. An empty text counts as an
    /// empty object. A truncated text is never repaired.
    ///
    /// # Examples
    ///
    /// ```
    /// use quillet_core::ToolCall;
    ///
    /// let call = |arguments: &str| ToolCall {
    ///     arguments: arguments.into(),
    ///     ..ToolCall::default()
    /// };
    /// let arguments = call(r#"{"city": "Oslo"}"#).arguments_object().unwrap();
    /// assert_eq!(arguments["city"], "Oslo");
    /// // A truncated text is rejected.
    /// assert_eq!(call(r#"{"city": "Os"#).arguments_object(), None);
    /// ```
    #[must_use]
    pub fn arguments_object(&self) -> Option<serde_json::Map<String, serde_json::Value>> {
        // For functions without parameters, models send an empty text or `null`.
        if matches!(self.arguments.trim(), "" | "null") {
            return Some(serde_json::Map::new());
        }
        serde_json::from_str(&self.arguments).ok()
    }
}

#[derive(Serialize, Deserialize)]
struct WireCall<'a> {
    #[serde(default)]
    id: Cow<'a, str>,
    #[serde(default = "function_type")]
    r#type: Cow<'a, str>,
    function: WireFunction<'a>,
}

#[derive(Serialize, Deserialize)]
struct WireFunction<'a> {
    name: Cow<'a, str>,
    #[serde(default)]
    arguments: Cow<'a, str>,
}

fn function_type() -> Cow<'static, str> {
    Cow::Borrowed("function")
}

impl Serialize for ToolCall {
    fn serialize<S: Serializer>(&self, writer: S) -> Result<S::Ok, S::Error> {
        let wire = WireCall {
            id: Cow::Borrowed(&self.id),
            r#type: function_type(),
            function: WireFunction {
                name: Cow::Borrowed(&self.name),
                arguments: Cow::Borrowed(&self.arguments),
            },
        };
        wire.serialize(writer)
    }
}

impl<'de> Deserialize<'de> for ToolCall {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        let wire = WireCall::deserialize(reader)?;
        Ok(ToolCall {
            id: wire.id.into_owned(),
            name: wire.function.name.into_owned(),
            arguments: wire.function.arguments.into_owned(),
        })
    }
}

/// A message in a provider's own format, to be sent back unchanged.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct NativeTurn {
    /// The provider API: `openai-chat`, `openai-responses`, `anthropic`, `gemini`.
    pub wire: String,
    /// The model that wrote it, if the provider binds the content to the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The content in the format of that API: Anthropic's blocks, Gemini's parts, the output items
    /// of OpenAI's Responses, or the extra members of a chat message.
    pub content: serde_json::Value,
}

/// Content of a message: text, or an ordered list of parts. Its JSON is a string, or a list of
/// objects with a `type`, as in OpenAI's Chat API.
///
/// # Examples
///
/// ```
/// use quillet_core::{ContentPart, MessageContent};
///
/// let content = MessageContent::from(vec![
///     ContentPart::text("Describe "),
///     ContentPart::media("https://example.com/a.png", None, None),
/// ]);
/// assert_eq!(content.to_string(), "Describe [image https://example.com/a.png]");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(untagged)]
pub enum MessageContent {
    /// A text.
    Text(String),
    /// Texts and media.
    Parts(Vec<ContentPart>),
}

/// One part of a message.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ContentPart {
    /// A text.
    Text {
        /// The text.
        text: String,
    },
    /// An image.
    ImageUrl {
        /// The image.
        image_url: MediaUrl,
    },
    /// Audio by URL, which not every provider accepts.
    AudioUrl {
        /// The audio.
        audio_url: MediaUrl,
    },
    /// Audio embedded in the message.
    InputAudio {
        /// The audio.
        input_audio: InputAudio,
    },
    /// Any other file.
    File {
        /// The file.
        file: MediaFile,
    },
}

/// URL of media, with the scheme `https` or `data`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct MediaUrl {
    /// The URL.
    pub url: String,
    /// Image detail: `low`, `high`, `auto`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// Audio embedded in a message.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct InputAudio {
    /// Data in base64.
    pub data: String,
    /// `wav`, `mp3` and so on.
    pub format: String,
}

/// A file in a message.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct MediaFile {
    /// Its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filename: Option<String>,
    /// A `data:` URL, or another URL for providers that accept other URLs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_data: Option<String>,
    /// The provider's id of an uploaded file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_id: Option<String>,
}

impl ContentPart {
    /// Creates a text part.
    pub fn text(text: impl Into<String>) -> Self {
        ContentPart::Text { text: text.into() }
    }

    /// Creates a media part from a URL. Its type is `kind` (`image`, `audio`, `file`) if given.
    /// Otherwise it is derived from the media type (`image/png`), which `data:` URLs contain. The
    /// default is an image.
    ///
    /// # Examples
    ///
    /// ```
    /// use quillet_core::ContentPart;
    ///
    /// let image = ContentPart::media("https://example.com/a.png", None, None);
    /// assert_eq!(image.url(), Some("https://example.com/a.png"));
    ///
    /// let sound = ContentPart::media("data:audio/mpeg;base64,SUQz", None, None);
    /// assert_eq!(sound.to_string(), "[audio mp3, 4 bytes of base64]");
    /// ```
    #[must_use]
    pub fn media(url: &str, kind: Option<&str>, media_type: Option<&str>) -> Self {
        let media_type = media_type.or_else(|| url.strip_prefix("data:")?.split([';', ',']).next());
        let (class, format) = media_type
            .and_then(|name| name.split_once('/'))
            .unwrap_or((kind.unwrap_or("image"), ""));
        let address = || MediaUrl {
            url: url.to_owned(),
            detail: None,
        };
        match kind.unwrap_or(class) {
            "image" => ContentPart::ImageUrl {
                image_url: address(),
            },
            "audio" => match url.split_once(";base64,") {
                Some((_, data)) if url.starts_with("data:") => ContentPart::InputAudio {
                    input_audio: InputAudio {
                        data: data.to_owned(),
                        format: audio_format(format).to_owned(),
                    },
                },
                _ => ContentPart::AudioUrl {
                    audio_url: address(),
                },
            },
            _ => ContentPart::File {
                file: MediaFile {
                    filename: None,
                    file_data: Some(url.to_owned()),
                    file_id: None,
                },
            },
        }
    }

    /// Returns the URL of a media part.
    #[must_use]
    pub fn url(&self) -> Option<&str> {
        match self {
            ContentPart::Text { .. } | ContentPart::InputAudio { .. } => None,
            ContentPart::ImageUrl { image_url: at } | ContentPart::AudioUrl { audio_url: at } => {
                Some(&at.url)
            }
            ContentPart::File { file } => file.file_data.as_deref(),
        }
    }
}

/// Name of an audio format in requests, by the subtype of its media type.
fn audio_format(subtype: &str) -> &str {
    match subtype {
        "mpeg" | "mpga" | "mp3" => "mp3",
        "wave" | "x-wav" | "vnd.wave" | "" => "wav",
        other => other,
    }
}

/// Maximum length of a displayed URL.
const SHOWN_BYTES: usize = 80;

/// Readable form: the text, with media as `[image https://…]`.
impl fmt::Display for MessageContent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MessageContent::Text(text) => f.write_str(text),
            MessageContent::Parts(parts) => parts.iter().try_for_each(|part| part.fmt(f)),
        }
    }
}

impl fmt::Display for ContentPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self {
            ContentPart::Text { text } => return f.write_str(text),
            ContentPart::ImageUrl { .. } => "image",
            ContentPart::AudioUrl { .. } | ContentPart::InputAudio { .. } => "audio",
            ContentPart::File { .. } => "file",
        };
        match (self, self.url()) {
            (ContentPart::InputAudio { input_audio }, _) => {
                write!(
                    f,
                    "[audio {}, {} bytes of base64]",
                    input_audio.format,
                    input_audio.data.len()
                )
            }
            (_, Some(url)) if url.len() > SHOWN_BYTES => {
                // Cut by characters, because a byte index could fall inside a character.
                let head: String = url.chars().take(SHOWN_BYTES / 2).collect();
                write!(f, "[{kind} {head}…, {} bytes]", url.len())
            }
            (_, url) => write!(f, "[{kind} {}]", url.unwrap_or_default()),
        }
    }
}

impl Default for MessageContent {
    fn default() -> Self {
        MessageContent::Text(String::new())
    }
}

impl From<String> for MessageContent {
    fn from(text: String) -> Self {
        MessageContent::Text(text)
    }
}

impl From<&str> for MessageContent {
    fn from(text: &str) -> Self {
        MessageContent::Text(text.to_owned())
    }
}

impl From<&String> for MessageContent {
    fn from(text: &String) -> Self {
        MessageContent::Text(text.clone())
    }
}

/// A single text part becomes a plain text.
impl From<Vec<ContentPart>> for MessageContent {
    fn from(mut parts: Vec<ContentPart>) -> Self {
        match parts.as_mut_slice() {
            [] => MessageContent::Text(String::new()),
            [ContentPart::Text { text }] => MessageContent::Text(std::mem::take(text)),
            _ => MessageContent::Parts(parts),
        }
    }
}

impl PartialEq<str> for MessageContent {
    fn eq(&self, other: &str) -> bool {
        matches!(self, MessageContent::Text(text) if text == other)
    }
}

impl PartialEq<&str> for MessageContent {
    fn eq(&self, other: &&str) -> bool {
        self == *other
    }
}

// Not derived, because the error of a derived implementation would not name the problem in a part.
impl<'de> Deserialize<'de> for MessageContent {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        reader.deserialize_any(ContentVisitor)
    }
}

struct ContentVisitor;

impl<'de> Visitor<'de> for ContentVisitor {
    type Value = MessageContent;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string, or a list of parts such as {\"type\": \"text\", \"text\": …}")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<MessageContent, E> {
        Ok(text.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, parts: A) -> Result<MessageContent, A::Error> {
        let parts = Vec::deserialize(SeqAccessDeserializer::new(parts))?;
        Ok(MessageContent::Parts(parts))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_have_the_common_shape() {
        let cases = [
            ("\"hi\"", MessageContent::from("hi")),
            (
                r#"[{"type":"text","text":"a"},{"type":"image_url","image_url":{"url":"https://x/y.png"}}]"#,
                MessageContent::Parts(vec![
                    ContentPart::text("a"),
                    ContentPart::media("https://x/y.png", None, None),
                ]),
            ),
            (
                r#"[{"type":"input_audio","input_audio":{"data":"AAAA","format":"mp3"}}]"#,
                vec![ContentPart::media(
                    "data:audio/mpeg;base64,AAAA",
                    None,
                    None,
                )]
                .into(),
            ),
            (
                r#"[{"type":"file","file":{"file_data":"data:application/pdf;base64,AA"}}]"#,
                vec![ContentPart::media(
                    "data:application/pdf;base64,AA",
                    None,
                    None,
                )]
                .into(),
            ),
            (
                r#"[{"type":"audio_url","audio_url":{"url":"https://x/y"}}]"#,
                vec![ContentPart::media("https://x/y", Some("audio"), None)].into(),
            ),
            (r#""b""#, vec![ContentPart::text("b")].into()),
        ];
        for (text, content) in cases {
            assert_eq!(serde_json::to_string(&content).unwrap(), text);
            assert_eq!(
                serde_json::from_str::<MessageContent>(text).unwrap(),
                content
            );
        }
    }

    #[test]
    fn what_is_wrong_with_a_part_is_said() {
        let cases = [
            (r#"[{"type":"img"}]"#, "unknown variant `img`"),
            (r#"[{"type":"text"}]"#, "missing field `text`"),
            (r#"{"text":"a"}"#, "expected a string, or a list of parts"),
            ("7", "expected a string, or a list of parts"),
        ];
        for (text, part) in cases {
            let error = serde_json::from_str::<MessageContent>(text)
                .unwrap_err()
                .to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn people_see_a_word_for_media() {
        let content = MessageContent::Parts(vec![
            ContentPart::text("look: "),
            ContentPart::media("https://x/y.png", None, None),
            ContentPart::media(
                &format!("data:image/png;base64,{}", "A".repeat(100)),
                None,
                None,
            ),
        ]);
        let shown = content.to_string();
        assert!(
            shown.starts_with("look: [image https://x/y.png][image data:image/png;base64,A"),
            "{shown}"
        );
        assert!(shown.ends_with("…, 122 bytes]"), "{shown}");
    }
}
