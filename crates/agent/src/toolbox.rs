//! Tools that a model may call in a run, by name and with validators for their arguments.

use std::sync::{Arc, OnceLock};

use quillet_core::chat::ToolOffer;
use quillet_core::nearest;
use quillet_core::tool::{Tool, ToolSpec};
use quillet_schema::{Rules, SchemaViolation, Validator};
use serde_json::{Map, Value as Json, json};

use crate::Skill;
use crate::skills::LoadedSkills;

/// Name of the tool with which a model ends a run silently.
pub(crate) const SILENT_EXIT: &str = "silent_exit";
/// Maximum number of argument errors reported to the model.
const MOST_PROBLEMS: usize = 5;
/// Maximum number of names in the error for an unknown tool.
const MOST_NAMES: usize = 40;

/// All tools that the model may call.
pub(crate) struct Toolbox {
    tools: Vec<ToolboxEntry>,
    /// Tools of skills that are not loaded, each with its skill.
    behind_skills: Vec<(String, String)>,
    /// Tool offers for model requests.
    offers: Vec<ToolOffer>,
}

/// A tool that the model may call.
pub(crate) struct ToolboxEntry {
    offer: ToolOffer,
    /// Its executor.
    pub(crate) by: CallExecutor,
    schema: OnceLock<Option<Validator>>,
}

/// Executor of a call.
#[derive(Clone, Debug)]
pub(crate) enum CallExecutor {
    /// This run.
    Run(Arc<dyn Tool>),
    /// The client, after the run.
    Client,
    /// No executor: the call ends the run.
    SilentExit,
    /// This run, which loads a skill.
    LoadSkill,
    /// The provider. Such calls do not reach this code.
    Provider,
}

impl Toolbox {
    /// Creates the toolbox of a run: its own tools, then those of the client. The order is stable,
    /// because providers cache by prefix. If several tools have the same name, the first is used.
    pub(crate) fn new(
        tools: Vec<Arc<dyn Tool>>,
        with_silent_exit: bool,
        client_tools: Vec<ToolOffer>,
    ) -> Self {
        let mut toolbox = Toolbox {
            tools: Vec::new(),
            behind_skills: Vec::new(),
            offers: Vec::new(),
        };
        for tool in tools {
            toolbox.add(offer(tool.spec()), CallExecutor::Run(tool));
        }
        if with_silent_exit {
            toolbox.add(silent_exit(), CallExecutor::SilentExit);
        }
        for tool in client_tools {
            let by = tool
                .name()
                .map_or(CallExecutor::Provider, |_| CallExecutor::Client);
            toolbox.add(tool, by);
        }
        toolbox
    }

    /// Records the tools of skills that are not loaded, for a helpful error if the model calls one.
    pub(crate) fn remember(&mut self, skills: &[Skill]) {
        for skill in skills {
            let tools = skill.tools.iter().map(|tool| tool.spec().name.clone());
            let behind = tools.map(|tool| (tool, skill.name.clone()));
            self.behind_skills.extend(behind);
        }
    }

    /// Adds the tool `load_skill`, if there are skills.
    pub(crate) fn add_loader(&mut self, spec: Option<ToolSpec>) {
        if let Some(spec) = spec {
            self.add(offer(&spec), CallExecutor::LoadSkill);
        }
    }

    /// Adds tools of newly loaded skills at the end, so that the prefix stays the same.
    pub(crate) fn add_loaded(&mut self, skills: &LoadedSkills) -> bool {
        // Tools are never removed, so the count shows whether one was added.
        let before = self.tools.len();
        for tool in skills.tools() {
            // Checked here, because `add` would warn about tools of older skills at each call.
            if self.find(&tool.spec().name).is_none() {
                self.add(offer(tool.spec()), CallExecutor::Run(tool));
            }
        }
        self.tools.len() > before
    }

