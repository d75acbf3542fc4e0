//! Usage counts and durations of prompts and tools by name.
//!
//! Counting an existing name takes one lookup and a few additions, without a lock. The number of
//! names is limited. Once the limit is reached, all new names share one counter.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use arc_swap::ArcSwap;
use quillet_core::lock::lock;
use quillet_core::tool::ToolErrorKind;

/// Name of the shared counter.
const OTHER: &str = "other";

/// Every kind of failure of a tool.
const FAILURES: [ToolErrorKind; 8] = [
    ToolErrorKind::Unknown,
    ToolErrorKind::Arguments,
    ToolErrorKind::Timeout,
    ToolErrorKind::Refused,
    ToolErrorKind::Transport,
    ToolErrorKind::Remote,
    ToolErrorKind::TooLarge,
    ToolErrorKind::Protocol,
];

/// Uses of prompts and tools.
///
/// # Examples
///
/// ```
/// # use std::sync::Arc;
/// # use quillet_core::{Map, Message, Role, Value};
/// # use quillet_core::store::{EntryKey, EntryKind, Store};
/// # use quillet_core::tool::Tool;
/// # use quillet_prompt::*;
/// # use quillet_store::MemoryStore;
/// # use quillet_template::TemplateFactory;
/// # use quillet_test_support::EchoTools;
/// # let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
/// # runtime.unwrap().block_on(async {
/// # let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
/// let text = r#"{"prompt": "Hello {{.variables.name}}!"}"#;
/// store.put(EntryKind::Prompt, &EntryKey::new("greet"), text).await.unwrap();
/// # let formats = TemplateFactory::standard();
/// # let catalogue = Catalogue::new(store.clone(), formats, Arc::new(EchoTools), 100);
/// # let variables = Arc::new(Variables::new(store));
/// # let service = PromptService::new(catalogue, variables, None, ServiceOptions::default());
/// service.load().await.unwrap();
///
/// let variables = Map::from([("name", "Ada")]);
/// let input = RenderInput::new(&variables, "request-1");
/// service.render("greet", &input).await.unwrap();
/// let usage = service.usage().prompts();
/// let (id, renders) = &usage[0];
/// assert_eq!((&**id, renders.outcomes()), ("greet", (1, 0)));
/// # });
/// ```
#[derive(Debug)]
pub struct Usage {
    prompts: ByName<Renders>,
    tools: ByName<ToolCallCounters>,
}

/// Renders of one prompt.
#[derive(Debug, Default)]
pub struct Renders {
    succeeded: AtomicU64,
    failed: AtomicU64,
    micros: AtomicU64,
}

/// Calls of one tool that templates made.
#[derive(Debug, Default)]
pub struct ToolCallCounters {
    succeeded: AtomicU64,
    /// In the order of [`FAILURES`].
    failed: [AtomicU64; FAILURES.len()],
    micros: AtomicU64,
}

impl Renders {
    /// Returns the numbers of successful and failed renders.
    #[must_use]
    pub fn outcomes(&self) -> (u64, u64) {
        let load = |count: &AtomicU64| count.load(Ordering::Relaxed);
        (load(&self.succeeded), load(&self.failed))
    }

    /// Returns the total duration, including tool calls.
    #[must_use]
    pub fn time(&self) -> Duration {
        Duration::from_micros(self.micros.load(Ordering::Relaxed))
    }
}

impl ToolCallCounters {
    /// Returns the number of successful calls.
    #[must_use]
    pub fn succeeded(&self) -> u64 {
        self.succeeded.load(Ordering::Relaxed)
    }

    /// Returns the number of failed calls by stable error code. Omits codes without failed calls.
    pub fn failed(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let counts = FAILURES.iter().zip(&self.failed);
        let counts =
            counts.map(|(kind, count)| (kind.code().as_str(), count.load(Ordering::Relaxed)));
        counts.filter(|(_, count)| *count > 0)
    }

    /// Returns the total duration.
    #[must_use]
    pub fn time(&self) -> Duration {
        Duration::from_micros(self.micros.load(Ordering::Relaxed))
    }
}

impl Usage {
    /// Creates empty counters for up to `most` prompts and as many tools.
    pub(crate) fn new(most: usize) -> Self {
        Usage {
            prompts: ByName::new(most),
            tools: ByName::new(most),
        }
    }

    /// Returns renders by prompt id. Prompts beyond the limit are counted as `other`.
    #[must_use]
    pub fn prompts(&self) -> Vec<(Arc<str>, Arc<Renders>)> {
        self.prompts.all()
    }

