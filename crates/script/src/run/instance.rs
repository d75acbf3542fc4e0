//! One running script, and what all scripts of a run share.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use quillet_core::chat::Usage;
use quillet_core::{Diagnostic, Map, Span, Value};

use super::budget::ScriptBudget;
use super::call_sequence;
use super::code::FunctionInfo;
use super::dialogue::Dialogue;
use super::dry::{DryRunReport, DryTools};
use super::failure::limit;
use super::lock::lock;
use super::memory_meter::{self, MemoryHolder, MemoryMeter};
use super::parsed::Expressions;
use super::scope::NameScope;
use super::state::ScriptState;
use super::{EnforcedConstraint, ScriptEngine};
use crate::error::ScriptError;
use crate::host::{Grants, Observer, ReplayAccess as HostKept, RunAccess, RunEvent};
use crate::js::{FixedEnvironment, FunctionId, Js, Python};
use crate::library::ResolvedScript;
use crate::syntax::ScriptSource;
use crate::text::template::Templates;

/// What all scripts of a run share.
#[derive(Debug)]
pub(crate) struct RunShared {
    pub(crate) engine: ScriptEngine,
    pub(crate) observer: Arc<dyn Observer>,
    pub(crate) budget: ScriptBudget,
    pub(crate) kept: MemoryMeter<Instance>,
    pub(crate) expressions: Expressions,
    pub(crate) tally: Mutex<Tally>,
    /// Results of `$exec`, and what is hidden beside them, by caller, callee and arguments.
    pub(crate) memory: Mutex<HashMap<String, (Option<Value>, Map)>>,
    /// Parameters of whoever runs the script; they win.
    pub(crate) parameters: Map,
    pub(crate) stream: bool,
    pub(crate) grants: Grants,
    /// Of a run whose calls are kept: what is fixed in it.
    pub(crate) keeps: Option<HostKept>,
    /// What a dry run left out; nothing where the run is not dry.
    pub(crate) withheld: Option<Arc<DryRunReport>>,
    /// Whether somebody goes on with the dialogue after the script.
    pub(crate) talks: bool,
    pub(crate) templates: Templates,
    pub(crate) js: Js,
    pub(crate) python: Python,
    /// The functions that scripts declare: their code for the places of failures, and what they
    /// take.
    pub(crate) code: Mutex<HashMap<FunctionId, FunctionInfo>>,
    /// Failures of the script on their way through JavaScript.
    pub(crate) raised: Mutex<HashMap<u64, ScriptError>>,
    /// Variables of the environment that scripts may see.
    pub(crate) environment: Map,
    /// What stands for holes while a template renders; no value can know it.
    pub(crate) mark: String,
    /// The result of `$exit`: every script of the run ends with it.
    exited: Mutex<Option<Option<Value>>>,
    /// Whether `$exit` was met, to be asked often.
    exits: AtomicBool,
    random: AtomicU64,
    numbers: AtomicU64,
}

/// What a run adds up.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) usage: Usage,
    pub(crate) enforced: Vec<EnforcedConstraint>,
    pub(crate) warnings: Vec<Diagnostic>,
}

impl RunShared {
    pub(crate) fn new(
        mut engine: ScriptEngine,
        source: &ScriptSource,
        observer: Arc<dyn Observer>,
        seed: u64,
        reach: &RunAccess,
    ) -> Self {
        let grants = reach.grants();
        let withheld = reach
            .is_dry()
            .then(|| Arc::new(DryRunReport::new(source, observer.clone())));
        if let Some(withheld) = &withheld {
            engine.tools = Arc::new(DryTools::new(engine.tools, withheld.clone()));
        }
        let keeps = reach.kept();
        let fixed = keeps.map(|kept| FixedEnvironment {
            seed,
            began_ms: kept.began_ms,
        });
        let budget = ScriptBudget::new(engine.limits.clone());
        let granted = grants.env.iter();
        let environment = granted
            .filter_map(|name| Some((name.as_str(), Value::from(std::env::var(name).ok()?))));
        RunShared {
            templates: Templates::new(engine.templates.clone()),
            js: Js::new(engine.js_options(source, grants.clone(), withheld.clone(), fixed)),
            // A dry run only reads the heads of its functions.
            python: Python::new(grants.run || withheld.is_some(), engine.limits.js_time),
            code: Mutex::default(),
            raised: Mutex::default(),
            environment: environment.collect(),
            engine,
            observer,
            budget,
            kept: MemoryMeter::new(),
            expressions: Expressions::default(),
            tally: Mutex::default(),
            memory: Mutex::default(),
            parameters: Map::default(),
            stream: true,
            grants,
            keeps,
            withheld,
            talks: false,
            mark: secret_mark(),
            exited: Mutex::default(),
            exits: AtomicBool::new(false),
            random: AtomicU64::new(seed),
            numbers: AtomicU64::new(0),
        }
    }

