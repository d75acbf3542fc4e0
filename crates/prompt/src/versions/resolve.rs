//! Resolves the version that a request gets.

use std::collections::BTreeSet;
use std::sync::Arc;

use quillet_core::Diagnostic;
use quillet_core::history::{TrafficSplit, VersionSelector};
use quillet_core::store::{EntryKey, EntryKind};

use super::view::{FetchedVersions, KeyOf, LabelView};
use super::{VersionPin, VersionedPrompt, fetch};
use crate::catalogue::Catalogue;
use crate::definition::Prompt;
use crate::error::ServiceError;
use crate::inline_prompt::InlinePrompt;
use crate::input::RenderInput;
use crate::loader::{PromptLoader, Prompts};
use crate::snapshot::{CatalogueSnapshot, Definition, DefinitionState, PromptEntry};
use crate::sources::SourceSet;

/// A parsed prompt that is not stored, with its sources, or its errors.
type InlineResult = Result<(Arc<Prompt>, Arc<SourceSet>), Vec<Diagnostic>>;

/// Maximum depth of versions that refer to versions.
const MOST_ROUNDS: usize = 8;

impl Catalogue {
    /// Resolves an id, with or without a version selector, for a request.
    ///
    /// # Errors
    /// The prompt, label or version does not exist, or the store is unavailable.
    pub(crate) async fn choose(
        &self,
        snapshot: &Arc<CatalogueSnapshot>,
        id: &str,
        input: &RenderInput<'_>,
    ) -> Result<Arc<Definition<PromptEntry>>, ServiceError> {
        let known = snapshot.prompts.get(id);
        // Usually all requests get the same version, and no split has to be evaluated.
        if let Some(definition) = known
            && !is_drawn(definition)
        {
            return Ok(definition.clone());
        }
        let key_of = |split: &TrafficSplit| input.draws_by(split).into_owned();
        if let Some(found) = self.marked().get(snapshot, id, &key_of) {
            return Ok(found);
        }
        let asked = PromptRequest::of(snapshot, id)?;
        let mut pins = FetchedVersions::new();
        for _ in 0..MOST_ROUNDS {
            match self.put_together(snapshot, &asked, &pins, &key_of) {
                AssembledPrompt::Of(definition) => return Ok(definition),
                AssembledPrompt::Nothing => break,
                AssembledPrompt::Lacking(missing) => {
                    self.add_pins(snapshot, missing, &mut pins).await?
                }
            }
        }
        Err(self.no_version(snapshot, &asked).await)
    }

    /// Like [`Catalogue::choose`], but never reads the store, for callers that only describe a
    /// prompt. A weighted label may resolve to any of its versions. A version that is not cached
    /// resolves to the default version.
    ///
    /// # Errors
    /// There is no such prompt or label.
    pub(crate) fn choose_now(
        &self,
        snapshot: &Arc<CatalogueSnapshot>,
        id: &str,
    ) -> Result<Arc<Definition<PromptEntry>>, ServiceError> {
        if let Some(definition) = snapshot.prompts.get(id) {
            return Ok(definition.clone());
        }
        let asked = PromptRequest::of(snapshot, id)?;
        let key_of = |_: &TrafficSplit| String::new();
        match self.put_together(snapshot, &asked, &FetchedVersions::new(), &key_of) {
            AssembledPrompt::Of(definition) => Ok(definition),
            AssembledPrompt::Lacking(_) => snapshot
                .prompts
                .get(&asked.base)
                .cloned()
                .ok_or_else(|| snapshot.no_prompt(id)),
            AssembledPrompt::Nothing => Err(asked.unknown(snapshot)),
        }
    }

    fn put_together(
        &self,
        snapshot: &Arc<CatalogueSnapshot>,
        asked: &PromptRequest<'_>,
        pins: &FetchedVersions,
        key_of: KeyOf<'_>,
    ) -> AssembledPrompt {
        let label = match &asked.mark {
            Some(VersionSelector::Label(label)) => Some(label.as_str()),
            _ => None,
        };
        let view = LabelView::new(snapshot, label, pins, key_of);
        let found = match &asked.mark {
            Some(mark) => view.marked(&asked.base, mark),
            None => view.find(&asked.base),
        };
        let made = found.map(|found| {
            let shelf = PromptLoader::new(&view);
            let candidate = found.candidate();
            Arc::new(self.builder().prompt(&asked.base, &candidate, &shelf))
        });
        let missing = view.missing.take();
        match made {
            // Checked first: while pins are missing, the result may be incomplete.
            _ if !missing.is_empty() => AssembledPrompt::Lacking(missing),
            None => AssembledPrompt::Nothing,
            Some(made) => {
                let drawn = view.drawn.take();
                // Cached with its split outcomes, so that only a request with the same outcomes
                // gets it.
                self.marked().put(snapshot, asked.id, drawn, &made);
                AssembledPrompt::Of(made)
            }
        }
    }

    /// Parses a prompt that is not stored, and finds its sources. It may call prompts with version
    /// selectors.
    ///
    /// # Errors
    /// The store is unavailable. The inner result contains the errors of the definition.
    pub(crate) async fn inline_for(
        &self,
        id: &str,
        unstored: &InlinePrompt,
        snapshot: &CatalogueSnapshot,
        input: &RenderInput<'_>,
    ) -> Result<InlineResult, ServiceError> {
        let key_of = |split: &TrafficSplit| input.draws_by(split).into_owned();
        let mut pins = FetchedVersions::new();
        for _ in 0..MOST_ROUNDS {
            let (made, missing) = self.inline_with(id, unstored, snapshot, &pins, &key_of);
            if missing.is_empty() {
                return Ok(made);
            }
            self.add_pins(snapshot, missing, &mut pins).await?;
        }
        // If some versions are still missing after the last round, the result reports them.
        Ok(self.inline_with(id, unstored, snapshot, &pins, &key_of).0)
    }

