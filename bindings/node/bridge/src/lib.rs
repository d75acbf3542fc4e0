//! Common part of the packages for JavaScript. Templates and renders in progress are identified by
//! number, values come as `lib/encode.js` writes them, and answers are texts: so the addon of Node and
//! the WebAssembly module only hand bytes on.

mod answer;
mod decode;
mod options;
mod slots;

use std::time::Duration;

use quillet::template::RenderLimits;
use quillet::template::convert::ConvertOptions;
use quillet::{Map, RenderStep, RenderedTemplate, Rendering, Template, Value};
use serde::de::DeserializeOwned;

pub use self::answer::BridgeError;
use self::decode::{ContainerCache, DecodeError, ObjectShape, SourceText};
use self::options::{CompileOptions, FunctionOptions};
use self::slots::Slots;

/// Bytes for which the buffer is kept between calls.
const KEPT_BYTES: usize = 128 << 10;

/// What a compiled template takes besides its sources, and how many times these.
const COMPILED_BYTES: usize = 2048;
const COMPILED_FACTOR: usize = 8;

/// State of one thread. Its numbers have no meaning in another thread.
#[derive(Debug, Default)]
pub struct ThreadState {
    encoders: Vec<Vec<ObjectShape>>,
    templates: Slots<TemplateEntry>,
    renderings: Slots<Drive>,
    /// The text of the call at hand where all of it is ASCII.
    bytes: Vec<u8>,
}

#[derive(Debug)]
struct TemplateEntry {
    template: Template,
    /// The limit on time of renders that call functions.
    patience: Option<Duration>,
    /// Parts of its last variables.
    kept: ContainerCache,
    /// See [`ThreadState::weight`].
    weight: usize,
}

#[derive(Debug)]
enum Drive {
    Begun(Box<Rendering>),
    Ended(Box<RenderedTemplate>),
}

/// One value as JavaScript writes it down.
#[derive(Clone, Copy, Debug)]
pub struct EncodedValue<'a> {
    /// Whose kinds of objects it names.
    pub encoder: u32,
    /// What follows.
    pub words: &'a [i32],
    /// The text that all strings are parts of.
    pub units: &'a [u16],
    /// What becomes of the parts that a template remembers: 0 if they stay as they are, 1 if they
    /// become those of this value, 2 if they are used and let go.
    pub memory: u32,
}

/// Options of a render.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputKind {
    /// The text.
    Text,
    /// The messages as JSON.
    Messages,
    /// The pieces of the text as JSON.
    Segments,
}

impl OutputKind {
    /// By the name that JavaScript uses; the text if it is no other.
    #[must_use]
    pub fn of_name(name: &str) -> Self {
        match name {
            "messages" => OutputKind::Messages,
            "segments" => OutputKind::Segments,
            _ => OutputKind::Text,
        }
    }
}

impl ThreadState {
    /// Begins with the kinds of objects of one copy of the JavaScript, and gives its number.
    pub fn add_encoder(&mut self) -> u32 {
        self.encoders.push(Vec::new());
        self.encoders.len() as u32 - 1
    }

    /// Takes up a kind of object by its keys, and gives its number.
    ///
    /// # Errors
    /// There is no such encoder.
    pub fn add_shape(&mut self, encoder: u32, keys: Vec<String>) -> Result<u32, BridgeError> {
        let shapes = self.encoders.get_mut(encoder as usize).ok_or(GONE)?;
        shapes.push(ObjectShape::new(keys));
        Ok(shapes.len() as u32 - 1)
    }

    /// Forgets all kinds of objects; their numbers begin at 0 again.
    pub fn forget_shapes(&mut self, encoder: u32) {
        if let Some(shapes) = self.encoders.get_mut(encoder as usize) {
            shapes.clear();
        }
    }

