//! `quillet runs`: durable runs, their events and approvals.

use quillet::Host;
use quillet::components;
use quillet::settings::Settings;
use quillet_core::journal::{
    DecisionInput, JournalEntry, JournalEvent, RunFilter, RunHead, RunState,
};
use quillet_host::agent::{AgentService, CallDecision, Fork, Principal};
use serde_json::{Value, json};

use super::trace::moment;
use crate::args::{ReasoningDisplay, Runs};
use crate::chat::{ChatPrinter, follow_run, one_line, result_of_ending};
use crate::failure::CliError;
use crate::terminal;

/// Maximum number of events shown.
const MOST_STEPS: usize = 10_000;

pub(crate) async fn run(command: &Runs, config: &Settings) -> Result<(), CliError> {
    let store = components::store(config).await?;
    let host = Host::with_store(config, store, false).await?;
    let agents = host.agents();
    let done = match command {
        Runs::List {
            most, state, json, ..
        } => list(agents, *most, state.as_deref(), *json).await,
        Runs::Show { id, json, .. } => {
            let (who, id) = Principal::of_run(id);
            let (head, journal) = agents.run(&who, &id, MOST_STEPS).await?;
            show(&head, &journal, *json)
        }
        Runs::Decide {
            id,
            decision,
            call,
            arguments,
            text,
            ..
        } => {
            let (who, id) = Principal::of_run(id);
            let words =
                DecisionInput::from_command_line(decision, arguments.as_deref(), text.as_deref());
            let decision = words.and_then(DecisionInput::decide);
            let deciding = CallDecision {
                call: call.clone(),
                decision: decision.map_err(|error| CliError::Usage(error.to_string()))?,
                by: "command line".to_owned(),
            };
            let call = agents.decide(&who, &id, deciding).await?;
            terminal::note(&format!(
                "decided {call}: a server with this journal resumes the run, or use `quillet runs resume {id}`"
            ));
            Ok(())
        }
        Runs::Resume { id, .. } => {
            let (who, id) = Principal::of_run(id);
            resume_run(agents, &who.run_id(&id), config).await
        }
        Runs::Fork {
            id,
            at,
            model,
            prompt,
            system,
            ..
        } => {
            let (who, id) = Principal::of_run(id);
            let fork = Fork {
                at: *at,
                model: model.clone(),
                prompt: prompt.clone(),
                system: system.clone(),
                request_id: None,
            };
            let new = agents.fork(&who, &id, fork).await?;
            terminal::note(&format!("run {new}"));
            resume_run(agents, &who.run_id(&new), config).await
        }
        Runs::Remove { id, .. } => {
            let (who, id) = Principal::of_run(id);
            Ok(agents.forget(&who, &id).await?)
        }
    };
    // Called even after an error, so that the trace of a failed resume is saved.
    host.flush().await;
    done
}

/// Resumes a run in this process and shows its output.
async fn resume_run(
    agents: &std::sync::Arc<AgentService>,
    run: &str,
    config: &Settings,
) -> Result<(), CliError> {
    let Some(mut running) = agents.resume_run(run).await? else {
        return Err(CliError::Other(format!(
            "run {run} is running elsewhere, needs approval, or has ended: see `quillet runs show {run}`"
        )));
    };
    let mut screen = ChatPrinter::new(true, ReasoningDisplay::Auto, config);
    let outcome = follow_run(&mut running, &mut screen, &mut Vec::new()).await;
    drop(running);
    screen.end()?;
    result_of_ending(outcome?.ending)
}

async fn list(
    agents: &AgentService,
    most: usize,
    state: Option<&str>,
    json: bool,
) -> Result<(), CliError> {
    let state = state.map(|name| {
        RunState::from_name(name).ok_or_else(|| {
            let what = format!(
                "--state: invalid state {name:?}; expected running, waiting, ready or ended"
            );
            CliError::Usage(what)
        })
    });
    let filter = RunFilter {
        state: state.transpose()?,
        most,
        ..RunFilter::default()
    };
    let heads = agents.runs(&filter).await?;
    if json {
        return Ok(terminal::line(&format!("{:#}", json!(heads)))?);
    }
    if heads.is_empty() {
        terminal::note("no durable runs");
    }
    let mut shown = String::new();
    for head in heads {
        let waiting: Vec<&str> = head
            .standing
            .waiting
            .iter()
            .map(|call| &*call.tool)
            .collect();
        let line = format!(
            "{}  {}  {:<8} {:>4} steps  {}  {}",
            head.id,
            moment(head.created_ms.saturating_mul(1_000)),
            head.standing.state.as_str(),
            head.last,
            one_line(&head.title, 32),
            waiting.join(", ")
        );
        shown.push_str(line.trim_end());
        shown.push('\n');
    }
    Ok(terminal::result(&shown)?)
}