    fn inline_with(
        &self,
        id: &str,
        unstored: &InlinePrompt,
        snapshot: &CatalogueSnapshot,
        pins: &FetchedVersions,
        key_of: KeyOf<'_>,
    ) -> (InlineResult, BTreeSet<VersionPin>) {
        let view = LabelView::new(snapshot, None, pins, key_of);
        let made = self.builder().inline(id, unstored, &view);
        (made, view.missing.take())
    }

    /// Calls a function with the existing prompts. Each version that a text refers to is taken to
    /// exist if its prompt does.
    pub(crate) fn describing<T>(
        &self,
        snapshot: &CatalogueSnapshot,
        work: impl FnOnce(&dyn Prompts) -> T,
    ) -> T {
        let (pins, key_of) = (FetchedVersions::new(), |_: &TrafficSplit| String::new());
        let view = LabelView {
            stands_in: true,
            ..LabelView::new(snapshot, None, &pins, &key_of)
        };
        work(&view)
    }

    async fn add_pins(
        &self,
        snapshot: &CatalogueSnapshot,
        missing: BTreeSet<VersionPin>,
        pins: &mut FetchedVersions,
    ) -> Result<(), ServiceError> {
        let place = |pin: VersionPin| {
            let key = snapshot.key_of(&pin.id);
            (pin, key)
        };
        let wanted: Vec<(VersionPin, EntryKey)> = missing.into_iter().map(place).collect();
        let asked: Vec<(EntryKey, VersionSelector)> = wanted
            .iter()
            .map(|(pin, key)| (key.clone(), pin.mark.clone()))
            .collect();
        let kept = fetch(&**self.store(), &asked).await?;
        for ((pin, key), kept) in wanted.into_iter().zip(kept) {
            let version = kept.and_then(|kept| {
                VersionedPrompt::of(self.builder(), snapshot, &pin.id, &key, kept)
            });
            pins.insert(pin, version.map(Arc::new));
        }
        Ok(())
    }

    /// Creates the error for a missing version, with the newest existing version as a hint.
    async fn no_version(
        &self,
        snapshot: &CatalogueSnapshot,
        asked: &PromptRequest<'_>,
    ) -> ServiceError {
        let is_pin = matches!(
            asked.mark,
            Some(VersionSelector::Number(_) | VersionSelector::Digest(_))
        );
        let Some(history) = self.store().history().filter(|_| is_pin) else {
            return asked.unknown(snapshot);
        };
        let key = snapshot.key_of(&asked.base);
        let newest = history.versions(EntryKind::Prompt, &key, None, 1).await;
        // A failed lookup only affects the hint.
        let newest = newest.ok().and_then(|found| Some(found.first()?.number));
        ServiceError::NotFound {
            kind: EntryKind::Prompt,
            id: asked.id.to_owned(),
            nearest: newest.map(|number| format!("{}@{number}", asked.base)),
            broken: None,
        }
    }
}

/// Result of assembling a prompt.
enum AssembledPrompt {
    Of(Arc<Definition<PromptEntry>>),
    /// These versions must be fetched first.
    Lacking(BTreeSet<VersionPin>),
    /// The label or version does not exist.
    Nothing,
}

/// The prompt and version that a request selects.
struct PromptRequest<'a> {
    /// The id in the request.
    id: &'a str,
    base: Arc<str>,
    mark: Option<VersionSelector>,
}

impl<'a> PromptRequest<'a> {
    fn of(snapshot: &CatalogueSnapshot, id: &'a str) -> Result<Self, ServiceError> {
        // A key may contain `@`.
        if let Some((base, _)) = snapshot.prompts.get_key_value(id) {
            let (base, mark) = (base.clone(), None);
            return Ok(PromptRequest { id, base, mark });
        }
        let none = || snapshot.no_prompt(id);
        let (base, mark) = VersionSelector::split_id(id).ok_or_else(none)?;
        let (base, _) = snapshot.prompts.get_key_value(base).ok_or_else(none)?;
        let asked = PromptRequest {
            id,
            base: base.clone(),
            mark: None,
        };
        match mark {
            Ok(mark) => Ok(PromptRequest {
                mark: Some(mark),
                ..asked
            }),
            Err(_) => Err(asked.unknown(snapshot)),
        }
    }

    /// Creates the error for an unknown label, with the most similar existing one as a hint.
    fn unknown(&self, snapshot: &CatalogueSnapshot) -> ServiceError {
        let base = &self.base;
        let labels = snapshot.labelled.get(base);
        let labels = labels.into_iter().flat_map(|known| known.labels.0.keys());
        let known = labels.map(|label| format!("{base}@{label}"));
        let known: Vec<String> = known.chain([format!("{base}@latest")]).collect();
        ServiceError::not_found(EntryKind::Prompt, self.id, known.iter().map(String::as_str))
    }
}

/// Whether a definition depends on the request, because a weighted label is involved.
fn is_drawn(definition: &Definition<PromptEntry>) -> bool {
    matches!(&definition.state, DefinitionState::Valid(entry) if entry.drawn)
}
