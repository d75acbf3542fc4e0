//! What this thread holds: templates, renders on their way, and kinds of objects, by number. Node runs
//! each worker in a thread of its own, and a number means nothing in another.

use std::cell::RefCell;
use std::ptr;
use std::time::Duration;

use napi::bindgen_prelude::*;
use napi::{JsString, check_status, sys};
use quillet::template::Limits;
use quillet::{Map, Rendered, Rendering, Template, Value};

use crate::decode::{self, Kept, Malformed, Shape, Text};

/// Units of text for which buffers are kept between calls.
const KEPT_UNITS: usize = 128 << 10;

/// Everything of one thread.
#[derive(Default)]
pub(crate) struct World {
    encoders: Vec<Encoder>,
    templates: Slots<Compiled>,
    renderings: Slots<Drive>,
    /// The text of the call at hand, as Node gives it.
    units: Vec<u16>,
    /// The same where all of it is ASCII.
    bytes: Vec<u8>,
}

/// The kinds of objects of one copy of the JavaScript.
#[derive(Debug, Default)]
pub(crate) struct Encoder {
    shapes: Vec<Shape>,
}

struct Compiled {
    template: Template,
    /// The limit on time of renders that call functions.
    patience: Option<Duration>,
    /// Parts of its last variables.
    kept: Kept,
}

enum Drive {
    Begun(Box<Rendering>),
    Ended(Box<Rendered>),
}

/// One value as JavaScript writes it down, see [`decode`].
pub(crate) struct Encoded<'a> {
    pub(crate) encoder: u32,
    pub(crate) words: &'a [i32],
    pub(crate) text: JsString<'a>,
    pub(crate) units: u32,
    pub(crate) memory: Memory,
}

/// What becomes of the parts that a template remembers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Memory {
    /// They stay as they are: the words do not name them.
    Untouched,
    /// They become those of this value.
    Renewed,
    /// They are used, and let go.
    Forgotten,
}

impl Memory {
    pub(crate) fn of(number: u32) -> Self {
        match number {
            1 => Memory::Renewed,
            2 => Memory::Forgotten,
            _ => Memory::Untouched,
        }
    }
}

impl<'a> Encoded<'a> {
    /// One of which nothing is remembered.
    pub(crate) fn new(
        encoder: u32,
        words: &'a [i32],
        count: u32,
        text: JsString<'a>,
        units: u32,
    ) -> Self {
        Encoded {
            encoder,
            words: words.get(..count as usize).unwrap_or_default(),
            text,
            units,
            memory: Memory::Untouched,
        }
    }
}

thread_local! {
    static WORLD: RefCell<World> = RefCell::default();
}

impl Encoder {
    pub(crate) fn add(&mut self, shape: Shape) -> u32 {
        self.shapes.push(shape);
        self.shapes.len() as u32 - 1
    }

    pub(crate) fn forget(&mut self) {
        self.shapes.clear();
    }
}

impl World {
    /// Works on this thread's. No JavaScript runs meanwhile, so nobody asks for it a second time.
    pub(crate) fn with<T>(work: impl FnOnce(&mut World) -> T) -> T {
        WORLD.with_borrow_mut(work)
    }

    pub(crate) fn add_encoder(&mut self) -> u32 {
        self.encoders.push(Encoder::default());
        self.encoders.len() as u32 - 1
    }

    pub(crate) fn encoder(&mut self, encoder: u32) -> Result<&mut Encoder> {
        let encoder = self.encoders.get_mut(encoder as usize);
        encoder.ok_or_else(|| gone("encoder"))
    }

    pub(crate) fn add_template(&mut self, template: Template, patience: Option<Duration>) -> u32 {
        self.templates.add(Compiled {
            template,
            patience,
            kept: Kept::default(),
        })
    }

    pub(crate) fn remove_template(&mut self, template: u32) {
        self.templates.take(template);
    }

    pub(crate) fn template(&mut self, template: u32) -> Result<&Template> {
        let compiled = self.templates.get(template);
        compiled
            .map(|compiled| &compiled.template)
            .ok_or_else(|| gone("template"))
    }

    /// The same with the limit on time that is for renders with functions.
    pub(crate) fn template_with_tools(&mut self, template: u32) -> Result<Template> {
        let compiled = self
            .templates
            .get(template)
            .ok_or_else(|| gone("template"))?;
        let limits = *compiled.template.limits();
        let time = compiled.patience.unwrap_or(limits.time);
        Ok(compiled
            .template
            .clone()
            .with_limits(Limits { time, ..limits }))
    }

    pub(crate) fn add_rendering(&mut self, rendering: Rendering) -> u32 {
        self.renderings.add(Drive::Begun(Box::new(rendering)))
    }

    pub(crate) fn rendering(&mut self, rendering: u32) -> Result<&mut Rendering> {
        match self.renderings.get(rendering) {
            Some(Drive::Begun(rendering)) => Ok(rendering),
            _ => Err(gone("render")),
        }
    }

    pub(crate) fn end_rendering(&mut self, rendering: u32, rendered: Rendered) {
        if let Some(place) = self.renderings.get(rendering) {
            *place = Drive::Ended(Box::new(rendered));
        }
    }

    pub(crate) fn remove_rendering(&mut self, rendering: u32) {
        self.renderings.take(rendering);
    }