    /// The next number of the run's generator: the same for the same seed.
    pub(crate) fn random(&self) -> u64 {
        // Which of two branches draws first is no part of a run that is made once more.
        if self.keeps.is_some()
            && let Some(place) = call_sequence::next_place()
        {
            let seed = self.random.load(Ordering::Relaxed);
            return mix(seed ^ call_sequence::digest(&place));
        }
        // SplitMix64: the step is odd, so every number comes once before any comes again.
        mix(self
            .random
            .fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed))
    }

    /// Whether `$exit` ended the run.
    pub(crate) fn exits(&self) -> bool {
        self.exits.load(Ordering::Relaxed)
    }

    /// Ends all scripts of the run with a result.
    pub(crate) fn exit(&self, value: Option<Value>) {
        // The first `$exit` counts. The result is there before the flag says so.
        lock(&self.exited).get_or_insert(value);
        self.exits.store(true, Ordering::Relaxed);
    }

    /// The result of `$exit`.
    pub(crate) fn exited(&self) -> Option<Option<Value>> {
        lock(&self.exited).clone()
    }

    /// A number that nothing else in this run has.
    pub(crate) fn next_number(&self) -> u64 {
        self.numbers.fetch_add(1, Ordering::Relaxed)
    }

    /// Tells the author something, once.
    pub(crate) fn warn(&self, finding: Diagnostic) {
        let mut tally = lock(&self.tally);
        if tally.warnings.contains(&finding) {
            return;
        }
        tally.warnings.push(finding.clone());
        // Observers are called without the lock: what they do is not ours to know.
        drop(tally);
        self.observer.event(RunEvent::Warning(finding));
    }
}

impl RunShared {
    /// Refuses to go on where the run keeps too much.
    pub(crate) fn room(&self, scope: &NameScope, at: Span) -> Result<(), ScriptError> {
        let most = self.budget.limits().bytes;
        if !self.kept.exceeds(most, || self.remembered()) {
            return Ok(());
        }
        let message = format!("the script keeps more than {most} bytes of variables and messages");
        Err(limit(scope, at, message, "limits.bytes"))
    }

    /// Counts an instruction or a turn of a loop.
    pub(crate) async fn step(&self, scope: &NameScope, at: Span) -> Result<(), ScriptError> {
        self.room(scope, at)?;
        self.budget.step(scope, at).await
    }

    fn remembered(&self) -> usize {
        let memory = lock(&self.memory);
        let weights = memory
            .iter()
            .map(|(key, (value, _))| key.len().saturating_add(memory_meter::of(value.as_ref())));
        weights.fold(0, usize::saturating_add)
    }
}

/// A mark that no text brings along: from the system's randomness, since whoever writes a text may
/// know the seed of a run. Digits, so that filters of templates (`upper`) leave it as it is.
fn secret_mark() -> String {
    let random = RandomState::new().hash_one(0_u8);
    format!("\u{f8ff}{random:020}")
}

/// The output function of SplitMix64: neighbouring numbers in, unrelated numbers out.
fn mix(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

/// One running script.
#[derive(Debug)]
pub(crate) struct Instance {
    pub(crate) world: Arc<RunShared>,
    /// The script with all that it inherits.
    pub(crate) resolved: Arc<ResolvedScript>,
    /// Its id: `_id`, or the name of its file.
    pub(crate) id: String,
    /// The instance that called it.
    pub(crate) caller: Option<Arc<Instance>>,
    /// Ids of the scripts around it, outermost first, itself last.
    pub(crate) chain: Vec<String>,
    /// What models may call, here and in all scripts around.
    pub(crate) permissions: Vec<quillet_agent::Permissions>,
    /// Tools that are not called before somebody has agreed, here and in all scripts around.
    pub(crate) asks: Vec<quillet_agent::Permissions>,
    dialogue: Mutex<Dialogue>,
    state: Mutex<ScriptState>,
}

impl MemoryHolder for Instance {
    fn weight(&self) -> usize {
        let messages = self.dialogue().weight();
        self.state().weight().saturating_add(messages)
    }
}

impl Instance {
    pub(crate) fn new(
        world: Arc<RunShared>,
        resolved: Arc<ResolvedScript>,
        caller: Option<Arc<Instance>>,
    ) -> Self {
        let mut chain = caller
            .as_ref()
            .map(|caller| caller.chain.clone())
            .unwrap_or_default();
        chain.push(resolved.id.clone());
        let permissions = caller.as_ref().map(|caller| caller.permissions.clone());
        let asks = caller.as_ref().map(|caller| caller.asks.clone());
        let most = world.budget.limits().messages;
        Instance {
            dialogue: Mutex::new(Dialogue::new(most)),
            permissions: permissions.unwrap_or_default(),
            asks: asks.unwrap_or_default(),
            world,
            id: resolved.id.clone(),
            resolved,
            caller,
            chain,
            state: Mutex::default(),
        }
    }

    /// The script's state. Never held over an await.
    pub(crate) fn state(&self) -> MutexGuard<'_, ScriptState> {
        lock(&self.state)
    }

    /// The script's messages. Never held over an await; where both are, the state is locked first.
    pub(crate) fn dialogue(&self) -> MutexGuard<'_, Dialogue> {
        lock(&self.dialogue)
    }

    /// Remembers the result of an instruction.
    pub(crate) fn finish(&self, value: Option<Value>) {
        self.world.kept.add(memory_meter::of(value.as_ref()));
        self.state().finish(value, None);
    }

    /// The scope of the script's own body.
    pub(crate) fn root(&self) -> NameScope {
        NameScope::of(&self.resolved.script.source)
    }

    /// A setting of the front matter, of `$set` or of the prompt.
    pub(crate) fn setting(&self, name: &str) -> Option<Value> {
        self.state().setting(name).cloned()
    }

    /// A setting that is a boolean; `None` where it is not given, or null.
    pub(crate) fn flag(&self, name: &str) -> Option<bool> {
        match self.setting(name)? {
            Value::Bool(flag) => Some(flag),
            _ => None,
        }
    }
}