    /// Compiles a template, with options as JSON, and gives its number.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn compile(&mut self, format: &str, text: &str, options: &str) -> Result<u32, BridgeError> {
        let length = options.len();
        let options: CompileOptions = read(options)?;
        let patience = options.patience();
        Ok(self.templates.add(TemplateEntry {
            template: Template::compile(format, text, &options.read())?,
            patience,
            kept: ContainerCache::default(),
            weight: COMPILED_BYTES + COMPILED_FACTOR * (text.len() + length),
        }))
    }

    /// Lets a template go, and gives its weight.
    pub fn release(&mut self, template: u32) -> usize {
        let compiled = self.templates.take(template);
        compiled.map_or(0, |compiled| compiled.weight)
    }

    /// Bytes that a template takes, about: what a collector of garbage should count, which sees a
    /// number only.
    pub fn weight(&mut self, template: u32) -> usize {
        let compiled = self.templates.get(template);
        compiled.map_or(0, |compiled| compiled.weight)
    }

    /// Names of the variables that a template reads, as JSON.
    ///
    /// # Errors
    /// There is no such template.
    pub fn variables(&mut self, template: u32) -> Result<String, BridgeError> {
        let names = self.template(template)?.variables();
        Ok(names.into_iter().collect::<serde_json::Value>().to_string())
    }

    /// Names of the functions that a template calls, as JSON.
    ///
    /// # Errors
    /// There is no such template.
    pub fn functions(&mut self, template: u32) -> Result<String, BridgeError> {
        let names = self.template(template)?.functions();
        Ok(names.into_iter().collect::<serde_json::Value>().to_string())
    }

    /// Renders a template without functions, and has `read` look at the text; no UTF-8 where a format
    /// has cut a character.
    ///
    /// # Errors
    /// As a render's.
    pub fn render<T>(
        &mut self,
        template: u32,
        encoded: &EncodedValue<'_>,
        read: impl FnOnce(&[u8]) -> T,
    ) -> Result<T, BridgeError> {
        let variables = self.object(template, encoded)?;
        Ok(self.template(template)?.read_text(variables, read)?)
    }

    /// The same with the variables of the last render, of which JavaScript knows that they are those of
    /// this one.
    ///
    /// # Errors
    /// As a render's.
    pub fn again<T>(
        &mut self,
        template: u32,
        read: impl FnOnce(&[u8]) -> T,
    ) -> Result<T, BridgeError> {
        let compiled = self.templates.get(template).ok_or(GONE)?;
        let Some(Value::Map(variables)) = compiled.kept.root() else {
            return Err(MALFORMED);
        };
        Ok(compiled.template.read_text(variables.clone(), read)?)
    }

    /// The messages of a template without functions, as JSON.
    ///
    /// # Errors
    /// As a render's.
    pub fn messages(
        &mut self,
        template: u32,
        encoded: &EncodedValue<'_>,
    ) -> Result<String, BridgeError> {
        let variables = self.object(template, encoded)?;
        let messages = self.template(template)?.messages(variables)?;
        serde_json::to_string(&messages).map_err(|_| MALFORMED)
    }

    /// The pieces of the text of a template without functions, as JSON.
    ///
    /// # Errors
    /// As a render's.
    pub fn segments(
        &mut self,
        template: u32,
        encoded: &EncodedValue<'_>,
    ) -> Result<String, BridgeError> {
        let variables = self.object(template, encoded)?;
        let segments = self.template(template)?.segments(variables)?;
        Ok(answer::segments(&segments))
    }

    /// Begins a render whose calls JavaScript makes, and gives its number. The value is a list: the
    /// variables, then what a failed call of each function leaves; the functions are JSON.
    ///
    /// # Errors
    /// There is no such template.
    pub fn begin(
        &mut self,
        template: u32,
        encoded: &EncodedValue<'_>,
        functions: &str,
        wanted: OutputKind,
    ) -> Result<u32, BridgeError> {
        let functions: Vec<FunctionOptions> = read(functions)?;
        let Value::List(values) = self.value(Some(template), encoded)? else {
            return Err(MALFORMED);
        };
        let mut values = values.iter().cloned();
        let Some(Value::Map(variables)) = values.next() else {
            return Err(MALFORMED);
        };
        let functions = functions.into_iter().zip(values);
        let functions = functions
            .map(|(function, default)| function.read(default))
            .collect();
        let compiled = self.templates.get(template).ok_or(GONE)?;
        let limits = *compiled.template.limits();
        let time = compiled.patience.unwrap_or(limits.time);
        let template = compiled
            .template
            .clone()
            .with_limits(RenderLimits { time, ..limits });
        let rendering = match wanted {
            OutputKind::Segments => template.begin_segments(variables, functions),
            _ => template.begin(variables, functions),
        };
        Ok(self.renderings.add(Drive::Begun(Box::new(rendering))))
    }

    /// Goes on with a render: the calls that it newly waits for as JSON; `None` once it has ended.
    ///
    /// # Errors
    /// As a render's; it is gone then.
    pub fn step(&mut self, rendering: u32) -> Result<Option<String>, BridgeError> {
        match self.rendering(rendering)?.step() {
            Ok(RenderStep::Waiting(calls)) => Ok(Some(answer::calls(&calls))),
            Ok(RenderStep::Done(rendered)) => {
                if let Some(drive) = self.renderings.get(rendering) {
                    *drive = Drive::Ended(Box::new(rendered));
                }
                Ok(None)
            }
            Err(error) => {
                self.abandon(rendering);
                Err(error.into())
            }
        }
    }

    /// Stores the result of a call.
    ///
    /// # Errors
    /// There is no such render.
    pub fn give(
        &mut self,
        rendering: u32,
        call: u32,
        encoded: &EncodedValue<'_>,
    ) -> Result<(), BridgeError> {
        let value = self.value(None, encoded)?;
        self.rendering(rendering)?.answer(call as usize, Ok(value));
        Ok(())
    }

    /// Says that a call failed, and why.
    ///
    /// # Errors
    /// There is no such render.
    pub fn fail(&mut self, rendering: u32, call: u32, message: String) -> Result<(), BridgeError> {
        self.rendering(rendering)?
            .answer(call as usize, Err(message));
        Ok(())
    }

    /// Milliseconds that a render has left; 0 if it has ended.
    pub fn time_left(&mut self, rendering: u32) -> f64 {
        let rendering = self.rendering(rendering);
        rendering.map_or(0.0, |rendering| {
            rendering.time_left().as_secs_f64() * 1000.0
        })
    }

    /// Returns the result of a finished render, and removes it.
    ///
    /// # Errors
    /// A message has a role that no model knows; there is no such render.
    pub fn result(&mut self, rendering: u32, wanted: OutputKind) -> Result<Vec<u8>, BridgeError> {
        let Some(Drive::Ended(rendered)) = self.renderings.take(rendering) else {
            return Err(GONE);
        };
        match wanted {
            OutputKind::Text => Ok(rendered.into_bytes()),
            OutputKind::Segments => Ok(answer::segments(&rendered.segments()).into_bytes()),
            OutputKind::Messages => {
                serde_json::to_vec(&rendered.messages()?).map_err(|_| MALFORMED)
            }
        }
    }

    /// Lets a render go that has not ended.
    pub fn abandon(&mut self, rendering: u32) {
        self.renderings.take(rendering);
    }

    /// Reads a value by itself, for whoever has no template for it.
    ///
    /// # Errors
    /// It is none that JavaScript has written.
    pub fn read(&mut self, encoded: &EncodedValue<'_>) -> Result<Value, BridgeError> {
        self.value(None, encoded)
    }

    fn template(&mut self, template: u32) -> Result<&Template, BridgeError> {
        let compiled = self.templates.get(template).ok_or(GONE)?;
        Ok(&compiled.template)
    }

    fn rendering(&mut self, rendering: u32) -> Result<&mut Rendering, BridgeError> {
        match self.renderings.get(rendering) {
            Some(Drive::Begun(rendering)) => Ok(rendering),
            _ => Err(GONE),
        }
    }

    fn object(&mut self, template: u32, encoded: &EncodedValue<'_>) -> Result<Map, BridgeError> {
        match self.value(Some(template), encoded)? {
            Value::Map(variables) => Ok(variables),
            _ => Err(MALFORMED),
        }
    }

    /// Reads a value, for a template if it is one of variables.
    fn value(
        &mut self,
        template: Option<u32>,
        encoded: &EncodedValue<'_>,
    ) -> Result<Value, BridgeError> {
        let shapes = self.encoders.get(encoded.encoder as usize).ok_or(GONE)?;
        let text = text(encoded.units, &mut self.bytes);
        let mut none = ContainerCache::default();
        let compiled = template.and_then(|template| self.templates.get(template));
        let kept = match compiled {
            Some(compiled) if encoded.memory > 0 => &mut compiled.kept,
            _ => &mut none,
        };
        let value = decode::value(encoded.words, &text, shapes, kept);
        if encoded.memory == 2 {
            kept.clear();
        }
        value.map_err(|DecodeError| MALFORMED)
    }
}

