//! Models and tools of scripts, based on those of agents and prompts.

use std::sync::Arc;

use quillet_core::BoxFuture;
use quillet_core::chat::{ChatModel, Usage};
use quillet_core::tool::Tool;
use quillet_core::web::{WebAnswer, WebRequest};
use quillet_llm::models::{ModelInfo, ModelRouter, Tokenizer, Vendor};
use quillet_llm::tokens;
use quillet_prompt::{PromptResult, PromptService};
use quillet_script::host;
use quillet_tools::Tools;
use quillet_tools::builtin::{BY_NAME, BuiltinOptions};

use super::servers::ServerTools;

/// Prefix of prompts that are used as tools.
const PROMPT: &str = "prompt/";

/// Models by name, through the model router.
#[derive(Clone, Debug)]
pub struct ScriptModels {
    models: Arc<ModelRouter>,
    /// Called model: the router itself, or a recorder in front of it.
    door: Arc<dyn ChatModel>,
    /// Default model of scripts.
    default: Option<String>,
}

impl ScriptModels {
    /// Creates the models of a router, with its default model.
    #[must_use]
    pub fn new(models: Arc<ModelRouter>) -> Self {
        ScriptModels {
            door: models.clone(),
            default: models.default_model().map(str::to_owned),
            models,
        }
    }

    /// Sends all calls to a model that wraps the router, such as a recorder.
    #[must_use]
    pub fn behind(mut self, door: Arc<dyn ChatModel>) -> Self {
        self.door = door;
        self
    }

    /// Sets the default model, unless the settings define it.
    #[must_use]
    pub fn or_default(mut self, name: &str) -> Self {
        self.default.get_or_insert_with(|| name.to_owned());
        self
    }

    /// Default model of scripts that do not select one.
    #[must_use]
    pub fn default_model(&self) -> Option<&str> {
        self.default.as_deref()
    }

    /// Converts a model name to the router's form: `provider://model` becomes `provider/model`.
    fn resolve_model_name(&self, name: &str) -> Result<String, String> {
        let Some((provider, model)) = name.split_once("://") else {
            return Ok(name.to_owned());
        };
        let Some(vendor) = Vendor::of_alias(provider) else {
            return Err(format!(
                "unknown provider {provider:?}: expected openai, anthropic, google or mock; for \
                 an OpenAI-compatible server use openai://… and set OPENAI_BASE_URL to its address"
            ));
        };
        if !model.is_empty() {
            return Ok(format!("{provider}/{model}"));
        }
        let default = self.default.as_deref();
        match default.filter(|name| self.models.choose(name).0 == vendor) {
            Some(default) => Ok(default.to_owned()),
            None if vendor == Vendor::Mock => Ok("mock".to_owned()),
            None => Err(format!("missing model in {name}: write {provider}://MODEL")),
        }
    }
}

impl host::ModelSource for ScriptModels {
    fn cost(&self, model: &str, usage: &Usage) -> Option<f64> {
        let (_, plain) = self.models.choose(model);
        self.models.facts().find(plain).cost(usage)
    }

    fn model(&self, name: Option<&str>) -> Result<host::ModelHandle, String> {
        let name = match name.or(self.default.as_deref()) {
            Some(name) => self.resolve_model_name(name)?,
            None => {
                return Err("no model is set: set model in the script's parameters, or \
                    QUILLET_MODEL or model.name"
                    .to_owned());
            }
        };
        let (vendor, plain) = self.models.choose(&name);
        let facts = self.models.facts().find(plain);
        Ok(host::ModelHandle {
            model: self.door.clone(),
            abilities: abilities(vendor, &facts),
            counter: tokens::counter(facts.tokenizer),
            window: facts.known.then_some(facts.context_window),
            name: Some(name),
        })
    }
}

/// Constraints that a provider guarantees for a model.
fn abilities(vendor: Vendor, facts: &ModelInfo) -> host::ModelCapabilities {
    let is_openai = matches!(vendor, Vendor::OpenAi | Vendor::OpenAiResponses);
    let has_vocabulary = matches!(facts.tokenizer, Tokenizer::O200k | Tokenizer::Cl100k);
    host::ModelCapabilities {
        tools: facts.supports.tools,
        json_schema: facts.supports.schema || vendor == Vendor::Mock,
        json_object: is_openai || matches!(vendor, Vendor::Google | Vendor::Mock),
        // A bias refers to token numbers, so the model's vocabulary must be known.
        logit_bias: vendor == Vendor::OpenAi && has_vocabulary,
        continues: vendor == Vendor::Anthropic,
    }
}

/// Tools by name: stored tools, prompts as `prompt/ID`, built-in tools, and tools of MCP servers.
#[derive(Clone, Debug, Default)]
pub struct ScriptTools {
    prompts: Option<Arc<PromptService>>,
    builtin: Option<Arc<Tools>>,
    servers: Option<Arc<ServerTools>>,
    more: Vec<Arc<dyn Tool>>,
    has_unasked: bool,
}

impl ScriptTools {
    /// Adds the tools and prompts of a catalogue.
    #[must_use]
    pub fn stored(mut self, prompts: Arc<PromptService>) -> Self {
        self.prompts = Some(prompts);
        self
    }

    /// Adds the configured built-in tools.
    #[must_use]
    pub fn builtin(mut self, tools: Arc<Tools>) -> Self {
        self.builtin = Some(tools);
        self
    }

    /// Adds the tools of MCP servers as they connect.
    #[must_use]
    pub fn servers(mut self, servers: ServerTools) -> Self {
        self.servers = Some(Arc::new(servers));
        self
    }

