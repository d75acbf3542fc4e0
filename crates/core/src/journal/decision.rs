//! Decisions about pending approvals.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

/// Decision about a pending approval.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "decision", rename_all = "snake_case")]
pub enum Decision {
    /// The call is made, optionally with changed arguments.
    Approve {
        /// Arguments that replace those of the model.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        arguments: Option<Map<String, Json>>,
        /// Note for the log.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<String>,
    },
    /// The call is not made, and the model is informed.
    Deny {
        /// Reason for the model.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<String>,
    },
    /// The call is not made, because its result is known: someone checked the outcome or did the
    /// work manually.
    Result {
        /// Result for the model.
        text: String,
    },
}

/// Unvalidated decision of a user, sent over HTTP, on the command line or by an MCP client.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct DecisionInput {
    /// `approve`, `edit`, `deny` or `result`.
    pub decision: String,
    /// Arguments that replace those of the model: required for `edit`, optional for `approve`.
    #[serde(default)]
    pub arguments: Option<Map<String, Json>>,
    /// Result for the model, required for `result`.
    #[serde(default)]
    pub text: Option<String>,
    /// Note; for `deny`, the model reads it.
    #[serde(default)]
    pub note: Option<String>,
}

/// Error of a decision.
#[derive(Debug, thiserror::Error)]
pub enum DecisionError {
    /// The decision is unknown.
    #[error("unknown decision {0:?}: use approve, deny, edit or result")]
    Unknown(String),
    /// `edit` requires arguments.
    #[error("`edit` needs `arguments`: an object that replaces the model's arguments")]
    NoArguments,
    /// `result` requires a text.
    #[error("`result` needs `text`: the result that the model reads")]
    NoText,
    /// The arguments from the command line are not a JSON object.
    #[error("`arguments` must be a JSON object: {0}")]
    Arguments(#[from] serde_json::Error),
}

impl DecisionInput {
    /// Converts the arguments of a command line. `text` is the result or a note, depending on the
    /// decision.
    ///
    /// # Errors
    /// The arguments are not a JSON object.
    pub fn from_command_line(
        decision: &str,
        arguments: Option<&str>,
        text: Option<&str>,
    ) -> Result<Self, DecisionError> {
        let text = text.map(str::to_owned);
        Ok(DecisionInput {
            decision: decision.to_owned(),
            arguments: arguments.map(serde_json::from_str).transpose()?,
            note: text.clone(),
            text,
        })
    }

    /// Validates the decision.
    ///
    /// # Errors
    /// The decision is unknown, or a required field is missing.
    ///
    /// # Examples
    ///
    /// ```
    /// use quillet_core::journal::{Decision, DecisionInput};
    ///
    /// let input = DecisionInput::from_command_line("deny", None, Some("too risky"))?;
    /// assert_eq!(input.decide()?, Decision::Deny { note: Some("too risky".into()) });
    /// assert!(DecisionInput::from_command_line("edit", None, None)?.decide().is_err());
    /// # Ok::<(), quillet_core::journal::DecisionError>(())
    /// ```
    pub fn decide(self) -> Result<Decision, DecisionError> {
        let DecisionInput {
            decision,
            arguments,
            text,
            note,
        } = self;
        match decision.as_str() {
            "edit" if arguments.is_none() => Err(DecisionError::NoArguments),
            "approve" | "edit" => Ok(Decision::Approve { arguments, note }),
            "deny" => Ok(Decision::Deny { note }),
            "result" => {
                let text = text.ok_or(DecisionError::NoText)?;
                Ok(Decision::Result { text })
            }
            _ => Err(DecisionError::Unknown(decision)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_decides_with_what_belongs_to_it() {
        let one = || serde_json::from_str::<Map<String, Json>>(r#"{"a":1}"#).ok();
        let note = Some("why".to_owned());
        let approve = |arguments| Decision::Approve {
            arguments,
            note: note.clone(),
        };
        let json = Some(r#"{"a":1}"#);
        let decided = [
            ("approve", None, approve(None)),
            ("approve", json, approve(one())),
            ("edit", json, approve(one())),
            ("deny", None, Decision::Deny { note: note.clone() }),
            (
                "result",
                None,
                Decision::Result {
                    text: "why".to_owned(),
                },
            ),
        ];
        for (word, arguments, expected) in decided {
            let words = DecisionInput::from_command_line(word, arguments, Some("why")).unwrap();
            assert_eq!(words.decide().unwrap(), expected, "{word}");
        }
        let refused = [
            ("edit", None, "needs `arguments`"),
            ("edit", Some("[1]"), "must be a JSON object"),
            ("result", None, "needs `text`"),
            ("Approve", None, "unknown decision"),
            ("", None, "unknown decision"),
        ];
        for (word, arguments, says) in refused {
            let words = DecisionInput::from_command_line(word, arguments, None);
            let refused = words
                .and_then(DecisionInput::decide)
                .unwrap_err()
                .to_string();
            assert!(refused.contains(says), "{word}: {refused}");
        }
    }
}
