//! Text in the forms that compatible servers send: a string, a number, null, or a list of typed
//! parts (Mistral's, which include thinking).

use std::fmt;

use serde::Deserialize;
use serde::de::{self, Deserializer, IgnoredAny, SeqAccess, Visitor};

/// Text of a string, null, or a list of typed parts.
#[derive(Debug, Default)]
pub(super) struct TextOrParts {
    pub(super) text: String,
    pub(super) thinking: String,
}

pub(super) fn text(text: Option<TextOrParts>) -> String {
    text.unwrap_or_default().text
}

pub(super) fn non_empty(text: Option<TextOrParts>) -> Option<String> {
    text.map(|text| text.text).filter(|text| !text.is_empty())
}

impl<'de> Deserialize<'de> for TextOrParts {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        struct TextVisitor;
        impl<'de> Visitor<'de> for TextVisitor {
            type Value = TextOrParts;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("text")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<TextOrParts, E> {
                Ok(TextOrParts {
                    text: text.to_owned(),
                    thinking: String::new(),
                })
            }
            fn visit_u64<E: de::Error>(self, number: u64) -> Result<TextOrParts, E> {
                self.visit_str(&number.to_string())
            }
            fn visit_unit<E: de::Error>(self) -> Result<TextOrParts, E> {
                Ok(TextOrParts::default())
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<TextOrParts, A::Error> {
                let mut whole = TextOrParts::default();
                while let Some(part) = parts.next_element::<TextPart>()? {
                    whole.text.push_str(&text(part.text));
                    whole.thinking.push_str(&text(part.thinking));
                }
                Ok(whole)
            }
        }
        reader.deserialize_any(TextVisitor)
    }
}

#[derive(Deserialize)]
struct TextPart {
    #[serde(default)]
    text: Option<TextOrParts>,
    #[serde(default)]
    thinking: Option<TextOrParts>,
    #[serde(rename = "type", default)]
    _kind: IgnoredAny,
}
