//! A function of Python as the model of a script.

use std::fmt;
use std::sync::Arc;

use futures_util::stream;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use quillet::script::host::{Abilities, Answering, Models};
use quillet_core::BoxFuture;
use quillet_core::chat::{
    Bytes4, ChatEvent, ChatModel, ChatRequest, ChatStream, FinishReason, ModelError, ModelErrorKind,
};
use quillet_python_values::object;

/// A function that is given messages and answers with a text.
pub(crate) struct Function(Arc<Py<PyAny>>);

impl Function {
    pub(crate) fn new(function: Py<PyAny>) -> Self {
        Function(Arc::new(function))
    }
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a function of Python")
    }
}

impl Models for Function {
    fn model(&self, name: Option<&str>) -> Result<Answering, String> {
        Ok(Answering {
            model: Arc::new(Function(Arc::clone(&self.0))),
            name: name.map(str::to_owned),
            abilities: Abilities::default(),
            counter: Arc::new(Bytes4),
            window: None,
        })
    }
}

impl ChatModel for Function {
    fn describe(&self) -> String {
        self.to_string()
    }

    fn stream(&self, request: ChatRequest) -> BoxFuture<'_, Result<ChatStream, ModelError>> {
        let function = Arc::clone(&self.0);
        Box::pin(async move {
            // It may take as long as it likes: the threads that follow stores are not for it.
            let asked = tokio::task::spawn_blocking(move || answer(&function, &request));
            let text = asked.await.map_err(|error| failed(error.to_string()))??;
            let text = ChatEvent::Text { choice: 0, text };
            let end = ChatEvent::Finish {
                choice: 0,
                reason: FinishReason::Stop,
                raw: "stop".to_owned(),
            };
            let start = ChatEvent::Start {
                id: "python".to_owned(),
                model: "python".to_owned(),
                created: 0,
            };
            let events: ChatStream = Box::pin(stream::iter([Ok(start), Ok(text), Ok(end)]));
            Ok(events)
        })
    }
}

impl fmt::Display for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a function of Python")
    }
}

fn answer(function: &Py<PyAny>, request: &ChatRequest) -> Result<String, ModelError> {
    Python::attach(|py| {
        let options = PyDict::new(py);
        if let Some(model) = &request.model {
            options.set_item("model", model)?;
        }
        let messages = object::messages(py, &request.messages)?;
        function
            .bind(py)
            .call((messages,), Some(&options))?
            .extract::<String>()
    })
    .map_err(|error: PyErr| failed(format!("the model raised {error}")))
}

fn failed(message: String) -> ModelError {
    ModelError::new(ModelErrorKind::Provider, message)
}
