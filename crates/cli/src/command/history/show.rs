//! `quillet show`: prints one version.

use serde_json::json;

use super::print::{digest, labels_of, moment};
use super::store_session::StoreSession;
use crate::args::Show;
use crate::chat::{one_line, sanitize};
use crate::command::stored::pretty;
use crate::failure::CliError;
use crate::terminal::{self, Stream};

pub(super) async fn run(args: &Show, work: &StoreSession<'_>) -> Result<(), CliError> {
    let named = work.resolve_name(args.which.kind(), &args.id).await?;
    let found = work.resolve_version(&named).await?;
    // A removed definition has versions but no latest content.
    let latest = work
        .latest(&named)
        .await
        .ok()
        .and_then(|latest| latest.version);
    let latest = latest.map(|latest| latest.number);
    if args.json {
        let shown = json!({
            "kind": named.kind.word(),
            "id": named.id,
            "version": found.version,
            "labels": found.labels,
            "latest": latest,
            "content": found.content,
        });
        return Ok(terminal::line(&format!("{shown:#}"))?);
    }
    if let Some(version) = &found.version {
        let labels = labels_of(
            &found.labels,
            version.number,
            latest == Some(version.number),
        );
        let labels = match labels.as_slice() {
            [] => String::new(),
            labels => format!(" ({})", labels.join(", ")),
        };
        let message = match one_line(&version.message, 200) {
            message if message.is_empty() => message,
            message => format!(": {message}"),
        };
        terminal::note(&format!(
            "{} {} {} by {} at {}{labels}{message}",
            named.id,
            version.number,
            digest(version),
            one_line(&version.author, 64),
            moment(version.created_ms),
        ));
    }
    let text = pretty(&found.content.text);
    if Stream::Out.is_terminal() {
        terminal::line(&sanitize(&text))?;
    } else {
        terminal::line(&text)?;
    }
    if let Some((name, text)) = &found.content.companion {
        terminal::note(&format!("{name}:\n{}", text.trim_end()));
    }
    Ok(())
}
