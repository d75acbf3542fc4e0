//! Definitions as written by clients that fill in variables themselves.
//!
//! They are Mustache, which the Node clients read. `metadata` holds what only the clients know:
//! `"filledBy": "client"`, `"config"` and tags.

use serde_json::{Map, Value, json};

/// The format of what clients write.
pub(crate) const MUSTACHE: &str = "mustache";

/// The content of a prompt in a client's notation.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum PromptBody {
    /// One text.
    Text(String),
    /// Messages.
    Chat(Vec<PromptMessage>),
}

/// One message.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum PromptMessage {
    /// A message.
    Message {
        /// The role: any word.
        role: String,
        /// The content.
        content: String,
    },
    /// A placeholder for messages of the request, by variable name.
    Placeholder(String),
}

impl PromptBody {
    /// `text` or `chat`, as Langfuse and MLflow both call it.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            PromptBody::Text(_) => "text",
            PromptBody::Chat(_) => "chat",
        }
    }
}

/// A stored definition in JSON, with what clients keep in it.
#[derive(Clone, Debug)]
pub(crate) struct StoredPrompt(Map<String, Value>);

impl StoredPrompt {
    /// Reads a definition; `None` where it is no JSON object.
    pub(crate) fn read(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok().map(StoredPrompt)
    }

    /// A definition of what a client writes, in the format whose variables it fills in. `name` is
    /// what it calls the prompt, where its id is another.
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

    /// Its text.
    pub(crate) fn to_text(&self) -> String {
        serde_json::to_string_pretty(&self.0).unwrap_or_default()
    }

    /// Keeps something that only the clients know.
    pub(crate) fn set_metadata(&mut self, name: &str, value: Value) {
        if let Some(Value::Object(metadata)) = self.0.get_mut("metadata") {
            metadata.insert(name.to_owned(), value);
        }
    }

    /// What [`StoredPrompt::keep`] kept.
    pub(crate) fn metadata(&self, name: &str) -> Option<&Value> {
        self.0.get("metadata")?.get(name)
    }

    /// Sets the tags.
    pub(crate) fn tag(&mut self, tags: &[String]) {
        if !tags.is_empty() {
            self.0.insert("tags".into(), tags.into());
        }
    }

    /// Sets the model and how it is to answer, so that this server asks as the clients would.
    pub(crate) fn set_model(&mut self, model: Option<&str>, options: Map<String, Value>) {
        if let Some(model) = model {
            self.0.insert("model".into(), model.into());
        }
        if !options.is_empty() {
            self.0.insert("options".into(), options.into());
        }
    }

    /// The tags.
    pub(crate) fn tags(&self) -> Vec<String> {
        let tags = self.0.get("tags").and_then(Value::as_array);
        let tags = tags.into_iter().flatten().filter_map(Value::as_str);
        tags.map(str::to_owned).collect()
    }

    /// What clients call `config`: what one of them wrote, else the model and its options.
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

    /// What a client wrote in Mustache's notation, word for word; `None` of a definition that
    /// somebody else wrote.
    pub(crate) fn for_clients(&self) -> Option<PromptBody> {
        // Other formats must be converted, even if a client wrote them.
        let is_mustache = self.0.get("format") == Some(&json!(MUSTACHE));
        self.of_client().filter(|_| is_mustache)
    }

    /// What a client wrote, in whatever notation.
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

    /// The model, if it says one.
    pub(crate) fn model(&self) -> Option<&str> {
        self.0.get("model").and_then(Value::as_str)
    }

    /// How the model is to answer, in the words of OpenAI's chat.
    pub(crate) fn options(&self) -> Option<&Map<String, Value>> {
        self.0.get("options").and_then(Value::as_object)
    }

    /// Whether it is one text or messages: `text` or `chat`.
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