    /// Returns calls by function name. Tools beyond the limit are counted as `other`.
    #[must_use]
    pub fn tools(&self) -> Vec<(Arc<str>, Arc<ToolCallCounters>)> {
        self.tools.all()
    }

    pub(crate) fn rendered(&self, prompt: &str, time: Duration, succeeded: bool) {
        self.prompts.count(prompt, |renders| {
            let outcome = if succeeded {
                &renders.succeeded
            } else {
                &renders.failed
            };
            outcome.fetch_add(1, Ordering::Relaxed);
            renders.micros.fetch_add(micros(time), Ordering::Relaxed);
        });
    }

    pub(crate) fn called(&self, tool: &str, time: Duration, failure: Option<ToolErrorKind>) {
        self.tools.count(tool, |calls| {
            let failure = failure.and_then(|kind| FAILURES.iter().position(|known| *known == kind));
            let failure = failure.and_then(|place| calls.failed.get(place));
            failure
                .unwrap_or(&calls.succeeded)
                .fetch_add(1, Ordering::Relaxed);
            calls.micros.fetch_add(micros(time), Ordering::Relaxed);
        });
    }
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

type CounterMap<T> = HashMap<Arc<str>, Arc<T>, foldhash::fast::RandomState>;

#[derive(Debug)]
struct ByName<T> {
    most: usize,
    known: ArcSwap<CounterMap<T>>,
    other: Arc<T>,
    /// Held while a name is added.
    adding: Mutex<()>,
}

impl<T: Default> ByName<T> {
    fn new(most: usize) -> Self {
        ByName {
            most,
            known: ArcSwap::default(),
            other: Arc::default(),
            adding: Mutex::default(),
        }
    }

    fn count(&self, name: &str, add: impl Fn(&T)) {
        let known = self.known.load();
        match known.get(name) {
            Some(counts) => add(counts),
            // The limit keeps memory and exported metrics finite.
            None if known.len() >= self.most => add(&self.other),
            None => add(&self.added(name)),
        }
    }

    fn added(&self, name: &str) -> Arc<T> {
        let _adding = lock(&self.adding);
        let known = self.known.load();
        // Another thread may have added the name while this one waited for the lock.
        if let Some(counts) = known.get(name) {
            return counts.clone();
        }
        if known.len() >= self.most {
            return self.other.clone();
        }
        // A copy is acceptable: names are added rarely, and readers never wait for the lock.
        let mut more = CounterMap::clone(&known);
        let counts = Arc::<T>::default();
        more.insert(name.into(), counts.clone());
        self.known.store(Arc::new(more));
        counts
    }

    /// Returns all counters by name, sorted.
    fn all(&self) -> Vec<(Arc<str>, Arc<T>)> {
        let known = self.known.load();
        let pairs = known
            .iter()
            .map(|(name, counts)| (name.clone(), counts.clone()));
        let mut all: Vec<(Arc<str>, Arc<T>)> = pairs.collect();
        all.sort_by(|(a, _), (b, _)| a.cmp(b));
        // The name `other` is reserved for the counter of all other prompts, but a prompt may have
        // it too.
        if known.len() >= self.most && !known.contains_key(OTHER) {
            all.push((OTHER.into(), self.other.clone()));
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_bounded_and_nothing_is_lost() {
        let usage = Usage::new(3);
        let times = Duration::from_micros(10);
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let usage = &usage;
                scope.spawn(move || {
                    for number in 0..1000 {
                        let name = format!("p{}", (number + thread) % 8);
                        usage.rendered(&name, times, number % 2 == 0);
                    }
                });
            }
        });
        let all = usage.prompts();
        assert_eq!(all.len(), 4);
        assert_eq!(&*all[3].0, "other");
        let outcomes = all.iter().map(|(_, renders)| renders.outcomes());
        let sums = outcomes.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        assert_eq!(sums, (2000, 2000));
        let time: Duration = all.iter().map(|(_, renders)| renders.time()).sum();
        assert_eq!(time, times * 4000);
    }

    #[test]
    fn failures_of_tools_are_told_apart() {
        let usage = Usage::new(10);
        usage.called("t", Duration::ZERO, None);
        usage.called("t", Duration::ZERO, Some(ToolErrorKind::Timeout));
        usage.called("t", Duration::ZERO, Some(ToolErrorKind::Timeout));
        let all = usage.tools();
        let failed: Vec<_> = all[0].1.failed().collect();
        assert_eq!((all.len(), all[0].1.succeeded()), (1, 1));
        assert_eq!(failed, [("tool.timeout", 2)]);
    }
}
