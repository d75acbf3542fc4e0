//! Prompts for clients of Langfuse, LiteLLM and MLflow, which fill in variables themselves. A
//! prompt written by such a client is stored as a normal definition. A client reads the definition
//! in its own notation, or gets an error if there is no exact equivalent.

mod name;
mod stored;
mod view;

use quillet_core::store::EntryKind;
use quillet_core::{Diagnostic, ErrorCode, history::DefinitionContent};
use quillet_host::definitions::{Permission, ResolvedVersion};
use quillet_prompt::file::{self, NoEnvironment, PromptFile};
use quillet_prompt::{Notation, Prompt, Residual, ResidualError, ResidualMessage, residual};

pub(crate) use self::name::{id_of, name_of};
pub(crate) use self::stored::{MUSTACHE, PromptBody, PromptMessage, StoredPrompt};
pub(crate) use self::view::{HIDDEN, PromptView, VersionRequest};
use crate::error::{ApiError, problem};
use crate::request_context::RequestContext;

/// Returns the id for a client's prompt name and checks the read permission. Most names are ids;
/// the others get a unique id.
///
/// # Errors
/// Fails if the name is empty or the caller may not read the prompt.
pub(crate) async fn readable(call: &RequestContext, name: &str) -> Result<String, ApiError> {
    let id = known_id(call, name)?;
    let definitions = &call.app.definitions;
    definitions
        .permit(&call.actor(), Permission::Read, EntryKind::Prompt, &id)
        .await?;
    Ok(id)
}

/// Returns the id for a name, whether or not the definition exists.
///
/// # Errors
/// Fails if the name is empty.
pub(crate) fn known_id(call: &RequestContext, name: &str) -> Result<String, ApiError> {
    let empty = || problem(ErrorCode::DoorRequest, "the name must not be empty").with_param("name");
    let id = id_of(name).ok_or_else(empty)?;
    if id == name {
        return Ok(id);
    }
    // If no client name maps to the id, a client did not write the definition.
    let prompts = &call.app.service.catalogue().snapshot().prompts;
    let is_foreign = prompts.get(&id).is_none() && prompts.get(name).is_some();
    Ok(if is_foreign { name.to_owned() } else { id })
}

/// Converts a version to the notation of a client.
///
/// # Errors
/// Fails if the version is invalid, cannot be rendered or has no exact equivalent in the client's
/// notation.
pub(crate) async fn export_version(
    call: &RequestContext,
    id: &str,
    found: &ResolvedVersion,
    notation: Notation,
) -> Result<PromptBody, ApiError> {
    let stored = StoredPrompt::read(&found.content.text);
    // Text from such a client is returned verbatim, even if it is not a valid template.
    if notation == Notation::Double
        && let Some(said) = stored.as_ref().and_then(StoredPrompt::for_clients)
    {
        return Ok(said);
    }
    let prompt = parse(id, &found.content).map_err(|found| inexact(id, &found))?;
    let left = residual(&call.app.service, &prompt, notation, call.exchange.id()).await;
    match left {
        Ok(Residual::Text(text)) => Ok(PromptBody::Text(text)),
        Ok(Residual::Messages(messages)) => {
            let turn = |message| match message {
                ResidualMessage::Thread(name) => PromptMessage::Placeholder(name),
                ResidualMessage::Said { role, content } => PromptMessage::Message {
                    role: role.as_str().to_owned(),
                    content,
                },
            };
            Ok(PromptBody::Chat(messages.into_iter().map(turn).collect()))
        }
        Err(ResidualError::Refused(found)) => Err(inexact(id, &found)),
        Err(ResidualError::Service(error)) => Err(error.into()),
    }
}

/// Parses the prompt of a version.
pub(crate) fn parse(id: &str, content: &DefinitionContent) -> Result<Prompt, Vec<Diagnostic>> {
    let parsed = match &*content.file {
        "" => Prompt::parse(id, id, &content.text),
        name => {
            let beside = content.companion.as_ref();
            let source = PromptFile {
                id,
                name,
                text: &content.text,
                config: beside.map(|(name, text)| (&**name, &**text)),
            };
            file::read(&source, &NoEnvironment)
        }
    };
    parsed.map(|(prompt, _)| prompt)
}

fn inexact(id: &str, found: &[Diagnostic]) -> ApiError {
    let one = |one: &Diagnostic| {
        let Diagnostic {
            source, message, ..
        } = one;
        match one.position {
            Some(at) => format!("{source}:{}:{}: {message}", at.line, at.column),
            None => format!("{source}: {message}"),
        }
    };
    let all: Vec<String> = found.iter().map(one).collect();
    let message = format!(
        "{id} cannot be exported to a client that fills in variables itself: {}",
        all.join("; ")
    );
    let hint = format!("fix that, or render it on the server: POST /api/render/prompts/{id}");
    problem(ErrorCode::DoorInexact, message)
        .with_diagnostics(found.to_vec())
        .with_hint(hint)
}
