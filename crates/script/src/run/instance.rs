//! A running script, and the state that all scripts of a run share.

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
use quillet_core::lock::lock;

/// State shared by all scripts of a run.
#[derive(Debug)]
pub(crate) struct RunShared {
    pub(crate) engine: ScriptEngine,
    pub(crate) observer: Arc<dyn Observer>,
    pub(crate) budget: ScriptBudget,
    pub(crate) kept: MemoryMeter<Instance>,
    pub(crate) expressions: Expressions,
    pub(crate) tally: Mutex<Tally>,
    /// Cached results of `$exec` with their hidden fields, by caller, callee and arguments.
    pub(crate) memory: Mutex<HashMap<String, (Option<Value>, Map)>>,
    /// Model parameters set by the caller of the run. They take precedence over all others.
    pub(crate) parameters: Map,
    pub(crate) stream: bool,
    pub(crate) grants: Grants,
    /// The fixed values of a durable run; `None` for other runs.
    pub(crate) keeps: Option<HostKept>,
    /// Report of a dry run; `None` for other runs.
    pub(crate) withheld: Option<Arc<DryRunReport>>,
    /// Whether the dialogue continues after the script (`ScriptSession`).
    pub(crate) talks: bool,
    pub(crate) templates: Templates,
    pub(crate) js: Js,
    pub(crate) python: Python,
    /// Functions that scripts declare: their code, to locate errors, and their parameters.
    pub(crate) code: Mutex<HashMap<FunctionId, FunctionInfo>>,
    /// Errors of the script that are passing through JavaScript as exceptions.
    pub(crate) raised: Mutex<HashMap<u64, ScriptError>>,
    /// Environment variables that scripts may read.
    pub(crate) environment: Map,
    /// Secret marker that replaces holes while a template renders; no value can contain it.
    pub(crate) mark: String,
    /// The result of `$exit`, which ends every script of the run.
    exited: Mutex<Option<Option<Value>>>,
    /// Whether `$exit` ran; checked often, so it is not behind the lock.
    exits: AtomicBool,
    random: AtomicU64,
    numbers: AtomicU64,
}

/// Totals of a run.
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
            // The tools are wrapped here, at the only entry point, so that no other code path can
            // call a real one.
            engine.tools = Arc::new(DryTools::new(engine.tools, withheld.clone()));
        }
        let keeps = reach.replay_access();
        let fixed = keeps.map(|kept| FixedEnvironment {
            seed,
            began_ms: kept.began_ms,
        });
        let budget = ScriptBudget::new(engine.limits.clone());
        let granted = grants.env.iter();
        let environment = granted
            // Read once at the start, because the environment of the process may change during a
            // run.
            .filter_map(|name| Some((name.as_str(), Value::from(std::env::var(name).ok()?))));
        RunShared {
            templates: Templates::new(engine.templates.clone()),
            js: Js::new(engine.js_options(source, grants.clone(), withheld.clone(), fixed)),
            // A dry run reads only the signatures of Python functions and starts no process, so it
            // needs no permission.
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

    /// Returns the next random number of the run, the same for the same seed.
    pub(crate) fn random(&self) -> u64 {
        // A replay may run concurrent branches in another order. A durable run therefore derives
        // the number from the position of the call and not from a shared counter.
        if self.keeps.is_some()
            && let Some(place) = call_sequence::next_place()
        {
            let seed = self.random.load(Ordering::Relaxed);
            return mix(seed ^ call_sequence::digest(&place));
        }
        // SplitMix64 with an odd step returns every number once before any repeats.
        mix(self
            .random
            .fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed))
    }

    /// Returns whether `$exit` ended the run.
    pub(crate) fn exits(&self) -> bool {
        // Relaxed is enough: a branch that misses the flag stops one instruction later.
        self.exits.load(Ordering::Relaxed)
    }

    /// Ends all scripts of the run with a result.
    pub(crate) fn exit(&self, value: Option<Value>) {
        // The first `$exit` wins. The result is stored before the flag is set, so a branch that
        // sees the flag always finds the result.
        lock(&self.exited).get_or_insert(value);
        self.exits.store(true, Ordering::Relaxed);
    }

    /// Returns the result of `$exit`.
    pub(crate) fn exited(&self) -> Option<Option<Value>> {
        lock(&self.exited).clone()
    }

    /// Returns a number that is unique in this run.
    pub(crate) fn next_number(&self) -> u64 {
        self.numbers.fetch_add(1, Ordering::Relaxed)
    }

    /// Reports a warning to the author, once.
    pub(crate) fn warn(&self, finding: Diagnostic) {
        let mut tally = lock(&self.tally);
        if tally.warnings.contains(&finding) {
            return;
        }
        tally.warnings.push(finding.clone());
        // Observers are external code and may call back into the run, so the lock is released
        // first.
        drop(tally);
        self.observer.event(RunEvent::Warning(finding));
    }
}

