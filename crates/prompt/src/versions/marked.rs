//! Cache of prompts for requests that select a version, valid for the current snapshot.

use std::collections::HashMap;
use std::sync::{Arc, RwLock};

use quillet_core::lock::{read, write};

use super::view::{KeyOf, SplitDraw};
use crate::snapshot::{CatalogueSnapshot, Definition, PromptEntry};

/// Maximum number of cached ids, which are chosen by clients.
const MOST_IDS: usize = 10_000;
/// Maximum number of cached split outcomes per id.
const MOST_OUTCOMES: usize = 64;

/// Resolved definitions by requested id.
#[derive(Debug, Default)]
pub(crate) struct VersionCache(RwLock<SnapshotCache>);

/// The cached definitions of one snapshot.
#[derive(Debug, Default)]
struct SnapshotCache {
    snapshot: Option<Arc<CatalogueSnapshot>>,
    by_id: HashMap<Box<str>, Vec<CachedChoice>>,
}

#[derive(Debug)]
struct CachedChoice {
    drawn: Box<[SplitDraw]>,
    definition: Arc<Definition<PromptEntry>>,
}

impl VersionCache {
    /// Returns the cached definition for a request with the same split outcomes.
    pub(super) fn get(
        &self,
        snapshot: &Arc<CatalogueSnapshot>,
        id: &str,
        key_of: KeyOf<'_>,
    ) -> Option<Arc<Definition<PromptEntry>>> {
        let of = read(&self.0);
        let is_current = |known: &Arc<CatalogueSnapshot>| Arc::ptr_eq(known, snapshot);
        if !of.snapshot.as_ref().is_some_and(is_current) {
            return None;
        }
        let outcomes = of.by_id.get(id)?;
        let mut draws = SplitDraws {
            key_of,
            made: Vec::new(),
        };
        let found = outcomes.iter().find(|outcome| draws.fit(&outcome.drawn));
        found.map(|outcome| outcome.definition.clone())
    }

    /// Caches a resolved definition.
    pub(super) fn put(
        &self,
        snapshot: &Arc<CatalogueSnapshot>,
        id: &str,
        drawn: Vec<SplitDraw>,
        definition: &Arc<Definition<PromptEntry>>,
    ) {
        let mut of = write(&self.0);
        let is_current = |known: &Arc<CatalogueSnapshot>| Arc::ptr_eq(known, snapshot);
        if !of.snapshot.as_ref().is_some_and(is_current) {
            // Definitions of an older snapshot may be outdated.
            *of = SnapshotCache {
                snapshot: Some(snapshot.clone()),
                by_id: HashMap::new(),
            };
        }
        // Clients choose the ids, so the table is cleared if it becomes too large.
        if of.by_id.len() >= MOST_IDS {
            of.by_id.clear();
        }
        let outcomes = of.by_id.entry(id.into()).or_default();
        // Beyond the limit, definitions are resolved again for each request.
        if outcomes.len() < MOST_OUTCOMES {
            outcomes.push(CachedChoice {
                drawn: drawn.into(),
                definition: definition.clone(),
            });
        }
    }
}

/// Split outcomes of one request. Cached entries of one id mostly share their splits, so each
/// outcome is computed once.
struct SplitDraws<'a, 'k> {
    key_of: KeyOf<'k>,
    made: Vec<(&'a SplitDraw, u64)>,
}

impl<'a> SplitDraws<'a, '_> {
    fn fit(&mut self, drawn: &'a [SplitDraw]) -> bool {
        drawn.iter().all(|drawn| self.number(drawn) == drawn.number)
    }

    fn number(&mut self, drawn: &'a SplitDraw) -> u64 {
        let is_same =
            |known: &&(&SplitDraw, u64)| known.0.salt == drawn.salt && known.0.split == drawn.split;
        if let Some((_, number)) = self.made.iter().find(is_same) {
            return *number;
        }
        let number = drawn
            .split
            .select_version(&drawn.salt, &(self.key_of)(&drawn.split));
        self.made.push((drawn, number));
        number
    }
}
