//! Checks the form of an answer and describes the violation to the model.

use quillet_core::Value;
use serde_json::Value as Json;

use super::{CallError, Constraint};
use crate::ErrorKind;
use crate::answer::{self, AnswerFormat, AnswerSchema, ChoiceConstraint, ProviderSchema};

/// A compiled constraint.
#[derive(Debug)]
pub(super) enum AnswerConstraint {
    Choice(ChoiceConstraint),
    Value {
        format: AnswerFormat,
        schema: Option<Box<AnswerSchema>>,
        force: bool,
    },
}

/// Result of checking an answer.
#[derive(Debug)]
pub(super) enum ConstraintCheck {
    /// It has the required form: its text for display, and its value.
    Good(Option<String>, Value),
    /// A value that violates the schema.
    Breaks(Value, String),
    /// It cannot be parsed.
    Unreadable(String),
}

impl AnswerConstraint {
    /// # Errors
    /// The script's `output` is not a schema, or a choice has no options.
    pub(super) fn new(constraint: &Constraint) -> Result<Self, CallError> {
        let value = |format: &AnswerFormat, schema, force: &bool| AnswerConstraint::Value {
            format: *format,
            schema,
            force: *force,
        };
        match constraint {
            Constraint::Choice(choice) if choice.options.is_empty() => Err(CallError::new(
                ErrorKind::Script,
                "the choice has no options",
            )),
            Constraint::Choice(choice) => Ok(AnswerConstraint::Choice(choice.clone())),
            Constraint::Format { format, force } => Ok(value(format, None, force)),
            Constraint::Schema {
                schema,
                format,
                force,
            } => {
                let schema = AnswerSchema::new(schema).map_err(|error| {
                    CallError::new(ErrorKind::Script, format!("invalid output schema: {error}"))
                })?;
                Ok(value(format, Some(Box::new(schema)), force))
            }
        }
    }

    /// Returns its name for `EnforcedConstraint`.
    pub(super) fn name(&self) -> &'static str {
        match self {
            AnswerConstraint::Choice(_) => "choice",
            AnswerConstraint::Value {
                schema: Some(_), ..
            } => "schema",
            AnswerConstraint::Value { format, .. } => format.as_str(),
        }
    }

    /// Returns the normalized schema of the answer.
    pub(super) fn tree(&self) -> Option<&Json> {
        match self {
            AnswerConstraint::Value {
                schema: Some(schema),
                ..
            } => Some(schema.tree()),
            _ => None,
        }
    }

    /// Returns whether an unreadable answer is returned as text (`forceJson: false`).
    pub(super) fn may_stay_text(&self) -> bool {
        matches!(self, AnswerConstraint::Value { force: false, .. })
    }

    /// Returns the maximum number of repair requests.
    pub(super) fn repairs(&self) -> u32 {
        match self {
            AnswerConstraint::Choice(_) => 2,
            AnswerConstraint::Value { force, .. } => u32::from(*force),
        }
    }

    /// Checks an answer. `before` and `after` are the author's text around it in its message.
    pub(super) fn check(
        &self,
        text: &str,
        before: &str,
        after: &str,
        provided: Option<&ProviderSchema>,
    ) -> ConstraintCheck {
        let (format, schema) = match self {
            AnswerConstraint::Choice(choice) => return check_choice(choice, text),
            AnswerConstraint::Value { format, schema, .. } => (*format, schema.as_deref()),
        };
        let mut verdict = None;
        for candidate in candidates(text, before, after) {
            let found = read(format, schema, &candidate, provided);
            if matches!(found, ConstraintCheck::Good(..)) {
                return found;
            }
            // A value that violates the schema is better than an unreadable answer.
            let better = !matches!(
                (&verdict, &found),
                (
                    Some(ConstraintCheck::Breaks(..)),
                    ConstraintCheck::Unreadable(_)
                )
            );
            if better {
                verdict = Some(found);
            }
        }
        verdict.unwrap_or_else(|| ConstraintCheck::Unreadable("it is empty".to_owned()))
    }

    /// Returns the message to the model about a violation.
    pub(super) fn complaint(&self, why: &str) -> String {
        match self {
            AnswerConstraint::Choice(choice) => format!(
                "That was not one of the options: {why}.\n{}",
                choice.instruction()
            ),
            AnswerConstraint::Value { format, schema, .. } => {
                let form = match schema {
                    Some(schema) => {
                        format!(" of this form:\n{}", answer::describe(schema.tree()))
                    }
                    None => String::new(),
                };
                format!(
                    "That answer cannot be used: {why}.\nGive the same answer again as {}, with \
                     nothing before or after it{form}",
                    format.title()
                )
            }
        }
    }
}

fn check_choice(choice: &ChoiceConstraint, text: &str) -> ConstraintCheck {
    match choice.check(text) {
        Ok(picked) => {
            let shown = choice.text(&picked);
            let value = Value::from(shown.as_str());
            ConstraintCheck::Good(Some(shown), value)
        }
        Err(why) => ConstraintCheck::Unreadable(why),
    }
}

/// Returns the whole message, then the answer alone.
fn candidates(text: &str, before: &str, after: &str) -> Vec<String> {
    let alone = text.to_owned();
    if before.is_empty() && after.is_empty() {
        vec![alone]
    } else {
        vec![format!("{before}{text}{after}"), alone]
    }
}

fn read(
    format: AnswerFormat,
    schema: Option<&AnswerSchema>,
    text: &str,
    provided: Option<&ProviderSchema>,
) -> ConstraintCheck {
    let wrapped = provided.is_some_and(|provided| provided.wrapped);
    let tree = schema.map(AnswerSchema::tree).filter(|_| !wrapped);
    let value = match answer::read(format, text, tree) {
        Ok(value) => value,
        Err(error) => return ConstraintCheck::Unreadable(error.to_string()),
    };
    let value = provided.map_or(value.clone(), |provided| provided.unwrap(value));
    let value = match schema {
        Some(schema) => answer::coerce(value, schema.tree()),
        None => value,
    };
    match schema.map_or(Ok(()), |schema| schema.check(&value)) {
        Ok(()) if wrapped => {
            ConstraintCheck::Good(Some(quillet_core::json::to_string(&value)), value)
        }
        Ok(()) => ConstraintCheck::Good(None, value),
        Err(findings) => ConstraintCheck::Breaks(value, findings.join("; ")),
    }
}