/// Everything that is wrong with a template, as JSON.
///
/// # Errors
/// The options are none.
pub fn check(format: &str, text: &str, options: &str) -> Result<String, BridgeError> {
    let options: CompileOptions = read(options)?;
    let found = quillet::check(format, text, &options.read());
    Ok(answer::findings(&found).to_string())
}

/// A template in another format with notes, as JSON.
///
/// # Errors
/// Parts without an exact counterpart.
pub fn convert(
    text: &str,
    from: &str,
    to: &str,
    assume_text: bool,
    strict: bool,
) -> Result<String, BridgeError> {
    let options = ConvertOptions {
        assume_text,
        strict,
        ..ConvertOptions::default()
    };
    let converted = quillet::convert(text, from, to, &options)?;
    Ok(answer::converted(&converted))
}

/// The formats as JSON: `[name, alias, …]` for each.
#[must_use]
pub fn formats() -> String {
    let names = quillet::formats().into_iter();
    let names = names.map(|format| [&[format.name], format.aliases].concat());
    names.collect::<serde_json::Value>().to_string()
}

const GONE: BridgeError = BridgeError::Package("it belongs to another thread or was freed");
const MALFORMED: BridgeError = BridgeError::Package(
    "the package and its addon have different versions: install the package \
        again",
);

fn read<T: DeserializeOwned>(json: &str) -> Result<T, BridgeError> {
    serde_json::from_str(json).map_err(|_| MALFORMED)
}

/// The text, of one byte a unit where it can be: then strings are copied, not decoded.
fn text<'a>(units: &'a [u16], bytes: &'a mut Vec<u8>) -> SourceText<'a> {
    if units.iter().fold(0, |all, unit| all | unit) >= 0x80 {
        return SourceText::Units(units);
    }
    if bytes.capacity() > KEPT_BYTES {
        *bytes = Vec::new();
    }
    bytes.clear();
    bytes.extend(units.iter().map(|unit| *unit as u8));
    match std::str::from_utf8(bytes) {
        Ok(text) => SourceText::Ascii(text),
        Err(_) => SourceText::Units(units),
    }
}
