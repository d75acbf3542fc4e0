//! Decodes values written by `lib/encode.js`: words that describe the structure, and one text that
//! contains all strings. Reading objects through Node's own interface takes about 80 ns per
//! property, longer than a render takes to use it.

use std::sync::Arc;

use quillet::core::value::{MAX_DEPTH, MapTable, ValueList};
use quillet::{Map, Value};

/// The keys of an object. JavaScript registers them once and then refers to them by number.
#[derive(Debug)]
pub(crate) struct ObjectShape {
    /// All keys with null values. Each object copies and fills it, so no key is hashed again.
    empty: MapTable,
    /// Index of each key's value. Keys that differ in JavaScript may be equal here, because an
    /// unpaired surrogate becomes U+FFFD.
    places: Vec<usize>,
}

impl ObjectShape {
    pub(crate) fn new(keys: Vec<String>) -> Self {
        let mut empty = MapTable::default();
        let mut place = |key: String| empty.insert_full(Arc::from(key), Value::Null).0;
        let places = keys.into_iter().map(&mut place).collect();
        ObjectShape { empty, places }
    }
}

// The three low bits of a word are its type, and the other bits are a length, a number or an index.
const STRING: u32 = 0;
const INTEGER: u32 = 1;
const LIST: u32 = 2;
const SHAPED: u32 = 3;
const OBJECT: u32 = 4;
const OTHER: u32 = 5;
const KEPT: u32 = 6;

const NULL: u32 = 0;
const FALSE: u32 = 1;
const TRUE: u32 = 2;
const FLOAT: u32 = 3;
const LONG: u32 = 4;

/// The encoding is invalid: `lib/encode.js` and this file do not match.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DecodeError;

/// Containers of the last value read, numbered in the order in which they begin. JavaScript refers
/// to unchanged containers by number.
#[derive(Debug, Default)]
pub(crate) struct ContainerCache {
    containers: Vec<Value>,
}

impl ContainerCache {
    /// The value itself, which is container 0.
    pub(crate) fn root(&self) -> Option<&Value> {
        self.containers.first()
    }

    pub(crate) fn clear(&mut self) {
        self.containers.clear();
    }
}

/// Reads one value.
///
/// # Errors
/// The encoding is invalid.
pub(crate) fn value(
    words: &[i32],
    text: &SourceText<'_>,
    shapes: &[ObjectShape],
    kept: &mut ContainerCache,
) -> Result<Value, DecodeError> {
    let mut reader = ValueReader {
        words: words.iter(),
        text,
        at: 0,
        shapes,
        kept,
        number: 0,
    };
    let value = reader.value(0)?;
    let count = reader.number;
    kept.containers.truncate(count);
    Ok(value)
}

/// The text that contains all strings.
#[derive(Debug)]
pub(crate) enum SourceText<'a> {
    /// ASCII only: each UTF-16 unit is one byte.
    Ascii(&'a str),
    /// Anything else.
    Units(&'a [u16]),
}

impl SourceText<'_> {
    fn part(&self, start: usize, end: usize) -> Option<Arc<str>> {
        match self {
            SourceText::Ascii(text) => Some(Arc::from(text.get(start..end)?)),
            SourceText::Units(units) => Some(text_of(units.get(start..end)?)),
        }
    }
}

/// Decodes UTF-16 units. An unpaired surrogate becomes U+FFFD, as in every string passed from
/// JavaScript.
fn text_of(units: &[u16]) -> Arc<str> {
    if units.iter().fold(0, |all, unit| all | unit) < 0x80 {
        let bytes: Vec<u8> = units.iter().map(|unit| *unit as u8).collect();
        return String::from_utf8(bytes).unwrap_or_default().into();
    }
    String::from_utf16_lossy(units).into()
}

struct ValueReader<'a> {
    words: std::slice::Iter<'a, i32>,
    text: &'a SourceText<'a>,
    /// Number of text units read so far.
    at: usize,
    shapes: &'a [ObjectShape],
    kept: &'a mut ContainerCache,
    /// Number of the next container.
    number: usize,
}

impl ValueReader<'_> {
    fn word(&mut self) -> Result<u32, DecodeError> {
        self.words
            .next()
            .map(|word| *word as u32)
            .ok_or(DecodeError)
    }

    fn string(&mut self, units: u32) -> Result<Arc<str>, DecodeError> {
        let start = self.at;
        self.at += units as usize;
        self.text.part(start, self.at).ok_or(DecodeError)
    }

    fn value(&mut self, depth: u32) -> Result<Value, DecodeError> {
        if depth > MAX_DEPTH {
            return Err(DecodeError);
        }
        let word = self.word()?;
        let rest = word >> 3;
        match word & 7 {
            STRING => Ok(Value::Str(self.string(rest)?)),
            INTEGER => Ok(Value::Int(i64::from(word as i32 >> 3))),
            LIST => self.container(|reader| {
                let items: Result<Vec<Value>, DecodeError> =
                    (0..rest).map(|_| reader.value(depth + 1)).collect();
                Ok(Value::List(ValueList::new(items?)))
            }),
            SHAPED => {
                let shape = self.shapes.get(rest as usize).ok_or(DecodeError)?;
                self.container(|reader| {
                    let mut table = shape.empty.clone();
                    for place in &shape.places {
                        let value = reader.value(depth + 1)?;
                        if let Some((_, field)) = table.get_index_mut(*place) {
                            *field = value;
                        }
                    }
                    Ok(Value::Map(Map::new(table)))
                })
            }
            OBJECT => self.container(|reader| {
                let mut table = MapTable::default();
                for _ in 0..rest {
                    let units = reader.word()?;
                    let key = reader.string(units)?;
                    table.insert(key, reader.value(depth + 1)?);
                }
                Ok(Value::Map(Map::new(table)))
            }),
            OTHER => self.other(rest),
            KEPT => self.unchanged(rest),
            _ => Err(DecodeError),
        }
    }

    fn other(&mut self, which: u32) -> Result<Value, DecodeError> {
        match which {
            NULL => Ok(Value::Null),
            FALSE => Ok(Value::Bool(false)),
            TRUE => Ok(Value::Bool(true)),
            FLOAT => Ok(Value::Float(f64::from_bits(self.long()?))),
            LONG => Ok(Value::Int(self.long()?.cast_signed())),
            _ => Err(DecodeError),
        }
    }

    /// 64 bits; JavaScript writes the lower half first.
    fn long(&mut self) -> Result<u64, DecodeError> {
        let (low, high) = (self.word()?, self.word()?);
        Ok(u64::from(high) << 32 | u64::from(low))
    }

    fn container(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<Value, DecodeError>,
    ) -> Result<Value, DecodeError> {
        let number = self.number;
        self.number += 1;
        let value = read(self)?;
        match self.kept.containers.get_mut(number) {
            Some(place) => *place = value.clone(),
            None => {
                // The elements of a container have higher numbers but are read first, so the list
                // may have to grow.
                self.kept.containers.resize(number + 1, Value::Null);
                self.kept.containers[number] = value.clone();
            }
        }
        Ok(value)
    }

    /// The container that had the next number in the last value. The following word is the number
    /// of containers in it, including itself.
    fn unchanged(&mut self, containers: u32) -> Result<Value, DecodeError> {
        let number = self.number;
        self.number += containers as usize;
        self.kept.containers.get(number).cloned().ok_or(DecodeError)
    }
}
