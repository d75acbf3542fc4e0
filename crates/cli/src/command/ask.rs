//! `quillet ask`: asks one question and prints the answer.

use std::io::{IsTerminal, stdin};
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use quillet::settings::{self, Settings};
use quillet_agent::{AgentOutcome, EndReason};
use quillet_core::chat::Usage;
use quillet_core::{ContentPart, MediaUrl, MessageContent};
use quillet_host::agent::RunInput;
use serde_json::{Value, json};

use crate::args::AskArgs;
use crate::chat::{self, ChatClient, ChatPrinter, ToolCallDisplay, follow_run, result_of_ending};
use crate::failure::CliError;
use crate::prompt_target;
use crate::source;
use crate::terminal;

/// Maximum size of an image. In base64, a larger one would exceed the limit of every provider.
const MOST_IMAGE_BYTES: u64 = 20 << 20;

pub(crate) async fn run(args: &AskArgs, config: &Settings) -> Result<(), CliError> {
    let (input, talker) = match prompt_name(args, config).await? {
        Some(name) => of_prompt(args, name, config).await?,
        None => {
            let content = content(args)?;
            let talker = ChatClient::new(&args.talk, config).await?;
            (RunInput::Content(content), talker)
        }
    };
    let streams = !args.no_stream && !args.json;
    let mut screen = ChatPrinter::new(streams, args.talk.reasoning, config);
    let mut calls = Vec::new();
    if let Some(refused) = talker.refused_parameters() {
        terminal::warning(&refused.to_string());
    }
    let mut running = talker.begin(input, args.session.as_deref()).await?;
    let outcome = follow_run(&mut running, &mut screen, &mut calls).await;
    drop(running);
    // Called before an error is returned, so that the trace of a failed run is saved too.
    talker.close().await;
    let outcome = outcome?;
    if args.json {
        let shown = as_json(args, &talker, &outcome, &calls);
        terminal::line(&format!("{shown:#}"))?;
        return result_of_ending(outcome.ending);
    }
    if args.no_stream {
        screen.text(&outcome.text)?;
    }
    screen.end()?;
    if let EndReason::Silent { reason } = &outcome.ending {
        terminal::note(&format!(
            "the model refused to answer: {}",
            crate::chat::one_line(reason, 200)
        ));
    }
    result_of_ending(outcome.ending)
}

/// Returns the prompt that replaces the question: a prompt file, or a stored id if variables are
/// given.
async fn prompt_name<'a>(
    args: &'a AskArgs,
    config: &Settings,
) -> Result<Option<&'a str>, CliError> {
    let has_variables = !args.define.is_empty() || args.data.is_some();
    if let [name] = args.question.as_slice() {
        let is_file = Path::new(name).is_file() && prompt_target::is_prompt(name)?;
        if is_file || (has_variables && prompt_target::is_stored(name, config).await?) {
            return Ok(Some(name));
        }
    }
    if has_variables {
        Err(CliError::Usage(
        "-D and -d set variables of a prompt, and no prompt file was given: `quillet ask FILE -D name=…`"
            .into(),
    ))
    } else {
        Ok(None)
    }
}

/// Renders a prompt to messages. The prompt's model and options apply unless the arguments override
/// them.
async fn of_prompt(
    args: &AskArgs,
    name: &str,
    config: &Settings,
) -> Result<(RunInput, ChatClient), CliError> {
    let unfit = [
        (args.session.is_some(), "--session"),
        (!args.image.is_empty(), "--image"),
        (args.talk.agent.is_some(), "--agent"),
    ];
    if let Some((_, flag)) = unfit.iter().find(|(is_given, _)| *is_given) {
        return Err(CliError::Usage(format!(
            "{flag} cannot be used with a prompt: {name} already contains all its messages"
        )));
    }
    let variables = source::variables(args.data.as_deref(), &args.define)?;
    let rendered = prompt_target::render(name, config, &variables, &args.define).await?;
    // `--model` takes precedence over the model of the prompt.
    let own = rendered.model.filter(|_| args.talk.model.is_none());
    let mut config = config.clone();
    if let Some(own) = &own {
        config.fill(&settings::MODEL, own.clone());
    }
    let mut talker = ChatClient::new(&args.talk, &config).await?;
    let mut options = rendered.options;
    let request = &mut talker.request;
    request.model = own.map_or(request.model.take(), |own| Some(chat::model(&own)));
    request.temperature = request.temperature.or(options.temperature.take());
    request.max_tokens = request.max_tokens.or(options.max_tokens.take());
    request.options = options;
    Ok((RunInput::Messages(rendered.messages), talker))
}

