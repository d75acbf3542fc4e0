//! Generation options in the format of OpenAI's Chat API. Encoders translate them to other provider
//! APIs.

use serde::de::{self, Deserializer};
use serde::ser::Serializer;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Parameters that some models refuse. They are not sent to these models.
pub const REFUSABLE_PARAMETERS: [&str; 9] = [
    "temperature",
    "top_p",
    "top_k",
    "presence_penalty",
    "frequency_penalty",
    "stop",
    "logit_bias",
    "logprobs",
    "top_logprobs",
];

/// Member of [`ChatOptions::extra`] whose [`REFUSABLE_PARAMETERS`] are sent to every model.
pub const EXTRA_BODY: &str = "extra_body";

/// Generation parameters. Parameters that are `None` are not sent. Providers check the ranges,
/// because these differ between models.
///
/// # Examples
///
/// ```
/// use quillet_core::chat::ChatOptions;
///
/// let options: ChatOptions = serde_json::from_str(r#"{"temperature": 0.5, "seed": 7}"#)?;
/// assert_eq!(options.temperature, Some(0.5));
/// // Unknown parameters are kept.
/// assert_eq!(options.extra["seed"], 7);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ChatOptions {
    /// Randomness, usually 0 to 2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Nucleus sampling, 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f64>,
    /// Maximum tokens to generate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// Frequency penalty, usually -2 to 2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frequency_penalty: Option<f64>,
    /// Presence penalty, usually -2 to 2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub presence_penalty: Option<f64>,
    /// Stop sequences: a string or a list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<Value>,
    /// Number of answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub n: Option<u32>,
    /// The end user, for the provider's abuse monitoring.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// Tools that the model may call.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<ToolOffer>,
    /// Whether the model must call a tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<ToolChoice>,
    /// Whether the model may make several calls in one turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parallel_tool_calls: Option<bool>,
    /// The format of the answer, as in OpenAI's Chat API: `{"type": "text"}`,
    /// `{"type": "json_object"}` or `{"type": "json_schema", "json_schema": {"name": …,
    /// "schema": …, "strict": …}}`; see [`ChatOptions::json_schema`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_format: Option<Value>,
    /// Reasoning effort: `none`, `minimal`, `low`, `medium`, `high`, `xhigh`. Models support only
    /// some of these levels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning_effort: Option<String>,
    /// Provider-specific parameters (`seed`, `logit_bias`, `thinking`, `safetySettings` and so on),
    /// sent unchanged. `"stream": false` requests an unstreamed answer from APIs that support it.
    #[serde(flatten)]
    pub extra: serde_json::Map<String, Value>,
    /// Parameters in `extra` that are sent even if the model refuses them. Not part of the JSON.
    #[serde(skip)]
    pub forced: Vec<&'static str>,
}

impl ChatOptions {
    /// Returns these options, with unset options taken from `other`.
    ///
    /// # Examples
    ///
    /// ```
    /// use quillet_core::chat::ChatOptions;
    ///
    /// let request = ChatOptions { temperature: Some(0.5), ..ChatOptions::default() };
    /// let defaults = ChatOptions {
    ///     temperature: Some(1.0),
    ///     max_tokens: Some(500),
    ///     ..ChatOptions::default()
    /// };
    /// let options = request.or_defaults(defaults);
    /// assert_eq!((options.temperature, options.max_tokens), (Some(0.5), Some(500)));
    /// ```
    #[must_use]
    pub fn or_defaults(self, other: ChatOptions) -> Self {
        let mut extra = other.extra;
        extra.extend(self.extra);
        let tools = if self.tools.is_empty() {
            other.tools
        } else {
            self.tools
        };
        ChatOptions {
            temperature: self.temperature.or(other.temperature),
            top_p: self.top_p.or(other.top_p),
            max_tokens: self.max_tokens.or(other.max_tokens),
            frequency_penalty: self.frequency_penalty.or(other.frequency_penalty),
            presence_penalty: self.presence_penalty.or(other.presence_penalty),
            stop: self.stop.or(other.stop),
            n: self.n.or(other.n),
            user: self.user.or(other.user),
            tools,
            tool_choice: self.tool_choice.or(other.tool_choice),
            parallel_tool_calls: self.parallel_tool_calls.or(other.parallel_tool_calls),
            response_format: self.response_format.or(other.response_format),
            reasoning_effort: self.reasoning_effort.or(other.reasoning_effort),
            extra,
            forced: [self.forced, other.forced].concat(),
        }
    }

    /// Returns the schema that the answer must match, if any.
    ///
    /// # Examples
    ///
    /// ```
    /// use quillet_core::chat::ChatOptions;
    /// use serde_json::json;
    ///
    /// let options = ChatOptions {
    ///     response_format: Some(json!({
    ///         "type": "json_schema",
    ///         "json_schema": {"name": "city", "schema": {"type": "string"}},
    ///     })),
    ///     ..ChatOptions::default()
    /// };
    /// assert!(options.wants_json());
    /// assert_eq!(options.json_schema().map(|format| format.name), Some("city"));
    /// ```
    #[must_use]
    pub fn json_schema(&self) -> Option<JsonSchemaFormat<'_>> {
        let format = self.response_format.as_ref()?;
        let given = format.get("json_schema")?;
        Some(JsonSchemaFormat {
            name: given
                .get("name")
                .and_then(Value::as_str)
                .unwrap_or("answer"),
            description: given.get("description").and_then(Value::as_str),
            schema: given.get("schema")?,
            strict: given.get("strict").and_then(Value::as_bool),
        })
    }

    /// Whether the answer must be JSON, with or without a schema.
    #[must_use]
    pub fn wants_json(&self) -> bool {
        let kind = self.response_format.as_ref().and_then(|f| f.get("type"));
        matches!(
            kind.and_then(Value::as_str),
            Some("json_object" | "json_schema")
        )
    }
}

