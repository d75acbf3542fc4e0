//! Prompts for clients that fill in the variables themselves: those of Langfuse, LiteLLM and
//! MLflow. What they write is stored as a definition like any other; what they read is that
//! definition in their notation, or an error where it has no exact form there.

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

/// The id of the definition that a client calls by this name, which it may read. Most names are ids,
/// the others have an id that nothing else has.
///
/// # Errors
/// The name is empty; the caller may not read it.
pub(crate) async fn readable(call: &RequestContext, name: &str) -> Result<String, ApiError> {
    let id = known_id(call, name)?;
    let definitions = &call.app.definitions;
    definitions
        .permit(&call.actor(), Permission::Read, EntryKind::Prompt, &id)
        .await?;
    Ok(id)
}

/// The id behind a name, whether there is such a definition or not.
///
/// # Errors
/// The name is empty.
pub(crate) fn known_id(call: &RequestContext, name: &str) -> Result<String, ApiError> {
    let empty = || problem(ErrorCode::DoorRequest, "the name is empty").about("name");
    let id = id_of(name).ok_or_else(empty)?;
    if id == name {
        return Ok(id);
    }
    // A definition whose id no client's name would get was written by somebody else.
    let prompts = &call.app.service.catalogue().snapshot().prompts;
    let is_foreign = prompts.get(&id).is_none() && prompts.get(name).is_some();
    Ok(if is_foreign { name.to_owned() } else { id })
}

/// What a client gets of a version that was found.
///
/// # Errors
/// It has no exact form in the client's notation, it is broken, or it does not render.
pub(crate) async fn offer(
    call: &RequestContext,
    id: &str,
    found: &ResolvedVersion,
    notation: Notation,
) -> Result<PromptBody, ApiError> {
    let stored = StoredPrompt::read(&found.content.text);
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

/// The prompt that a version holds.
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
        "{id} cannot be given to a client that fills in variables itself: {}",
        all.join("; ")
    );
    let hint = format!("mend that, or let the server fill it in: POST /api/render/prompts/{id}");
    problem(ErrorCode::DoorInexact, message)
        .described(found.to_vec())
        .hint(hint)
}