/// Combines the question, standard input and the images.
fn content(args: &AskArgs) -> Result<MessageContent, CliError> {
    let text = question(args)?;
    if text.trim().is_empty() {
        return Err(CliError::Usage(
            "missing question: pass it as an argument or on standard input".into(),
        ));
    }
    if args.image.is_empty() {
        return Ok(MessageContent::Text(text));
    }
    let mut parts = vec![ContentPart::text(text)];
    for image in &args.image {
        let url = image_url(image)?;
        let image_url = MediaUrl { url, detail: None };
        parts.push(ContentPart::ImageUrl { image_url });
    }
    Ok(MessageContent::Parts(parts))
}

fn question(args: &AskArgs) -> Result<String, CliError> {
    // Unquoted words are joined into one question.
    let words = args.question.join(" ");
    let said = Some(words.as_str()).filter(|text| !matches!(*text, "" | "-"));
    let alone = said.is_none();
    // With a question, standard input is read only if it is not a terminal; otherwise the command
    // would wait for input.
    let given = if alone || !stdin().is_terminal() {
        source::read("-")?
    } else {
        String::new()
    };
    Ok(match said {
        Some(said) if given.trim().is_empty() => said.to_owned(),
        Some(said) => format!("{said}\n\n{given}"),
        None => given,
    })
}

fn image_url(image: &str) -> Result<String, CliError> {
    if ["https://", "http://", "data:"]
        .iter()
        .any(|scheme| image.starts_with(scheme))
    {
        return Ok(image.to_owned());
    }
    let refuse = |why: String| CliError::Usage(format!("--image {image}: {why}"));
    let path = Path::new(image);
    let about = std::fs::metadata(path).map_err(|error| refuse(error.to_string()))?;
    if about.len() > MOST_IMAGE_BYTES {
        return Err(refuse(format!("is larger than {MOST_IMAGE_BYTES} bytes")));
    }
    // The size was checked first, so a wrong path is not read into memory.
    let bytes = std::fs::read(path).map_err(|error| refuse(error.to_string()))?;
    let kind = kind_of(&bytes)
        .ok_or_else(|| refuse("is not a PNG, JPEG, GIF or WebP image".to_owned()))?;
    Ok(format!("data:{kind};base64,{}", STANDARD.encode(bytes)))
}

/// Detects the four image types that every provider supports.
fn kind_of(bytes: &[u8]) -> Option<&'static str> {
    let is_webp = bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP");
    match bytes {
        [0x89, b'P', b'N', b'G', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', ..] => Some("image/gif"),
        _ if is_webp => Some("image/webp"),
        _ => None,
    }
}

fn as_json(
    args: &AskArgs,
    talker: &ChatClient,
    outcome: &AgentOutcome,
    calls: &[ToolCallDisplay],
) -> Value {
    let model = talker.model();
    let mut shown = json!({
        "model": model,
        "text": outcome.text,
        "ending": ending(&outcome.ending),
        "model_calls": outcome.model_calls,
    });
    let mut add = |name: &str, value: Value| {
        let is_empty = match &value {
            Value::Null => true,
            Value::String(text) => text.is_empty(),
            Value::Array(items) => items.is_empty(),
            _ => false,
        };
        if !is_empty {
            shown[name] = value;
        }
    };
    add("reasoning", json!(outcome.reasoning));
    add("calls", json!(calls));
    add("sources", json!(outcome.sources));
    add("usage", json!(outcome.usage));
    add("cost_usd", json!(cost(talker, &model, outcome.usage)));
    add("session", json!(args.session));
    if let EndReason::Failed(error) = &outcome.ending {
        add(
            "error",
            json!({"code": error.code(), "message": error.to_string()}),
        );
    }
    shown
}

fn ending(ending: &EndReason) -> String {
    match ending {
        EndReason::Finished(reason) => reason.to_string(),
        EndReason::Repeated { .. } => "repeated_calls".to_owned(),
        EndReason::CallsRequired => "calls_required".to_owned(),
        EndReason::ApprovalRequired => "approval_required".to_owned(),
        EndReason::Silent { .. } => "silent".to_owned(),
        EndReason::Cancelled => "cancelled".to_owned(),
        EndReason::Failed(_) => "failed".to_owned(),
    }
}

fn cost(talker: &ChatClient, model: &str, usage: Option<Usage>) -> Option<f64> {
    talker.models.facts().find(model).cost(&usage?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_are_told_by_how_they_begin() {
        let cases: [(&[u8], Option<&str>); 6] = [
            (b"\x89PNG\r\n", Some("image/png")),
            (b"\xff\xd8\xff\xe0", Some("image/jpeg")),
            (b"GIF89a", Some("image/gif")),
            (b"RIFF\0\0\0\0WEBPVP8 ", Some("image/webp")),
            (b"RIFF\0\0\0\0WAVE", None),
            (b"", None),
        ];
        for (bytes, kind) in cases {
            assert_eq!(kind_of(bytes), kind, "{bytes:?}");
        }
    }
}