impl RunShared {
    /// Returns an error if variables and messages exceed the memory limit.
    pub(crate) fn room(&self, scope: &NameScope, at: Span) -> Result<(), ScriptError> {
        let most = self.budget.limits().bytes;
        if !self.kept.exceeds(most, || self.remembered()) {
            return Ok(());
        }
        let message = format!("variables and messages of the script exceed {most} bytes");
        Err(limit(scope, at, message, "limits.bytes"))
    }

    /// Counts an instruction or a loop iteration.
    pub(crate) async fn step(&self, scope: &NameScope, at: Span) -> Result<(), ScriptError> {
        self.room(scope, at)?;
        self.budget.step(scope, at).await
    }

    fn remembered(&self) -> usize {
        let memory = lock(&self.memory);
        // The cache is added here, because no instance owns it.
        let weights = memory
            .iter()
            .map(|(key, (value, _))| key.len().saturating_add(memory_meter::of(value.as_ref())));
        weights.fold(0, usize::saturating_add)
    }
}

/// Returns a marker that no text can contain. It uses random bytes of the system, because the
/// author of a text may know the seed of the run. It consists of digits, which template filters
/// such as `upper` leave unchanged.
fn secret_mark() -> String {
    let random = RandomState::new().hash_one(0_u8);
    format!("\u{f8ff}{random:020}")
}

/// The output function of SplitMix64, which maps similar inputs to unrelated numbers.
fn mix(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

/// One running script.
#[derive(Debug)]
pub(crate) struct Instance {
    pub(crate) world: Arc<RunShared>,
    /// The script, including everything it inherits.
    pub(crate) resolved: Arc<ResolvedScript>,
    /// Its id: `_id`, or the file name.
    pub(crate) id: String,
    /// The instance that called it.
    pub(crate) caller: Option<Arc<Instance>>,
    /// Ids of the running scripts, from the outermost to this one.
    pub(crate) chain: Vec<String>,
    /// Tools that models may call, as set by this script and its callers.
    pub(crate) permissions: Vec<quillet_agent::Permissions>,
    /// Tools that need approval, as set by this script and its callers.
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
            // A called script inherits the limits of all its callers, so a call never extends what
            // a model may do.
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

    /// Locks the state of the script. Never hold the guard across an await.
    pub(crate) fn state(&self) -> MutexGuard<'_, ScriptState> {
        lock(&self.state)
    }

    /// Locks the messages of the script. Never hold the guard across an await. To lock both, lock
    /// the state first.
    pub(crate) fn dialogue(&self) -> MutexGuard<'_, Dialogue> {
        lock(&self.dialogue)
    }

    /// Stores the result of an instruction.
    pub(crate) fn finish(&self, value: Option<Value>) {
        self.world.kept.add(memory_meter::of(value.as_ref()));
        self.state().finish(value, None);
    }

    /// Returns the scope of the script's own body.
    pub(crate) fn root(&self) -> NameScope {
        NameScope::of(&self.resolved.script.source)
    }

    /// Returns a setting from the front matter, `$set` or the prompt.
    pub(crate) fn setting(&self, name: &str) -> Option<Value> {
        self.state().setting(name).cloned()
    }

    /// Returns a boolean setting, or `None` if it is missing or null.
    pub(crate) fn flag(&self, name: &str) -> Option<bool> {
        match self.setting(name)? {
            Value::Bool(flag) => Some(flag),
            _ => None,
        }
    }
}