    pub(crate) fn take_rendered(&mut self, rendering: u32) -> Result<Rendered> {
        match self.renderings.take(rendering) {
            Some(Drive::Ended(rendered)) => Ok(*rendered),
            _ => Err(gone("render")),
        }
    }

    /// The variables of a render.
    pub(crate) fn variables(&mut self, template: u32, encoded: &Encoded<'_>) -> Result<Map> {
        match self.of_template(template, encoded)? {
            Value::Map(variables) => Ok(variables),
            _ => Err(Error::from_reason("the variables are no object")),
        }
    }

    /// The variables of the last render, of which JavaScript knows that they are those of this one.
    pub(crate) fn remembered(&mut self, template: u32) -> Result<Map> {
        let compiled = self
            .templates
            .get(template)
            .ok_or_else(|| gone("template"))?;
        match compiled.kept.root() {
            Some(Value::Map(variables)) => Ok(variables.clone()),
            _ => Err(malformed(Malformed)),
        }
    }

    /// A list of values for a template.
    pub(crate) fn list(&mut self, template: u32, encoded: &Encoded<'_>) -> Result<Vec<Value>> {
        match self.of_template(template, encoded)? {
            Value::List(list) => Ok(list.to_vec()),
            _ => Err(malformed(Malformed)),
        }
    }

    /// A value that is for no template.
    pub(crate) fn value(&mut self, encoded: &Encoded<'_>) -> Result<Value> {
        let ascii = self.take_text(encoded)?;
        let encoder = self.encoders.get(encoded.encoder as usize);
        let encoder = encoder.ok_or_else(|| gone("encoder"))?;
        let text = text(ascii, &self.units, &self.bytes);
        let value = decode::value(encoded.words, &text, &encoder.shapes, &mut Kept::default());
        value.map_err(malformed)
    }

    fn of_template(&mut self, template: u32, encoded: &Encoded<'_>) -> Result<Value> {
        let ascii = self.take_text(encoded)?;
        let compiled = self.templates.get(template);
        let compiled = compiled.ok_or_else(|| gone("template"))?;
        let encoder = self.encoders.get(encoded.encoder as usize);
        let encoder = encoder.ok_or_else(|| gone("encoder"))?;
        let text = text(ascii, &self.units, &self.bytes);
        let mut none = Kept::default();
        let kept = match encoded.memory {
            Memory::Untouched => &mut none,
            Memory::Renewed | Memory::Forgotten => &mut compiled.kept,
        };
        let value = decode::value(encoded.words, &text, &encoder.shapes, kept);
        if encoded.memory == Memory::Forgotten {
            kept.clear();
        }
        value.map_err(malformed)
    }

    /// Copies the text out of Node, and says whether it is ASCII.
    fn take_text(&mut self, encoded: &Encoded<'_>) -> Result<bool> {
        let length = encoded.units as usize;
        if length < KEPT_UNITS && self.units.capacity() > KEPT_UNITS {
            self.units = Vec::new();
            self.bytes = Vec::new();
        }
        // One more, for the zero that Node writes behind.
        self.units.resize(length + 1, 0);
        if length > 0 {
            let mut written = 0;
            let value = encoded.text.value();
            // SAFETY: the text is a string of the call at hand, so the environment and the value live;
            // the buffer is as long as is said.
            check_status!(unsafe {
                sys::napi_get_value_string_utf16(
                    value.env,
                    value.value,
                    self.units.as_mut_ptr(),
                    length + 1,
                    ptr::from_mut(&mut written),
                )
            })?;
        }
        self.units.truncate(length);
        let ascii = self.units.iter().fold(0, |all, unit| all | unit) < 0x80;
        self.bytes.clear();
        if ascii {
            self.bytes.extend(self.units.iter().map(|unit| *unit as u8));
        }
        Ok(ascii)
    }
}

fn text<'a>(ascii: bool, units: &'a [u16], bytes: &'a [u8]) -> Text<'a> {
    match std::str::from_utf8(bytes) {
        Ok(text) if ascii => Text::Ascii(text),
        _ => Text::Units(units),
    }
}

fn malformed(_: Malformed) -> Error {
    Error::from_reason(
        "the addon and its JavaScript are of different versions: install the package again",
    )
}

fn gone(what: &str) -> Error {
    Error::from_reason(format!("there is no such {what} in this thread"))
}

/// Things by number; numbers of those that went are used again.
struct Slots<T> {
    slots: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Default for Slots<T> {
    fn default() -> Self {
        Slots {
            slots: Vec::new(),
            free: Vec::new(),
        }
    }
}

impl<T> Slots<T> {
    fn add(&mut self, thing: T) -> u32 {
        if let Some(number) = self.free.pop() {
            self.slots[number as usize] = Some(thing);
            return number;
        }
        self.slots.push(Some(thing));
        self.slots.len() as u32 - 1
    }

    fn get(&mut self, number: u32) -> Option<&mut T> {
        self.slots.get_mut(number as usize)?.as_mut()
    }

    fn take(&mut self, number: u32) -> Option<T> {
        let thing = self.slots.get_mut(number as usize)?.take();
        if thing.is_some() {
            self.free.push(number);
        }
        thing
    }
}
