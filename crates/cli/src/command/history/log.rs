//! `quillet log`: the versions of a definition, or the audit log of a store.

use quillet_core::history::{Action, Labels, LogEntry, LogFilter, Version};
use serde_json::{Value as Tree, json};

use super::print::{digest, labels_of, moment};
use super::store_session::{DefinitionRef, StoreSession};
use crate::args::LogArgs;
use crate::cells::{padded, width};
use crate::chat::one_line;
use crate::failure::CliError;
use crate::terminal::{self, Stream, TextStyle, styled};

/// Maximum length of a message in characters.
const MOST_OF_MESSAGE: usize = 100;
/// Maximum length of a name in characters.
const MOST_OF_NAME: usize = 32;

pub(super) async fn run(args: &LogArgs, work: &StoreSession<'_>) -> Result<(), CliError> {
    let most = usize::try_from(args.most).unwrap_or(usize::MAX);
    // One entry more than the limit is requested, to find out whether there are more.
    let asked = most.saturating_add(1);
    match &args.id {
        Some(id) => {
            let named = work.id(args.which.kind(), id).await?;
            let found = work
                .definitions
                .versions(named.kind, &named.id, None, asked);
            let labels = work.definitions.labels(named.kind, &named.key);
            of_definition(args, &named, found.await?, &labels.await?)
        }
        None => {
            let filter = LogFilter {
                kind: args.which.kind.map(|kind| kind.word().into()),
                ..LogFilter::default()
            };
            of_store(args, work.definitions.log(&filter, None, asked).await?)
        }
    }
}

fn of_definition(
    args: &LogArgs,
    named: &DefinitionRef,
    mut versions: Vec<Version>,
    labels: &Labels,
) -> Result<(), CliError> {
    let newest = versions.first().map_or(0, |newest| newest.number);
    let more = truncate_lines(&mut versions, args.most);
    let rows: Vec<(&Version, Vec<String>)> = versions
        .iter()
        .map(|version| {
            let is_latest = version.number == newest && !version.removed;
            (version, labels_of(labels, version.number, is_latest))
        })
        .collect();
    if args.json {
        let rows = rows.iter().map(|(version, labels)| {
            let mut row = json!(version);
            row["labels"] = json!(labels);
            row
        });
        let rows: Tree = rows.collect();
        return Ok(terminal::line(&format!("{rows:#}"))?);
    }
    let colour = Stream::Out.has_colour();
    let authors = versions.iter().map(|one| width(&name(&one.author)));
    let (number, author) = (newest.to_string().len(), authors.max().unwrap_or(0));
    let mut shown = String::new();
    for (version, labels) in rows {
        let labels = match labels.as_slice() {
            [] => String::new(),
            labels => format!("({}) ", labels.join(", ")),
        };
        let message = one_line(&version.message, MOST_OF_MESSAGE);
        let what = match (version.removed, message.as_str()) {
            (true, "") => "removed".to_owned(),
            (true, message) => format!("removed: {message}"),
            (false, message) => message.to_owned(),
        };
        let line = format!(
            "{:>number$}  {}  {}  {}  {}{what}",
            version.number,
            styled(&digest(version), TextStyle::Dim, colour),
            moment(version.created_ms),
            padded(&name(&version.author), author),
            if labels.is_empty() {
                labels
            } else {
                styled(&labels, TextStyle::Yellow, colour)
            },
        );
        shown.push_str(line.trim_end());
        shown.push('\n');
    }
    terminal::result(&shown)?;
    note_more(more, &format!("of {}", named.id));
    Ok(())
}

fn of_store(args: &LogArgs, mut lines: Vec<LogEntry>) -> Result<(), CliError> {
    let more = truncate_lines(&mut lines, args.most);
    if args.json {
        return Ok(terminal::line(&format!("{:#}", json!(lines)))?);
    }
    let widest = |of: fn(&LogEntry) -> &str| lines.iter().map(|it| width(&name(of(it)))).max();
    let who = widest(|line| &line.who).unwrap_or(0);
    let from = widest(|line| &line.from).unwrap_or(0);
    let mut shown = String::new();
    for line in &lines {
        let message = one_line(&line.message, MOST_OF_MESSAGE);
        let text = format!(
            "{}  {}  {}  {}  {message}",
            moment(line.at_ms),
            padded(&name(&line.who), who),
            padded(&name(&line.from), from),
            what(line),
        );
        shown.push_str(text.trim_end());
        shown.push('\n');
    }
    terminal::result(&shown)?;
    if lines.is_empty() {
        terminal::note("the log is empty");
    }
    note_more(more, "of the log");
    Ok(())
}

/// Describes the subject of a log line.
fn what(line: &LogEntry) -> String {
    let about = format!("{} {}", line.kind, one_line(&line.id, MOST_OF_MESSAGE));
    let label = line.label.as_deref().unwrap_or_default();
    match (line.action, line.version) {
        // Actions without a kind do not concern a single definition.
        (action, _) if line.kind.is_empty() => action.name().to_owned(),
        (Action::Write, Some(number)) => format!("write {about} {number}"),
        (Action::Label, Some(number)) => format!("label {about} {label} → {number}"),
        (Action::Label, None) => format!("label {about} {label}"),
        (Action::Refused, _) if !label.is_empty() => format!("refused {about} {label}"),
        (action, _) => format!("{} {about}", action.name()),
    }
}

fn name(text: &str) -> String {
    one_line(text, MOST_OF_NAME)
}

/// Keeps the newest lines, and returns whether there were more.
fn truncate_lines<T>(lines: &mut Vec<T>, most: u64) -> bool {
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let has_more = lines.len() > most;
    lines.truncate(most);
    has_more
}

fn note_more(has_more: bool, what: &str) {
    if has_more {
        terminal::note(&format!("more entries {what}: increase -n to show them"));
    }
}