fn show(head: &RunHead, journal: &[JournalEntry], json: bool) -> Result<(), CliError> {
    if json {
        let shown = json!({"run": head, "journal": journal});
        return Ok(terminal::line(&format!("{shown:#}"))?);
    }
    let mut shown = format!("run    {}\nstate  {}\n", head.id, explained(head));
    if let Some((run, at)) = &head.forked {
        shown.push_str(&format!("forked from {run} at {at}\n"));
    }
    for entry in journal {
        shown.push_str(&format!(
            "{:>4}  {}  {:<10} {}\n",
            entry.number,
            moment(entry.at_ms.saturating_mul(1_000)),
            entry.step.name(),
            one_line(&summarize_event(&entry.step), 90)
        ));
    }
    Ok(terminal::result(&shown)?)
}

/// Describes the state of a run.
fn explained(head: &RunHead) -> String {
    let what = match head.standing.state {
        RunState::Running => "a process runs it, or another resumes it if that process stops",
        RunState::Ready => "decided; a server with the journal resumes it",
        RunState::Ended => "over",
        RunState::Waiting => {
            let calls = head.standing.waiting.iter();
            let calls: Vec<String> = calls
                .map(|call| {
                    let why = json!(call.why);
                    format!(
                        "{} ({}, {})",
                        call.call,
                        call.tool,
                        why.as_str().unwrap_or_default()
                    )
                })
                .collect();
            return format!("pending approvals: {}", calls.join("; "));
        }
    };
    format!("{}: {what}", head.standing.state.as_str())
}

fn text(json: &Value) -> String {
    json.as_str().unwrap_or_default().to_owned()
}

fn summarize_event(step: &JournalEvent) -> String {
    match step {
        JournalEvent::Admitted { request } => {
            let request = &request["request"];
            match request["script"]["id"].as_str() {
                Some(script) => format!("prompt/{script}"),
                None => text(&request["model"]["model_id"]),
            }
        }
        JournalEvent::Prepared { setup } => match setup["began_ms"].as_u64() {
            Some(began) => format!(
                "clock {}, seed {}",
                moment(began.saturating_mul(1_000)),
                setup["seed"]
            ),
            None => text(&setup["system"]),
        },
        JournalEvent::Read { name, text, .. } => format!("{name}, {} bytes", text.len()),
        JournalEvent::Asked {
            turn,
            digest,
            place,
        } => {
            let digest: String = digest.chars().take(12).collect();
            let place = place.as_ref().map(|place| format!(" at {place}"));
            format!(
                "question {turn}{}, sha256 {digest}",
                place.unwrap_or_default()
            )
        }
        JournalEvent::Answered { turn, events } => {
            format!("question {turn}, {} events", events.len())
        }
        JournalEvent::Unanswered { turn, message, .. } => format!("question {turn}: {message}"),
        JournalEvent::Called {
            call,
            tool,
            arguments,
            repeat,
        } => {
            let repeat = json!(repeat);
            let arguments = Value::Object(arguments.clone());
            format!(
                "{call} {tool}({arguments}), repeat {}",
                repeat.as_str().unwrap_or_default()
            )
        }
        JournalEvent::Returned { call, result } => match result {
            Ok(made) => format!("{call} {}", made.value),
            Err(failed) => format!("{call} failed: {}", failed.message),
        },
        JournalEvent::Parked { waiting } => {
            let calls: Vec<&str> = waiting.iter().map(|call| &*call.call).collect();
            calls.join(", ")
        }
        JournalEvent::Decided { call, decision, by } => {
            let what = json!(decision);
            let what = what["decision"].as_str().unwrap_or_default().to_owned();
            format!("{call} {what}, by {by}")
        }
        JournalEvent::TakenOver { by } => by.to_string(),
        JournalEvent::Ended { how, error, text } => {
            format!("{how} {}{text}", error.as_deref().unwrap_or_default())
        }
    }
}
