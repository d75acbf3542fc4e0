//! The template of a prompt in the words of the target.

use quillet_template::{MessageSyntax, Missing, TemplateFactory};

use super::pieces::{self, Family, Piece};
use super::turns::{self, Turn};
use super::{Refusal, Target};
use crate::definition::{Body, Prompt};

/// A template as it will stand in the new file.
#[derive(Clone, Debug)]
pub(super) struct Written {
    pub(super) body: Body,
    pub(super) format: String,
    pub(super) messages: MessageSyntax,
    pub(super) missing: Missing,
}

/// A character that no text of people has: it stands for what is put in after
/// the text has been escaped as a whole.
const SLOT: char = '\u{FDD1}';

/// The template for the target.
///
/// # Errors
/// What has no counterpart, with its place.
pub(super) fn of(
    prompt: &Prompt,
    target: Target,
    formats: &TemplateFactory,
) -> Result<Written, Vec<Refusal>> {
    let format = format_for(&prompt.format, target);
    if target == Target::Definition {
        return Ok(Written {
            body: prompt.body.clone(),
            format: format.to_owned(),
            messages: prompt.messages,
            missing: prompt.missing,
        });
    }
    let turns = turns::of(prompt)?;
    let mut draft = Draft::default();
    let mut refusals = Vec::new();
    for (index, turn) in turns.iter().enumerate() {
        draft.begin(target, turn, index, turns.len());
        let same = prompt.format == format;
        if let Err(found) = draft.content(&prompt.format, format, same, turn) {
            refusals.extend(found);
        }
        draft.end(target, turn, index, turns.len());
    }
    if !refusals.is_empty() {
        return Err(refusals);
    }
    Ok(Written {
        body: Body::Text(draft.finish(format, formats)),
        format: format.to_owned(),
        messages: MessageSyntax::Plain,
        missing: Missing::Default,
    })
}

/// The template format of the new file: the old one where the target has it.
fn format_for(source: &str, target: Target) -> &str {
    let has: &[&str] = match target {
        Target::Definition => return source,
        Target::Dotprompt => &["dotprompt"],
        Target::Prompty => &["jinja-plain", "mustache"],
        Target::SemanticKernel => &[
            "semantic-kernel",
            "semantic-kernel-handlebars",
            "semantic-kernel-jinja2",
        ],
    };
    let same = has.iter().find(|format| **format == source);
    same.or(has.first()).copied().unwrap_or(source)
}

/// A text with slots for what must not be escaped.
#[derive(Default)]
struct Draft {
    text: String,
    slots: Vec<String>,
}

impl Draft {
    fn slot(&mut self, raw: String) {
        self.text.push(SLOT);
        self.slots.push(raw);
    }

    /// What says who speaks. A single text of the user says so by itself, but in
    /// prompty, where text without a role is the system's.
    fn begin(&mut self, target: Target, turn: &Turn, index: usize, count: usize) {
        let alone = count == 1 && turn.role == "user";
        match target {
            Target::Prompty => self.slot(format!("{}:\n", turn.role)),
            Target::SemanticKernel if !alone => {
                self.slot(format!("<message role=\"{}\">", turn.role));
            }
            Target::Dotprompt if index > 0 || turn.role != "user" => {
                let role = if turn.role == "assistant" {
                    "model"
                } else {
                    &turn.role
                };
                self.slot(format!("{{{{role \"{role}\"}}}}"));
            }
            _ => {}
        }
    }

    fn end(&mut self, target: Target, turn: &Turn, index: usize, count: usize) {
        let last = index + 1 == count;
        match target {
            Target::Prompty if !last => self.text.push_str("\n\n"),
            Target::SemanticKernel if count > 1 || turn.role != "user" => {
                self.slot(if last { "</message>" } else { "</message>\n" }.to_owned());
            }
            _ => {}
        }
    }

    fn content(
        &mut self,
        from: &str,
        to: &str,
        same: bool,
        turn: &Turn,
    ) -> Result<(), Vec<Refusal>> {
        if same {
            self.slot(turn.text.clone());
            return Ok(());
        }
        let family = |format: &str| {
            let reason = format!("templates of the format {format:?} cannot be converted");
            Family::of(format).ok_or_else(|| vec![Refusal::key("format", reason)])
        };
        let (from, to) = (family(from)?, family(to)?);
        for piece in pieces::read(from, &turn.text, turn.at)? {
            match piece {
                Piece::Text(text) => self.text.push_str(&text),
                Piece::Variable(path) => {
                    let reason = format!("the field {} has no counterpart", path.join("."));
                    let raw = to.write(&path);
                    let raw = raw.ok_or_else(|| vec![Refusal::template(turn.at, reason)])?;
                    self.slot(raw);
                }
            }
        }
        Ok(())
    }

    /// The text, escaped for the format, with everything in its slot.
    fn finish(self, format: &str, formats: &TemplateFactory) -> String {
        let format = formats.format(format);
        let escaped = format.and_then(|format| format.escape(&self.text));
        let escaped = escaped.unwrap_or(self.text);
        let mut slots = self.slots.into_iter();
        let mut out = String::with_capacity(escaped.len());
        for piece in escaped.split_inclusive(SLOT) {
            match piece.strip_suffix(SLOT) {
                Some(text) => {
                    out.push_str(text);
                    out.extend(slots.next());
                }
                None => out.push_str(piece),
            }
        }
        out
    }
}