    fn add(&mut self, offer: ToolOffer, by: CallExecutor) {
        if let Some(name) = offer.name()
            && self.find(name).is_some()
        {
            tracing::warn!(
                tool = name,
                "duplicate tool name: the second tool is skipped"
            );
            return;
        }
        self.offers.push(offer.clone());
        self.tools.push(ToolboxEntry {
            offer,
            by,
            schema: OnceLock::new(),
        });
    }

    /// Tool offers for the model.
    pub(crate) fn offers(&self) -> &[ToolOffer] {
        &self.offers
    }

    /// Finds a tool by name.
    pub(crate) fn find(&self, name: &str) -> Option<&ToolboxEntry> {
        let mut entries = self.tools.iter();
        entries.find(|entry| entry.offer.name() == Some(name))
    }

    /// Error for a model that calls an unknown tool.
    pub(crate) fn unknown(&self, name: &str) -> String {
        let known: Vec<&str> = self.names().collect();
        if known.is_empty() {
            return format!("There is no tool {name:?}, nor any other: answer without one.");
        }
        let behind = self.behind_skills.iter().find(|(tool, _)| tool == name);
        if let Some((_, skill)) = behind {
            return format!("{name} is a tool of the skill {skill:?}: load that first.");
        }
        // Bounded, because a model may write a name of any length.
        let name: String = name.chars().take(80).collect();
        match nearest(&name, known.iter().copied()) {
            Some(near) => format!("There is no tool {name:?}. Did you mean {near:?}?"),
            None => {
                let listed: Vec<&str> = known.iter().copied().take(MOST_NAMES).collect();
                format!(
                    "There is no tool {name:?}. Tools are: {}.",
                    listed.join(", ")
                )
            }
        }
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        self.tools.iter().filter_map(|entry| entry.offer.name())
    }
}

impl ToolboxEntry {
    /// Describes invalid arguments in a form that lets the model correct them.
    pub(crate) fn problems(&self, arguments: &Map<String, Json>) -> Option<String> {
        let validator = self.schema.get_or_init(|| compile(&self.offer)).as_ref()?;
        let arguments = Json::Object(arguments.clone());
        if validator.accepts(&arguments) {
            return None;
        }
        let findings = validator.findings(&arguments, MOST_PROBLEMS);
        let problems: Vec<String> = findings.iter().map(explain).collect();
        Some(format!(
            "The arguments do not fit the schema of {}: {}.",
            self.offer.name().unwrap_or_default(),
            problems.join("; ")
        ))
    }
}

/// Compiles the schema of a tool. If that fails, all arguments are accepted, because the tool
/// validates them itself.
fn compile(offer: &ToolOffer) -> Option<Validator> {
    let ToolOffer::Function {
        name, parameters, ..
    } = offer
    else {
        return None;
    };
    if parameters.is_null() {
        return None;
    }
    // The arguments are not quoted, because the model knows them and they may be long.
    let rules = Rules {
        masked: true,
        ..Rules::default()
    };
    match Validator::new(parameters, rules) {
        Ok(validator) => Some(validator),
        Err(error) => {
            tracing::warn!(tool = name, %error, "the schema of a tool cannot be used");
            None
        }
    }
}

fn explain(finding: &SchemaViolation) -> String {
    match finding.pointer.as_str() {
        "" => finding.message.clone(),
        place => format!("at {place}: {}", finding.message),
    }
}

fn offer(spec: &ToolSpec) -> ToolOffer {
    ToolOffer::Function {
        name: spec.name.clone(),
        description: spec.description.clone(),
        parameters: spec.parameters.clone(),
        strict: None,
        extra: serde_json::Map::new(),
    }
}

fn silent_exit() -> ToolOffer {
    ToolOffer::Function {
        name: SILENT_EXIT.to_owned(),
        description: "Ends this turn without an answer. Call it when nothing is worth telling \
                      the user; do not write any text beside it."
            .to_owned(),
        parameters: json!({
            "type": "object",
            "properties": {
                "reason": {"type": "string", "description": "Why there is nothing to tell; for the log."}
            },
        }),
        strict: None,
        extra: serde_json::Map::new(),
    }
}
