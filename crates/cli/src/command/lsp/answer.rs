//! Requests about a document, and their results.

use quillet_core::{Diagnostic, Span};
use quillet_script::editor::position::Encoding;
use quillet_script::editor::{self, ScriptDocument};
use quillet_script::testing;
use quillet_template::TemplateFactory;
use serde::Deserialize;
use serde_json::{Value, json};

use super::documents::{DocumentKind, LspPosition};
use super::shape;
use super::wire::error;
use super::workspace::DocumentSnapshot;

/// A request about one document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DocumentRequest {
    Hover,
    Completion,
    Definition,
    References,
    Rename,
    Symbols,
    Folds,
    Format,
}

/// Parameters of a request.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RequestParams {
    pub(super) text_document: TextDocumentId,
    position: Option<LspPosition>,
    new_name: Option<String>,
}

/// Identifies a document.
#[derive(Debug, Deserialize)]
pub(super) struct TextDocumentId {
    pub(super) uri: String,
}

/// Error code and message.
pub(super) type LspError = (i64, String);

impl DocumentRequest {
    /// Returns the request for a method name.
    pub(super) fn of(method: &str) -> Option<Self> {
        Some(match method {
            "textDocument/hover" => DocumentRequest::Hover,
            "textDocument/completion" => DocumentRequest::Completion,
            "textDocument/definition" => DocumentRequest::Definition,
            "textDocument/references" => DocumentRequest::References,
            "textDocument/rename" => DocumentRequest::Rename,
            "textDocument/documentSymbol" => DocumentRequest::Symbols,
            "textDocument/foldingRange" => DocumentRequest::Folds,
            "textDocument/formatting" => DocumentRequest::Format,
            _ => return None,
        })
    }

    /// Computes the result.
    ///
    /// # Errors
    /// A parameter is missing, or the symbol cannot be renamed.
    pub(super) async fn answer(
        self,
        snapshot: &DocumentSnapshot,
        params: &RequestParams,
        encoding: Encoding,
    ) -> Result<Value, LspError> {
        let open = &snapshot.open;
        if open.kind != DocumentKind::Script {
            return Ok(Value::Null);
        }
        let document = open.document();
        match self {
            DocumentRequest::Symbols => Ok(list(&editor::symbols(document), |found| {
                Some(shape::symbol(open, found))
            })),
            DocumentRequest::Folds => Ok(list(&editor::folds(document), |span| {
                shape::fold(open, *span)
            })),
            DocumentRequest::Format => {
                let text = editor::formatted(document);
                Ok(text.map_or(Value::Null, |text| shape::rewrite(open, &text)))
            }
            _ => {
                let place = params
                    .position
                    .ok_or((error::INVALID_PARAMS, "missing position".to_owned()))?;
                self.answer_at_position(snapshot, open.byte(place), params, encoding)
                    .await
            }
        }
    }

    async fn answer_at_position(
        self,
        snapshot: &DocumentSnapshot,
        at: usize,
        params: &RequestParams,
        encoding: Encoding,
    ) -> Result<Value, LspError> {
        let open = &snapshot.open;
        let document = open.document();
        let library = snapshot.overlay();
        let around = snapshot.around(&library);
        match self {
            DocumentRequest::Hover => {
                let found = editor::hover(document, at, around).await;
                Ok(found.map_or(Value::Null, |found| shape::hover(open, &found)))
            }
            DocumentRequest::Completion => {
                let found = editor::complete(document, at, around).await;
                let items = list(&found, |found| Some(shape::completion(open, found)));
                Ok(json!({"isIncomplete": false, "items": items}))
            }
            DocumentRequest::Definition => {
                let place = editor::definition(document, at, around).await;
                let place = place.map(|place| shape::location(&place, encoding));
                Ok(place.unwrap_or_default())
            }
            DocumentRequest::References => Ok(list(&editor::references(document, at), |span| {
                Some(json!({"uri": &*open.uri, "range": shape::range(open, *span)}))
            })),
            _ => rename(
                snapshot,
                document,
                at,
                params.new_name.as_deref().unwrap_or_default(),
            ),
        }
    }
}

fn rename(
    snapshot: &DocumentSnapshot,
    document: &ScriptDocument,
    at: usize,
    name: &str,
) -> Result<Value, LspError> {
    let open = &snapshot.open;
    let Some(spans) = editor::rename(document, at, name) else {
        let why =
            "only variables can be renamed, and the new name must consist of letters, digits and _";
        return Err((error::FAILED, why.to_owned()));
    };
    let edits = list(&spans, |span| {
        Some(json!({"range": shape::range(open, *span), "newText": name}))
    });
    Ok(json!({"changes": {&*open.uri: edits}}))
}

fn list<T>(items: &[T], each: impl FnMut(&T) -> Option<Value>) -> Value {
    Value::Array(items.iter().filter_map(each).collect())
}

/// Returns all diagnostics of a document.
pub(super) async fn findings(snapshot: &DocumentSnapshot) -> Vec<Value> {
    let open = &snapshot.open;
    let found: Vec<Diagnostic> = match open.kind {
        DocumentKind::Other => Vec::new(),
        DocumentKind::TooLong => {
            let why = "the document is longer than 1 MiB and is not checked while you edit it";
            let found = open.source.warning("editor.limit", why, Span::default());
            vec![found.help("run `quillet check` on the file")]
        }
        DocumentKind::Fixture => {
            let read = testing::read(open.source.clone(), &TemplateFactory::standard()).await;
            read.map_or_else(|wrong| wrong, |fixture| fixture.warnings)
        }
        DocumentKind::Script => {
            let library = snapshot.overlay();
            editor::diagnostics(open.document(), snapshot.around(&library)).await
        }
    };
    found
        .iter()
        .map(|found| shape::diagnostic(open, found))
        .collect()
}
