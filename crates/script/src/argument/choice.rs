//! `|apple|pear:2:";":prefix="- "`: a choice from a list, by the model or at random.

use std::sync::Arc;

use quillet_core::{Map, Value, nearest};

use super::split::{self, ArgumentText};
use super::{Argument, ArgumentError, ArgumentReader, ArgumentValue};

/// A choice between items.
#[derive(Clone, Debug, Default)]
pub struct ArgumentChoice {
    /// The items. An item is an [`ArgumentValue::Literal`], an [`ArgumentValue::Template`], or an
    /// expression if it is written as `?=…`.
    pub items: Vec<ArgumentValue>,
    /// Maximum number of picks, at least 1. Default: 1.
    pub max_pick: Option<u32>,
    /// Minimum number of picks.
    pub min_pick: Option<u32>,
    /// Separator between several picks.
    pub separator: Option<Arc<str>>,
    /// Text before each pick.
    pub prefix: Option<Arc<str>>,
    /// Text after each pick.
    pub suffix: Option<Arc<str>>,
    /// Whether items are picked at random instead of by a model.
    pub random: bool,
    /// Other named parameters, which are passed to the model call.
    pub options: Vec<Argument>,
}

const PARAMETERS: [&str; 6] = [
    "type",
    "maxPick",
    "minPick",
    "separator",
    "prefix",
    "suffix",
];

impl ArgumentChoice {
    /// Converts the choice to a value that contains the evaluated items.
    #[must_use]
    pub fn to_value(&self, items: Vec<Value>) -> Value {
        let count = |count: u32| Value::Int(i64::from(count));
        let text = |text: &Arc<str>| Value::Str(Arc::clone(text));
        let entries = [
            ("items", Some(Value::from(items))),
            ("maxPick", self.max_pick.map(count)),
            ("minPick", self.min_pick.map(count)),
            ("separator", self.separator.as_ref().map(text)),
            ("prefix", self.prefix.as_ref().map(text)),
            ("suffix", self.suffix.as_ref().map(text)),
            ("type", self.random.then(|| Value::from("random"))),
        ];
        let present = entries
            .into_iter()
            .filter_map(|(key, value)| Some((key, value?)));
        Value::Map(present.collect::<Map>())
    }

    fn set(
        &mut self,
        reader: &ArgumentReader<'_>,
        piece: ArgumentText<'_>,
    ) -> Result<(), ArgumentError> {
        let argument = reader.argument(piece)?;
        let known = argument.name.as_deref().map(|name| {
            PARAMETERS
                .into_iter()
                .find(|parameter| *parameter == name)
                .ok_or(name)
        });
        match known {
            None => self.set_place(&argument),
            Some(Ok(parameter)) => self.set_named(parameter, &argument),
            // Any other name is a model option, unless it resembles a parameter of the choice.
            Some(Err(name)) => match nearest(name, PARAMETERS) {
                Some(meant) => Err(unknown(&argument, Some(meant))),
                None => {
                    self.options.push(argument);
                    Ok(())
                }
            },
        }
    }

    /// Reads a positional parameter: `:2`, `:";"`, `:random`.
    fn set_place(&mut self, argument: &Argument) -> Result<(), ArgumentError> {
        match (&argument.value, &*argument.text) {
            (ArgumentValue::Skipped, _) => Ok(()),
            (_, "random") => {
                self.random = true;
                Ok(())
            }
            (ArgumentValue::Literal(Value::Int(_)), _) => self.set_named("maxPick", argument),
            (ArgumentValue::Literal(Value::Str(_)), _) => self.set_named("separator", argument),
            (_, word) => Err(unknown(argument, nearest(word, ["random"]))),
        }
    }

    fn set_named(&mut self, name: &str, argument: &Argument) -> Result<(), ArgumentError> {
        match name {
            "maxPick" => self.max_pick = Some(count(name, argument)?),
            "minPick" => self.min_pick = Some(count(name, argument)?),
            "separator" => self.separator = Some(text(name, argument)?),
            "prefix" => self.prefix = Some(text(name, argument)?),
            "suffix" => self.suffix = Some(text(name, argument)?),
            _ => self.random = text(name, argument)? == "random".into(),
        }
        Ok(())
    }
}

fn unknown(argument: &Argument, meant: Option<&str>) -> ArgumentError {
    let name = argument.name.as_deref().unwrap_or(&argument.text);
    ArgumentError {
        message: format!("unknown parameter `{name}` of a choice"),
        span: argument.span,
        help: Some(match meant {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => format!("known parameters: random, {}", PARAMETERS.join(", ")),
        }),
    }
}

fn count(name: &str, argument: &Argument) -> Result<u32, ArgumentError> {
    let count = match &argument.value {
        ArgumentValue::Literal(Value::Int(count)) => u32::try_from(*count).ok(),
        _ => None,
    };
    count.ok_or_else(|| wrong(name, "a whole number", argument))
}

fn text(name: &str, argument: &Argument) -> Result<Arc<str>, ArgumentError> {
    match &argument.value {
        ArgumentValue::Literal(Value::Str(text)) => Ok(Arc::clone(text)),
        ArgumentValue::Expression(_) if name == "type" => Ok(Arc::clone(&argument.text)),
        _ => Err(wrong(name, "a quoted string", argument)),
    }
}

fn wrong(name: &str, wanted: &str, argument: &Argument) -> ArgumentError {
    ArgumentError {
        message: format!(
            "`{name}` of a choice must be {wanted}, not `{}`",
            argument.text
        ),
        span: argument.span,
        help: None,
    }
}

/// Parses a choice from its first bar.
pub(super) fn read(
    reader: &ArgumentReader<'_>,
    piece: ArgumentText<'_>,
) -> Result<ArgumentChoice, ArgumentError> {
    let mut choice = ArgumentChoice::default();
    let end = split::find_outside(piece.text, |at, c| ends_items(&piece.text[at..], c));
    let end = end.unwrap_or(piece.text.len());
    for item in split::pieces(&piece.text[..end], |c, _| c == '|') {
        choice.items.extend(item_value(reader, item.trimmed())?);
    }
    if choice.items.is_empty() {
        return Err(ArgumentError {
            message: "a choice needs at least one option".to_owned(),
            span: reader.span(piece.start, piece.end()),
            help: Some("write `|one|other`".to_owned()),
        });
    }
    let rest = piece.part(end, piece.text.len());
    for parameter in split::pieces(rest.text, |c, _| matches!(c, ':' | '：')) {
        let shifted = rest.part(parameter.start, parameter.end());
        choice.set(reader, shifted)?;
    }
    Ok(choice)
}

/// Returns whether a colon ends the items. A full-width colon does so only before a parameter,
/// because it may be part of an item in Chinese text.
fn ends_items(rest: &str, c: char) -> bool {
    let Some(after) = rest.strip_prefix('：') else {
        return c == ':';
    };
    let after = after.trim_start();
    let word_end = after
        .find(|c: char| !c.is_alphanumeric())
        .unwrap_or(after.len());
    let word = &after[..word_end];
    let number = !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
    number || word == "random" || PARAMETERS.contains(&word)
}

fn item_value(
    reader: &ArgumentReader<'_>,
    item: ArgumentText<'_>,
) -> Result<Option<ArgumentValue>, ArgumentError> {
    if item.text.is_empty() {
        return Ok(None);
    }
    if item.text.starts_with("?=") {
        return reader.value(item.part(2, item.text.len())).map(Some);
    }
    let text = split::unquote(item.text).unwrap_or_else(|| item.text.to_owned());
    Ok(Some(super::text_value(text)))
}
