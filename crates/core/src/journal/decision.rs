//! Decisions about pending approvals.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

/// Decision about a pending approval.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "decision", rename_all = "snake_case")]
pub enum Decision {
    /// The call is made, optionally with changed arguments.
    Approve {
        /// In place of the model's.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        arguments: Option<Map<String, Json>>,
        /// For the log.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<String>,
    },
    /// The call is not made, and the model is informed.
    Deny {
        /// What the model is told.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<String>,
    },
    /// The call is not made, because its result is known: the outcome was checked, or a person did
    /// the work.
    Result {
        /// What the model reads.
        text: String,
    },
}

/// A decision as users write it, over HTTP, on the command line and as the answer of a client.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct DecisionInput {
    /// `approve`, `edit`, `deny` or `result`.
    pub decision: String,
    /// Of `edit`, which needs them, and of `approve`: in place of the model's.
    #[serde(default)]
    pub arguments: Option<Map<String, Json>>,
    /// Of `result`, which needs it: what the model reads.
    #[serde(default)]
    pub text: Option<String>,
    /// Why; of `deny` the model reads it.
    #[serde(default)]
    pub note: Option<String>,
}

/// Error of a decision.
#[derive(Debug, thiserror::Error)]
pub enum DecisionError {
    /// The word is no decision.
    #[error("unknown decision {0:?}: use approve, deny, edit or result")]
    Unknown(String),
    /// What is called instead is missing.
    #[error("`edit` needs `arguments`: an object that replaces the model's arguments")]
    NoArguments,
    /// What the model is to read is missing.
    #[error("`result` needs `text`: the result that the model reads")]
    NoText,
    /// The arguments of a command line are no object.
    #[error("`arguments` must be a JSON object: {0}")]
    Arguments(#[from] serde_json::Error),
}

impl DecisionInput {
    /// Those of a command line, whose text is a note or a result as the decision says, and whose
    /// arguments are JSON.
    ///
    /// # Errors
    /// The arguments are no object.
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

    /// What they decide.
    ///
    /// # Errors
    /// The word is none, or lacks what belongs to it.
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