/// A schema that an answer must match.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JsonSchemaFormat<'a> {
    /// Its name; `answer` by default.
    pub name: &'a str,
    /// Description of the answer, for the model.
    pub description: Option<&'a str>,
    /// The JSON Schema.
    pub schema: &'a Value,
    /// Whether the provider must enforce the schema.
    pub strict: Option<bool>,
}

/// A tool that a model may call. In JSON as in OpenAI's Chat API:
/// `{"type": "function", "function": {"name": …, "description": …, "parameters": …}}`.
///
/// # Examples
///
/// ```
/// use quillet_core::chat::ToolOffer;
/// use serde_json::json;
///
/// let offer = json!({"type": "function", "function": {"name": "weather"}});
/// let offer: ToolOffer = serde_json::from_value(offer)?;
/// assert_eq!(offer.name(), Some("weather"));
///
/// let native: ToolOffer = serde_json::from_value(json!({"type": "web_search"}))?;
/// assert_eq!(native.name(), None);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum ToolOffer {
    /// A function that the caller runs.
    Function {
        /// Its name.
        name: String,
        /// Description of the function, for the model.
        description: String,
        /// JSON Schema of the arguments object; `null` if it takes none.
        parameters: Value,
        /// Whether the provider must enforce the schema.
        strict: Option<bool>,
        /// Other members from the client (`cache_control`, `defer_loading` and so on), for
        /// providers that support them. In JSON they are next to `function`.
        extra: serde_json::Map<String, Value>,
    },
    /// A provider's own tool (search, code interpreter) in the provider's format. It is not sent to
    /// other providers.
    Native(Value),
}

impl ToolOffer {
    /// Name of the function.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        match self {
            ToolOffer::Function { name, .. } => Some(name),
            ToolOffer::Native(_) => None,
        }
    }
}

impl Serialize for ToolOffer {
    fn serialize<S: Serializer>(&self, writer: S) -> Result<S::Ok, S::Error> {
        let (name, description, parameters, strict, extra) = match self {
            ToolOffer::Native(native) => return native.serialize(writer),
            ToolOffer::Function {
                name,
                description,
                parameters,
                strict,
                extra,
            } => (name, description, parameters, strict, extra),
        };
        let mut function = json!({"name": name});
        if !description.is_empty() {
            function["description"] = json!(description);
        }
        if !parameters.is_null() {
            function["parameters"] = parameters.clone();
        }
        if let Some(strict) = strict {
            function["strict"] = json!(strict);
        }
        let mut tool = json!({"type": "function", "function": function});
        for (key, value) in extra {
            tool[key] = value.clone();
        }
        tool.serialize(writer)
    }
}

impl<'de> Deserialize<'de> for ToolOffer {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct FunctionDefinition {
            name: String,
            #[serde(default)]
            description: Option<String>,
            #[serde(default)]
            parameters: Value,
            #[serde(default)]
            strict: Option<bool>,
            #[serde(flatten)]
            extra: serde_json::Map<String, Value>,
        }
        let mut given = Value::deserialize(reader)?;
        let is_function = given.get("type").is_none_or(|kind| kind == "function");
        let Some(function) = given.get_mut("function").filter(|_| is_function) else {
            return Ok(ToolOffer::Native(given));
        };
        let mut function: FunctionDefinition =
            serde_json::from_value(function.take()).map_err(de::Error::custom)?;
        let beside = given.as_object_mut().map(std::mem::take);
        let beside = beside.unwrap_or_default().into_iter();
        let beside = beside.filter(|(key, _)| key != "type" && key != "function");
        function.extra.extend(beside);
        function.extra.retain(|_, value| !value.is_null());
        Ok(ToolOffer::Function {
            name: function.name,
            description: function.description.unwrap_or_default(),
            parameters: function.parameters,
            strict: function.strict,
            extra: function.extra,
        })
    }
}

/// Whether a model may, must or must not call tools. JSON has the format of OpenAI's Chat API.
///
/// # Examples
///
/// ```
/// use quillet_core::chat::ToolChoice;
/// use serde_json::json;
///
/// let choice = serde_json::to_value(ToolChoice::Named("weather".into()))?;
/// assert_eq!(choice, json!({"type": "function", "function": {"name": "weather"}}));
/// assert_eq!(serde_json::to_value(ToolChoice::Required)?, "required");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToolChoice {
    /// The model decides.
    Auto,
    /// No calls.
    None,
    /// At least one call.
    Required,
    /// A call of the named tool.
    Named(String),
    /// A provider-specific value in the provider's format.
    Native(Value),
}

impl Serialize for ToolChoice {
    fn serialize<S: Serializer>(&self, writer: S) -> Result<S::Ok, S::Error> {
        match self {
            ToolChoice::Auto => "auto".serialize(writer),
            ToolChoice::None => "none".serialize(writer),
            ToolChoice::Required => "required".serialize(writer),
            ToolChoice::Named(name) => {
                json!({"type": "function", "function": {"name": name}}).serialize(writer)
            }
            ToolChoice::Native(native) => native.serialize(writer),
        }
    }
}

impl<'de> Deserialize<'de> for ToolChoice {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        let given = Value::deserialize(reader)?;
        let name = given.pointer("/function/name").and_then(Value::as_str);
        Ok(match (given.as_str(), name) {
            (Some("auto"), _) => ToolChoice::Auto,
            (Some("none"), _) => ToolChoice::None,
            (Some("required"), _) => ToolChoice::Required,
            (_, Some(name)) => ToolChoice::Named(name.to_owned()),
            _ => ToolChoice::Native(given),
        })
    }
}
