//! A prompt extension: a package that provides prompts.

use quillet_core::Diagnostic;
use serde_json::Value as Tree;

use crate::checked::{CheckResult, located, parse_object};
use crate::definition::Prompt;

/// A stored extension and its prompts.
#[derive(Clone, Debug)]
pub struct Extension {
    /// Name of the extension, which is the prefix of its prompt ids.
    pub name: String,
    /// The definition as it was written.
    pub raw: Tree,
    /// Prompts from `contributes.prompts`: their ids (`{extension}.{prompt}`), each with the parsed
    /// prompt or its errors.
    pub prompts: Vec<(String, CheckResult<Prompt>)>,
}

impl Extension {
    /// Parses a stored text. An invalid prompt does not make the extension invalid.
    ///
    /// # Errors
    /// Returns all errors of the extension itself.
    ///
    /// # Examples
    ///
    /// ```
    /// use quillet_prompt::Extension;
    ///
    /// let text = r#"{
    ///     "name": "mail",
    ///     "contributes": {"prompts": [{"name": "draft", "prompt": "Hi"}]}
    /// }"#;
    /// let extension = Extension::parse("extension mail", text).unwrap();
    /// let (id, prompt) = &extension.prompts[0];
    /// assert_eq!(id, "mail.draft");
    /// assert!(prompt.is_ok());
    /// ```
    pub fn parse(source: &str, text: &str) -> Result<Self, Vec<Diagnostic>> {
        let object = parse_object(source, text)?;
        let refuse = |key: &str, message: &str| {
            vec![located(
                "extension.definition",
                source,
                text,
                key,
                message.to_owned(),
            )]
        };
        let Some(name) = object
            .get("name")
            .and_then(Tree::as_str)
            .filter(|name| !name.is_empty())
        else {
            return Err(refuse("name", "an extension needs a name"));
        };
        let kind = object
            .get("extensionType")
            .and_then(Tree::as_str)
            .unwrap_or_default();
        // Clients of ai-prompt-shell write an empty kind if the author did not set one.
        if !matches!(kind, "" | "prompt") {
            return Err(refuse("extensionType", "extensionType must be \"prompt\""));
        }
        let declared = object
            .get("contributes")
            .and_then(|contributes| contributes.get("prompts"));
        let items = match declared {
            None | Some(Tree::Null) => &[][..],
            Some(Tree::Array(items)) => items,
            Some(_) => return Err(refuse("prompts", "contributes.prompts must be a list")),
        };
        let prompts = items
            .iter()
            .enumerate()
            .map(|(index, item)| prompt(name, index, item, text))
            .collect();
        Ok(Extension {
            name: name.to_owned(),
            prompts,
            raw: Tree::Object(object),
        })
    }
}

fn prompt(extension: &str, index: usize, item: &Tree, text: &str) -> (String, CheckResult<Prompt>) {
    let name = item.get("name").and_then(Tree::as_str);
    let id = match name {
        Some(name) => format!("{extension}.{name}"),
        // The name is only for the error message, because a prompt without a name is rejected
        // below.
        None => format!("{extension}.{index}"),
    };
    let source = format!("prompt {id}");
    let Tree::Object(object) = item else {
        let message = format!("contributes.prompts[{index}] must be an object");
        return (
            id,
            Err(vec![Diagnostic::error(
                "prompt.definition",
                &source,
                message,
            )]),
        );
    };
    if name.is_none() {
        let message = format!("contributes.prompts[{index}] has no name");
        return (
            id,
            Err(vec![Diagnostic::error(
                "prompt.definition",
                &source,
                message,
            )]),
        );
    }
    let prompt = Prompt::from_object(&id, &source, text, object.clone());
    (id, prompt)
}

/// Reads the extension name from a stored text, even if the extension is invalid.
pub(crate) fn said_name(text: &str) -> Option<String> {
    let tree: Tree = serde_json::from_str(text).ok()?;
    tree.get("name").and_then(Tree::as_str).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_that_nobody_wrote_is_the_usual_one() {
        for (kind, valid) in [
            ("", true),
            (r#""extensionType":"","#, true),
            (r#""extensionType":null,"#, true),
            (r#""extensionType":"prompt","#, true),
            (r#""extensionType":"theme","#, false),
        ] {
            let text = format!(r#"{{{kind}"name":"e"}}"#);
            assert_eq!(
                Extension::parse("extension e", &text).is_ok(),
                valid,
                "{text}"
            );
        }
    }

    #[test]
    fn a_broken_prompt_does_not_hide_the_others() {
        let text = r#"{"name":"e","contributes":{"prompts":[{"name":"bad"},{"name":"good","prompt":"x"},7]}}"#;
        let extension = Extension::parse("extension e", text).unwrap();
        let states: Vec<(&str, bool)> = extension
            .prompts
            .iter()
            .map(|(id, prompt)| (id.as_str(), prompt.is_ok()))
            .collect();
        assert_eq!(states, [("e.bad", false), ("e.good", true), ("e.2", false)]);
    }
}
