//! Common part of the packages for JavaScript. Templates and renders in progress are identified by
//! number, values are encoded by `lib/encode.js`, and results are text. The Node addon and the
//! WebAssembly module therefore only forward bytes.

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

/// Largest buffer that is kept between calls, in bytes.
const KEPT_BYTES: usize = 128 << 10;

/// Estimated memory of a compiled template: a fixed part, and a factor for the size of its sources.
const COMPILED_BYTES: usize = 2048;
const COMPILED_FACTOR: usize = 8;

/// Encoders, templates and renders of one thread. Their numbers are valid only in that thread.
#[derive(Debug, Default)]
pub struct ThreadState {
    encoders: Vec<Vec<ObjectShape>>,
    templates: Slots<TemplateEntry>,
    renderings: Slots<Drive>,
    /// The text of the current call, if it is all ASCII.
    bytes: Vec<u8>,
}

#[derive(Debug)]
struct TemplateEntry {
    template: Template,
    /// Time limit of renders that call functions.
    patience: Option<Duration>,
    /// Containers of the last variables.
    kept: ContainerCache,
    /// See [`ThreadState::weight`].
    weight: usize,
}

#[derive(Debug)]
enum Drive {
    Begun(Box<Rendering>),
    Ended(Box<RenderedTemplate>),
}

/// A value as encoded by JavaScript.
#[derive(Clone, Copy, Debug)]
pub struct EncodedValue<'a> {
    /// The encoder whose shapes the value refers to.
    pub encoder: u32,
    /// The encoded structure.
    pub words: &'a [i32],
    /// UTF-16 text that contains all strings of the value.
    pub units: &'a [u16],
    /// Use of the template's container cache: 0 leaves it unchanged, 1 replaces it with this
    /// value's containers, 2 uses and then clears it.
    pub memory: u32,
}

/// Kind of output of a render.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputKind {
    /// The text.
    Text,
    /// The messages as JSON.
    Messages,
    /// The segments of the text as JSON.
    Segments,
}

impl OutputKind {
    /// Returns the kind with this JavaScript name, or text for any other name.
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
    /// Registers an encoder, one for each copy of the JavaScript module, and returns its number.
    pub fn add_encoder(&mut self) -> u32 {
        self.encoders.push(Vec::new());
        self.encoders.len() as u32 - 1
    }

    /// Registers an object shape by its keys and returns its number.
    ///
    /// # Errors
    /// The encoder does not exist.
    pub fn add_shape(&mut self, encoder: u32, keys: Vec<String>) -> Result<u32, BridgeError> {
        let shapes = self.encoders.get_mut(encoder as usize).ok_or(GONE)?;
        shapes.push(ObjectShape::new(keys));
        Ok(shapes.len() as u32 - 1)
    }

    /// Removes all shapes of an encoder. Its new shapes are numbered from 0 again.
    pub fn forget_shapes(&mut self, encoder: u32) {
        if let Some(shapes) = self.encoders.get_mut(encoder as usize) {
            shapes.clear();
        }
    }

    /// Compiles a template and returns its number. `options` is JSON.
    ///
    /// # Errors
    /// All diagnostics of the template.
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

    /// Removes a template and returns its approximate memory size in bytes.
    pub fn release(&mut self, template: u32) -> usize {
        let compiled = self.templates.take(template);
        compiled.map_or(0, |compiled| compiled.weight)
    }

    /// Returns the approximate memory size of a template in bytes. The JavaScript module needs it,
    /// because its garbage collector sees only the number of the template.
    pub fn weight(&mut self, template: u32) -> usize {
        let compiled = self.templates.get(template);
        compiled.map_or(0, |compiled| compiled.weight)
    }

    /// Names of the variables that a template reads, as JSON.
    ///
    /// # Errors
    /// The template does not exist.
    pub fn variables(&mut self, template: u32) -> Result<String, BridgeError> {
        let names = self.template(template)?.variables();
        Ok(names.into_iter().collect::<serde_json::Value>().to_string())
    }

