//! What people decide about calls that wait, and how they write it.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

/// What a person says about a call that waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "decision", rename_all = "snake_case")]
pub enum Decision {
    /// It is made, with other arguments where there are some.
    Approve {
        /// In place of the model's.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        arguments: Option<Map<String, Json>>,
        /// For the log.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<String>,
    },
    /// It is not made, and the model is told so.
    Deny {
        /// What the model is told.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<String>,
    },
    /// It is not made, since its result is known: a call whose outcome was unknown, or one that a
    /// person made.
    Result {
        /// What the model reads.
        text: String,
    },
}

/// A decision as a person writes it: a word, and what belongs to it. The same over HTTP, on the
/// command line, and as the answer of a client.
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

/// Words that decide nothing.
#[derive(Debug, thiserror::Error)]
pub enum DecisionError {
    /// The word is no decision.
    #[error("decision: {0:?} is none of approve, deny, edit and result")]
    Unknown(String),
    /// What is called instead is missing.
    #[error("`edit` needs `arguments`, an object in place of the model's")]
    NoArguments,
    /// What the model is to read is missing.
    #[error("`result` needs `text`, which the model reads")]
    NoText,
    /// The arguments of a command line are no object.
    #[error("`arguments` is no JSON object: {0}")]
    Arguments(#[from] serde_json::Error),
}

impl DecisionInput {
    /// Those of a command line, whose text is a note or a result as the decision says, and whose
    /// arguments are JSON.
    ///
    /// # Errors
    /// The arguments are no object.
    pub fn of_line(
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
            let words = DecisionInput::of_line(word, arguments, Some("why")).unwrap();
            assert_eq!(words.decide().unwrap(), expected, "{word}");
        }
        let refused = [
            ("edit", None, "needs `arguments`"),
            ("edit", Some("[1]"), "no JSON object"),
            ("result", None, "needs `text`"),
            ("Approve", None, "none of approve"),
            ("", None, "none of approve"),
        ];
        for (word, arguments, says) in refused {
            let words = DecisionInput::of_line(word, arguments, None);
            let refused = words
                .and_then(DecisionInput::decide)
                .unwrap_err()
                .to_string();
            assert!(refused.contains(says), "{word}: {refused}");
        }
    }
}
