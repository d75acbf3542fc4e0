//! Input of a request to a prompt.

use std::borrow::Cow;

use quillet_core::history::TrafficSplit;
use quillet_core::{Map, Message, json};

/// Position of the conversation if the template does not place it.
///
/// # Examples
///
/// ```
/// # use std::sync::Arc;
/// # use quillet_core::{Map, Message, Role, Value};
/// # use quillet_core::store::{EntryKey, EntryKind, Store};
/// # use quillet_core::tool::Tool;
/// # use quillet_prompt::*;
/// # use quillet_store::MemoryStore;
/// # use quillet_template::TemplateFactory;
/// # use quillet_test_support::EchoTools;
/// # let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
/// # runtime.unwrap().block_on(async {
/// # let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
/// let text = r#"{"prompt": "Hello {{.variables.name}}!"}"#;
/// store.put(EntryKind::Prompt, &EntryKey::new("greet"), text).await.unwrap();
/// # let formats = TemplateFactory::standard();
/// # let catalogue = Catalogue::new(store.clone(), formats, Arc::new(EchoTools), 100);
/// # let variables = Arc::new(Variables::new(store));
/// # let service = PromptService::new(catalogue, variables, None, ServiceOptions::default());
/// service.load().await.unwrap();
///
/// let variables = Map::from([("name", "Ada")]);
/// let history = [Message::new(Role::Assistant, "Yes?")];
/// let before = RenderInput { history: &history, ..RenderInput::new(&variables, "request-1") };
/// let last = RenderInput { unplaced: HistoryPlacement::Last, ..before };
/// let before = service.render("greet", &before).await.unwrap();
/// let last = service.render("greet", &last).await.unwrap();
/// assert_eq!(before.prompt.to_string(), "assistant: Yes?\nuser: Hello Ada!");
/// assert_eq!(last.prompt.to_string(), "user: Hello Ada!\nassistant: Yes?");
/// # });
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HistoryPlacement {
    /// Before the last user message if the prompt ends with one, because that message is then the
    /// question (dotprompt's rule).
    #[default]
    BeforeUser,
    /// After the prompt, because the conversation contains the question.
    Last,
}

/// Input of a request to a prompt: variables and the conversation so far.
#[derive(Clone, Copy, Debug)]
pub struct RenderInput<'a> {
    /// Variables of the request.
    pub variables: &'a Map,
    /// The conversation so far, oldest message first.
    pub history: &'a [Message],
    /// Position of the conversation if the template does not place it.
    pub unplaced: HistoryPlacement,
    /// Request id, for logs.
    pub request_id: &'a str,
    /// Nesting depth of prompts and scripts in this service.
    pub depth: usize,
    /// Whether the outcome includes an explanation
    /// ([`RenderOutcome::explanation`](crate::RenderOutcome::explanation)).
    pub explain: bool,
    /// Whether the outcome includes the texts as segments with their origin
    /// ([`RenderOutcome::segments`](crate::RenderOutcome::segments)).
    pub segments: bool,
    /// Whether this is a dry run: tools are not called, and scripts only report the requests that
    /// they would make.
    pub dry: bool,
    /// Whether the outcome includes the version number of the current definition, which costs one
    /// read of its history ([`RenderOutcome::version`](crate::RenderOutcome::version)).
    pub numbered: bool,
    /// User of the request: selects versions of labels weighted by `user`.
    pub user: Option<&'a str>,
    /// Session of the request: selects versions of labels weighted by `session`.
    pub session: Option<&'a str>,
}

impl<'a> RenderInput<'a> {
    /// Creates an input with variables and no conversation.
    #[must_use]
    pub fn new(variables: &'a Map, request_id: &'a str) -> Self {
        RenderInput {
            variables,
            history: &[],
            unplaced: HistoryPlacement::default(),
            request_id,
            depth: 0,
            explain: false,
            segments: false,
            dry: false,
            numbered: false,
            user: None,
            session: None,
        }
    }

    /// Returns the key that assigns this request to a version of a weighted label. Without a user
    /// or session, this is the request id.
    ///
    /// # Examples
    ///
    /// ```
    /// use quillet_core::Map;
    /// use quillet_core::history::TrafficSplit;
    /// use quillet_prompt::RenderInput;
    ///
    /// let split = TrafficSplit { by: Some("user".to_owned()), ..TrafficSplit::default() };
    /// let variables = Map::default();
    /// let request = RenderInput::new(&variables, "request-1");
    /// assert_eq!(request.draws_by(&split), "request-1");
    ///
    /// let request = RenderInput { user: Some("ada"), ..request };
    /// assert_eq!(request.draws_by(&split), "ada");
    /// ```
    #[must_use]
    pub fn draws_by(&self, split: &TrafficSplit) -> Cow<'a, str> {
        let by = split.by.as_deref();
        let said = match by {
            Some("user") => self.user,
            Some("session") => self.session,
            _ => None,
        };
        if let Some(said) = said {
            return Cow::Borrowed(said);
        }
        let value = by.and_then(|by| self.variables.get(by));
        match value {
            None => Cow::Borrowed(self.request_id),
            Some(value) => match value.as_str() {
                Some(text) => Cow::Owned(text.to_owned()),
                None => Cow::Owned(json::to_string(value)),
            },
        }
    }
}
