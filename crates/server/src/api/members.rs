//! Deserializes a JSON object and collects its unknown members in the same pass.

use std::fmt;

use quillet_core::nearest;
use serde::de::value::BorrowedStrDeserializer;
use serde::de::{DeserializeSeed, Deserializer, IntoDeserializer, MapAccess, Visitor};
use serde::{Deserialize, forward_to_deserialize_any};

/// Maximum number of unknown members that are reported.
const MOST: usize = 20;

/// Maximum length of a reported name, in characters.
const LONGEST: usize = 64;

/// A member that the type does not define.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UnknownField {
    /// The name, possibly truncated.
    pub(crate) name: String,
    /// The most similar known member.
    pub(crate) nearest: Option<&'static str>,
}

/// Deserializes an object and adds unknown members to `unknown`.
///
/// # Errors
/// Fails if the text is not JSON, is not an object, or has a member of the wrong type.
pub(crate) fn read<'de, T: Deserialize<'de>>(
    text: &'de [u8],
    unknown: &mut Vec<UnknownField>,
) -> Result<T, serde_json::Error> {
    let mut reader = serde_json::Deserializer::from_slice(text);
    let value = T::deserialize(BodyFields {
        reader: &mut reader,
        unknown,
    })?;
    reader.end()?;
    Ok(value)
}

/// The top level of a body. Only its members are checked, because nested values have their own
/// deserializers.
struct BodyFields<'u, D> {
    reader: D,
    unknown: &'u mut Vec<UnknownField>,
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for BodyFields<'_, D> {
    type Error = D::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.reader.deserialize_any(visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.reader.deserialize_map(visitor)
    }

    // A derived `Deserialize` also accepts an array of the members in order, which the API does not
    // allow.
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        known: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.reader.deserialize_map(UnknownFieldCollector {
            inner: visitor,
            known,
            unknown: self.unknown,
        })
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf
        option unit unit_struct newtype_struct seq tuple tuple_struct enum identifier ignored_any
    }
}

struct UnknownFieldCollector<'u, T> {
    inner: T,
    known: &'static [&'static str],
    unknown: &'u mut Vec<UnknownField>,
}

impl<'de, V: Visitor<'de>> Visitor<'de> for UnknownFieldCollector<'_, V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<V::Value, A::Error> {
        self.inner.visit_map(UnknownFieldCollector {
            inner: map,
            known: self.known,
            unknown: self.unknown,
        })
    }
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for UnknownFieldCollector<'_, A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, A::Error> {
        self.inner.next_key_seed(UnknownFieldCollector {
            inner: seed,
            known: self.known,
            unknown: self.unknown,
        })
    }

    fn next_value_seed<W: DeserializeSeed<'de>>(&mut self, seed: W) -> Result<W::Value, A::Error> {
        self.inner.next_value_seed(seed)
    }

    fn size_hint(&self) -> Option<usize> {
        self.inner.size_hint()
    }
}

impl<'de, K: DeserializeSeed<'de>> DeserializeSeed<'de> for UnknownFieldCollector<'_, K> {
    type Value = K::Value;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<K::Value, D::Error> {
        reader.deserialize_str(FieldNameSeed(self))
    }
}

/// Deserializes the name of a member and checks whether it is known.
struct FieldNameSeed<'u, K>(UnknownFieldCollector<'u, K>);

impl<K> FieldNameSeed<'_, K> {
    fn note(&mut self, name: &str) {
        let UnknownFieldCollector { known, unknown, .. } = &mut self.0;
        // Without a limit, a hostile body could fill the response with unknown names.
        if known.contains(&name) || unknown.len() >= MOST {
            return;
        }
        unknown.push(UnknownField {
            name: name.chars().take(LONGEST).collect(),
            nearest: nearest(name, known.iter().copied()),
        });
    }
}

impl<'de, K: DeserializeSeed<'de>> Visitor<'de> for FieldNameSeed<'_, K> {
    type Value = K::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a member")
    }

    fn visit_str<E: serde::de::Error>(mut self, name: &str) -> Result<K::Value, E> {
        self.note(name);
        self.0.inner.deserialize(name.into_deserializer())
    }

    fn visit_borrowed_str<E: serde::de::Error>(mut self, name: &'de str) -> Result<K::Value, E> {
        self.note(name);
        self.0.inner.deserialize(BorrowedStrDeserializer::new(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Deserialize)]
    #[allow(dead_code, reason = "only read")]
    struct Sample {
        variables: Option<u8>,
        #[serde(alias = "id")]
        prompt_id: Option<String>,
    }

    #[test]
    fn what_nobody_reads_is_noted_and_lists_are_no_objects() {
        type Names = &'static [(&'static str, Option<&'static str>)];
        let cases: [(&str, Result<Names, &str>); 7] = [
            (r#"{"variables": 1, "id": "x"}"#, Ok(&[])),
            (
                r#"{"varaibles": {"a": [1]}, "prompt_id": "x"}"#,
                Ok(&[("varaibles", Some("variables"))]),
            ),
            (r#"{"q\u0071": 1}"#, Ok(&[("qq", None)])),
            ("[1]", Err("expected a JSON object")),
            ("7", Err("expected a JSON object")),
            ("{} x", Err("trailing characters")),
            (r#"{"variables": "x"}"#, Err("expected u8")),
        ];
        for (text, expected) in cases {
            let mut unknown = Vec::new();
            let read = read::<Sample>(text.as_bytes(), &mut unknown);
            match expected {
                Ok(names) => {
                    assert!(read.is_ok(), "{text}: {read:?}");
                    let found: Vec<_> = unknown
                        .iter()
                        .map(|u| (u.name.as_str(), u.nearest))
                        .collect();
                    assert_eq!(found, names, "{text}");
                }
                Err(part) => {
                    let error = read.unwrap_err().to_string();
                    assert!(error.contains(part), "{text}: {error}");
                }
            }
        }
    }
}
