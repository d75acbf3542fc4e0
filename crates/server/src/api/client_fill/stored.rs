//! Definitions written by clients that fill in variables themselves.
//!
//! They are Mustache templates, which the Node clients can read. `metadata` holds members that only
//! the clients use: `"filledBy": "client"`, `"config"` and tags.

use serde_json::{Map, Value, json};

/// The template format of these definitions.
pub(crate) const MUSTACHE: &str = "mustache";

/// The content of a prompt in a client's notation.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum PromptBody {
    /// One text.
    Text(String),
    /// A list of messages.
    Chat(Vec<PromptMessage>),
}

/// An entry of a chat prompt.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum PromptMessage {
    /// A message with text.
    Message {
        /// The role, which can be any word.
        role: String,
        /// The content.
        content: String,
    },
    /// A placeholder for messages of the request, by variable name.
    Placeholder(String),
}

impl PromptBody {
    /// Returns `text` or `chat`, the names that Langfuse and MLflow use.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            PromptBody::Text(_) => "text",
            PromptBody::Chat(_) => "chat",
        }
    }
}

/// A stored JSON definition with the metadata of clients.
#[derive(Clone, Debug)]
pub(crate) struct StoredPrompt(Map<String, Value>);

impl StoredPrompt {
    /// Parses a definition. Returns `None` if it is not a JSON object.
    pub(crate) fn read(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok().map(StoredPrompt)
    }

    /// Creates a definition from a client's prompt, in the template format of that client. `name`
    /// is the client's name of the prompt if it differs from the id.
    pub(crate) fn from_body(said: &PromptBody, format: &str, name: Option<&str>) -> Self {
        let mut members = Map::new();
        if let Some(name) = name {
            members.insert("displayName".into(), name.into());
        }
        members.insert("format".into(), format.into());
        match said {
            PromptBody::Text(text) => members.insert("prompt".into(), text.as_str().into()),
            PromptBody::Chat(turns) => {
                let turn = |turn: &PromptMessage| match turn {
                    PromptMessage::Message { role, content } => {
                        json!({"role": role, "content": content})
                    }
                    PromptMessage::Placeholder(name) => {
                        json!({"type": "placeholder", "name": name})
                    }
                };
                let turns: Vec<Value> = turns.iter().map(turn).collect();
                members.insert("messages".into(), turns.into())
            }
        };
        members.insert("metadata".into(), json!({"filledBy": "client"}));
        StoredPrompt(members)
    }

    /// Returns the definition as text.
    pub(crate) fn to_text(&self) -> String {
        serde_json::to_string_pretty(&self.0).unwrap_or_default()
    }

    /// Stores metadata that only the clients use.
    pub(crate) fn set_metadata(&mut self, name: &str, value: Value) {
        if let Some(Value::Object(metadata)) = self.0.get_mut("metadata") {
            metadata.insert(name.to_owned(), value);
        }
    }

    /// Returns metadata set by [`StoredPrompt::set_metadata`].
    pub(crate) fn metadata(&self, name: &str) -> Option<&Value> {
        self.0.get("metadata")?.get(name)
    }

    /// Sets the tags.
    pub(crate) fn tag(&mut self, tags: &[String]) {
        if !tags.is_empty() {
            self.0.insert("tags".into(), tags.into());
        }
    }

    /// Sets the model and its options, so that this server sends the same requests as the clients.
    pub(crate) fn set_model(&mut self, model: Option<&str>, options: Map<String, Value>) {
        if let Some(model) = model {
            self.0.insert("model".into(), model.into());
        }
        if !options.is_empty() {
            self.0.insert("options".into(), options.into());
        }
    }

    /// Returns the tags.
    pub(crate) fn tags(&self) -> Vec<String> {
        let tags = self.0.get("tags").and_then(Value::as_array);
        let tags = tags.into_iter().flatten().filter_map(Value::as_str);
        tags.map(str::to_owned).collect()
    }

    /// Returns the `config` for clients: the stored one, or else the model and its options.
    pub(crate) fn config(&self) -> Value {
        if let Some(config) = self.metadata("config") {
            return config.clone();
        }
        let mut config = Map::new();
        if let Some(model) = self.model() {
            config.insert("model".into(), model.into());
        }
        config.extend(self.options().cloned().unwrap_or_default());
        config.into()
    }

    /// Returns the Mustache text that a client wrote, unchanged, or `None` for other definitions.
    pub(crate) fn for_clients(&self) -> Option<PromptBody> {
        // Other formats must be converted, even if a client wrote them.
        let is_mustache = self.0.get("format") == Some(&json!(MUSTACHE));
        self.of_client().filter(|_| is_mustache)
    }

    /// Returns the prompt that a client wrote, in any notation.
    pub(crate) fn of_client(&self) -> Option<PromptBody> {
        if self.metadata("filledBy") != Some(&json!("client")) {
            return None;
        }
        if let Some(Value::String(text)) = self.0.get("prompt") {
            return Some(PromptBody::Text(text.clone()));
        }
        let turns = self.0.get("messages")?.as_array()?;
        let turn = |turn: &Value| {
            let text = |name: &str| turn.get(name).and_then(Value::as_str).map(str::to_owned);
            if text("type").as_deref() == Some("placeholder") {
                return text("name").map(PromptMessage::Placeholder);
            }
            Some(PromptMessage::Message {
                role: text("role")?,
                content: text("content")?,
            })
        };
        let turns: Option<Vec<PromptMessage>> = turns.iter().map(turn).collect();
        turns.map(PromptBody::Chat)
    }

    /// Returns the model, if set.
    pub(crate) fn model(&self) -> Option<&str> {
        self.0.get("model").and_then(Value::as_str)
    }

    /// Returns the model options, in the format of OpenAI's Chat API.
    pub(crate) fn options(&self) -> Option<&Map<String, Value>> {
        self.0.get("options").and_then(Value::as_object)
    }

    /// Returns `text` for a single text and `chat` for messages.
    pub(crate) fn kind(&self) -> &'static str {
        match self.0.get("messages") {
            Some(Value::Array(_)) => "chat",
            _ => "text",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_clients_write_comes_back_word_for_word() {
        let chat = PromptBody::Chat(vec![
            PromptMessage::Message {
                role: "system".into(),
                content: "You are {{ name }}".into(),
            },
            PromptMessage::Placeholder("history".into()),
        ]);
        let text = PromptBody::Text("{{ \"key\": {{x}} }} {custom}".into());
        for said in [chat, text] {
            let mut stored = StoredPrompt::from_body(&said, MUSTACHE, Some("a/b"));
            stored.set_metadata("config", json!({"temperature": "hot"}));
            stored.tag(&["x".to_owned()]);
            let again = StoredPrompt::read(&stored.to_text()).unwrap();
            assert_eq!(again.for_clients(), Some(said.clone()));
            assert_eq!(again.kind(), said.kind());
            assert_eq!(again.config(), json!({"temperature": "hot"}));
            assert_eq!(again.tags(), ["x"]);
        }
    }

    #[test]
    fn definitions_of_others_have_their_model_as_config() {
        let text = r#"{"prompt":"x","model":"gpt-5.4","options":{"temperature":0.5}}"#;
        let stored = StoredPrompt::read(text).unwrap();
        assert_eq!(stored.for_clients(), None);
        let expected = json!({"model": "gpt-5.4", "temperature": 0.5});
        assert_eq!(stored.config(), expected);
        assert!(StoredPrompt::read("---\nmodel: x\n---\nHi").is_none());
    }
}