    /// Names of the functions that a template calls, as JSON.
    ///
    /// # Errors
    /// The template does not exist.
    pub fn functions(&mut self, template: u32) -> Result<String, BridgeError> {
        let names = self.template(template)?.functions();
        Ok(names.into_iter().collect::<serde_json::Value>().to_string())
    }

    /// Renders a template that calls no functions, and passes the text to `read`. The text is
    /// invalid UTF-8 if the template has split a character.
    ///
    /// # Errors
    /// The same as for a render.
    pub fn render<T>(
        &mut self,
        template: u32,
        encoded: &EncodedValue<'_>,
        read: impl FnOnce(&[u8]) -> T,
    ) -> Result<T, BridgeError> {
        let variables = self.object(template, encoded)?;
        Ok(self.template(template)?.read_text(variables, read)?)
    }

    /// Renders again with the variables of the last render. JavaScript calls this function if the
    /// variables are unchanged.
    ///
    /// # Errors
    /// The same as for a render.
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

    /// Renders a template that calls no functions, and returns the messages as JSON.
    ///
    /// # Errors
    /// The same as for a render.
    pub fn messages(
        &mut self,
        template: u32,
        encoded: &EncodedValue<'_>,
    ) -> Result<String, BridgeError> {
        let variables = self.object(template, encoded)?;
        let messages = self.template(template)?.messages(variables)?;
        serde_json::to_string(&messages).map_err(|_| MALFORMED)
    }

    /// Renders a template that calls no functions, and returns the segments as JSON.
    ///
    /// # Errors
    /// The same as for a render.
    pub fn segments(
        &mut self,
        template: u32,
        encoded: &EncodedValue<'_>,
    ) -> Result<String, BridgeError> {
        let variables = self.object(template, encoded)?;
        let segments = self.template(template)?.segments(variables)?;
        Ok(answer::segments(&segments))
    }

    /// Starts a render whose function calls JavaScript executes, and returns its number. The value
    /// is a list: the variables, then the fallback value of each function. `functions` is JSON.
    ///
    /// # Errors
    /// The template does not exist.
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

    /// Continues a render. Returns newly requested calls as JSON, or `None` once the render has
    /// ended.
    ///
    /// # Errors
    /// The same as for a render; the render is then removed.
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
    /// The render does not exist.
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

    /// Reports a failed call and the reason.
    ///
    /// # Errors
    /// The render does not exist.
    pub fn fail(&mut self, rendering: u32, call: u32, message: String) -> Result<(), BridgeError> {
        self.rendering(rendering)?
            .answer(call as usize, Err(message));
        Ok(())
    }

    /// Remaining time of a render in milliseconds; 0 if it has ended.
    pub fn time_left(&mut self, rendering: u32) -> f64 {
        let rendering = self.rendering(rendering);
        rendering.map_or(0.0, |rendering| {
            rendering.time_left().as_secs_f64() * 1000.0
        })
    }

    /// Returns the result of a finished render, and removes the render.
    ///
    /// # Errors
    /// A message has an unknown role, or the render does not exist.
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

    /// Cancels and removes a render that has not ended.
    pub fn abandon(&mut self, rendering: u32) {
        self.renderings.take(rendering);
    }

    /// Decodes a value without the container cache of a template.
    ///
    /// # Errors
    /// The encoding is invalid.
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

    /// Decodes a value; with a template, its variables.
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

/// Diagnostics of a template, as JSON.
///
/// # Errors
/// The options are invalid.
pub fn check(format: &str, text: &str, options: &str) -> Result<String, BridgeError> {
    let options: CompileOptions = read(options)?;
    let found = quillet::check(format, text, &options.read());
    Ok(answer::findings(&found).to_string())
}

/// Converts a template to another format. Returns the new template and the conversion notes as
/// JSON.
///
/// # Errors
/// Some parts have no exact counterpart.
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

/// Returns a JSON list with one list `[name, alias, …]` for each format.
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

/// The source text, as bytes if it is all ASCII, so that strings are copied instead of decoded.
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
