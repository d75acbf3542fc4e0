//! Conversions to MCP types.

use std::sync::Arc;

use quillet_core::tool::{ToolError, ToolSpec};
use quillet_core::{ContentPart, Message, MessageContent, Role as Speaker, Value};
use rmcp::model::{
    CallToolResult, ContentBlock, JsonObject, Prompt, PromptArgument, PromptMessage, Role, Tool,
    ToolAnnotations,
};
use serde_json::{Value as Tree, json};

use crate::serve::PromptOffer;

pub(super) fn tool(spec: &ToolSpec) -> Tool {
    let parameters = match &spec.parameters {
        Tree::Object(schema) => schema.clone(),
        _ => JsonObject::new(),
    };
    let tool = Tool::new(
        spec.name.clone(),
        spec.description.clone(),
        Arc::new(object_schema(parameters)),
    );
    tool.with_annotations(ToolAnnotations::new().idempotent(spec.idempotent))
}

/// Makes a schema declare an object, because clients reject other input schemas.
fn object_schema(mut schema: JsonObject) -> JsonObject {
    // MCP requires the type in an input schema.
    schema.entry("type").or_insert_with(|| json!("object"));
    schema
}

pub(super) fn prompt(offer: PromptOffer) -> Prompt {
    let arguments = offer.arguments.into_iter().map(|argument| {
        let mut written = PromptArgument::new(argument.name);
        written.description = argument.description;
        written.required = Some(argument.required);
        written
    });
    let arguments: Vec<PromptArgument> = arguments.collect();
    let arguments = (!arguments.is_empty()).then_some(arguments);
    let mut prompt = Prompt::new(offer.name, offer.description, arguments);
    prompt.title = offer.title;
    prompt
}

/// Converts a message. MCP has two roles and one content per message, so system messages become
/// user messages, and a message with several parts becomes several messages.
pub(super) fn message(message: &Message) -> Vec<PromptMessage> {
    let role = match message.role {
        Speaker::Assistant => Role::Assistant,
        // Prompts of MCP have only two roles.
        Speaker::System | Speaker::Developer | Speaker::User | Speaker::Tool => Role::User,
    };
    match &message.content {
        MessageContent::Text(text) => vec![PromptMessage::new_text(role, text)],
        MessageContent::Parts(parts) => parts
            .iter()
            .map(|part| PromptMessage::new(role.clone(), block(part)))
            .collect(),
    }
}

/// Converts a content part. Embedded images become image content; other media become a text with
/// their URL.
fn block(part: &ContentPart) -> ContentBlock {
    let inline = part.url().and_then(|url| url.strip_prefix("data:"));
    let image = matches!(part, ContentPart::ImageUrl { .. });
    match inline.and_then(|data| data.split_once(";base64,")) {
        Some((kind, data)) if image => ContentBlock::image(data, kind),
        _ => match (part, part.url()) {
            (ContentPart::Text { text }, _) => ContentBlock::text(text),
            (_, Some(url)) => ContentBlock::text(url),
            _ => ContentBlock::text(part.to_string()),
        },
    }
}

pub(super) fn result(result: Result<Value, ToolError>) -> CallToolResult {
    let value = match result {
        Ok(value) => value,
        Err(error) => return CallToolResult::error(vec![ContentBlock::text(error.for_model)]),
    };
    if let Some(text) = value.as_str() {
        return CallToolResult::success(vec![ContentBlock::text(text)]);
    }
    let text = quillet_core::json::to_string(&value);
    let mut result = CallToolResult::success(vec![ContentBlock::text(text)]);
    // Revisions before the newest only accept objects.
    result.structured_content = Some(Tree::from(&value)).filter(Tree::is_object);
    result
}