    /// Adds further tools, such as those listed by MCP servers.
    #[must_use]
    pub fn and(mut self, more: impl IntoIterator<Item = Arc<dyn Tool>>) -> Self {
        self.more.extend(more);
        self
    }

    /// Records that the tools of MCP servers were not listed, because the run is a dry run.
    #[must_use]
    pub fn unasked(mut self) -> Self {
        self.has_unasked = true;
        self
    }

    fn of_catalogue(&self, name: &str) -> Option<Arc<dyn Tool>> {
        let prompts = self.prompts.as_ref()?;
        if let Some(id) = name.strip_prefix(PROMPT) {
            return prompts.tool(id, PromptResult::Text).ok();
        }
        let snapshot = prompts.catalogue().snapshot();
        if let Ok(definition) = snapshot.tool(name)
            && let Ok(entry) = definition.usable(quillet_core::store::EntryKind::Tool)
        {
            return Some(entry.tool.clone());
        }
        snapshot.functions.get(name).cloned()
    }

    fn built_in(&self, name: &str) -> Option<Arc<dyn Tool>> {
        let tools = self.builtin.as_ref()?;
        let found = tools.builtin(name, &BuiltinOptions::default());
        found
            .ok()?
            .into_iter()
            .find(|tool| tool.spec().name == name)
    }
}

impl host::Tools for ScriptTools {
    fn tool(&self, name: &str) -> Option<Arc<dyn Tool>> {
        let more = self.more.iter().find(|tool| tool.spec().name == name);
        self.of_catalogue(name)
            .or_else(|| more.cloned())
            .or_else(|| self.servers.as_ref()?.find(name))
            .or_else(|| self.built_in(name))
    }

    fn dry(&self, name: &str) -> Option<Arc<dyn Tool>> {
        let prompts = self.prompts.as_ref()?;
        let snapshot = prompts.catalogue().snapshot();
        let id = name.strip_prefix(PROMPT)?;
        prompts.dry_tool_in(&snapshot, id, 0).ok()
    }

    fn has_unasked(&self) -> bool {
        self.has_unasked
    }

    fn network(&self) -> Option<Arc<dyn host::Network>> {
        let tools = self.builtin.clone()?;
        Some(Arc::new(ScriptNetwork(tools)))
    }

    fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        if let Some(prompts) = &self.prompts {
            let snapshot = prompts.catalogue().snapshot();
            names.extend(snapshot.functions.keys().map(ToString::to_string));
            let ids = snapshot.prompts.keys();
            names.extend(ids.map(|id| format!("{PROMPT}{id}")));
        }
        names.extend(self.more.iter().map(|tool| tool.spec().name.clone()));
        names.extend(self.servers.iter().flat_map(|servers| servers.names()));
        let built_in = BY_NAME.iter().filter(|name| self.built_in(name).is_some());
        names.extend(built_in.map(|name| (*name).to_owned()));
        names.sort_unstable();
        names.dedup();
        names
    }
}

/// Network access of scripts, with the address checks of tools.
#[derive(Debug)]
struct ScriptNetwork(Arc<Tools>);

impl host::Network for ScriptNetwork {
    fn fetch(&self, request: WebRequest) -> BoxFuture<'_, Result<WebAnswer, String>> {
        Box::pin(async move {
            let answer = self.0.fetch(request).await;
            answer.map_err(|error| error.message)
        })
    }
}

#[cfg(test)]
mod tests {
    use quillet_llm::models::ModelSettings;
    use quillet_script::host::{ModelSource as _, Tools as _};

    use super::*;

    fn models() -> ScriptModels {
        let models = ModelRouter::new(ModelSettings::default()).unwrap();
        ScriptModels::new(Arc::new(models))
    }

    #[test]
    fn names_are_addresses_too() {
        let models = models().or_default("gpt-5");
        let cases = [
            (None, Ok("gpt-5")),
            (Some("claude-sonnet-4-5"), Ok("claude-sonnet-4-5")),
            (Some("openai://gpt-4o"), Ok("openai/gpt-4o")),
            (Some("openai://"), Ok("gpt-5")),
            (Some("mock://"), Ok("mock")),
            (Some("anthropic://"), Err("write anthropic://MODEL")),
            (
                Some("llamacpp://qwen"),
                Err("unknown provider \"llamacpp\""),
            ),
        ];
        for (name, expected) in cases {
            match (models.model(name), expected) {
                (Ok(found), Ok(expected)) => assert_eq!(found.name.as_deref(), Some(expected)),
                (Err(why), Err(expected)) => assert!(why.contains(expected), "{why}"),
                (found, expected) => panic!("{name:?}: {found:?}, not {expected:?}"),
            }
        }
    }

    #[test]
    fn abilities_are_those_of_provider_and_model() {
        let ability = |name: &str| models().model(Some(name)).unwrap().abilities;
        assert!(ability("gpt-4o").json_schema && ability("gpt-4o").logit_bias);
        assert!(!ability("claude-sonnet-4-5").logit_bias);
        assert!(ability("claude-sonnet-4-5").continues && ability("gemini-2.5-pro").json_object);
        // The mock model follows schemas, so structured scripts can run offline.
        assert!(ability("mock").json_schema && !ability("mock").logit_bias);
    }

    #[test]
    fn without_any_source_there_is_no_tool() {
        let tools = ScriptTools::default();
        assert!(tools.tool("weather").is_none() && tools.names().is_empty());
    }
}
