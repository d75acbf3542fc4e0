//! Writes many definitions: planning and execution.

use std::collections::{BTreeMap, HashMap};

use futures_util::stream::{self, StreamExt, TryStreamExt};
use quillet_core::history::{
    CommitResult, DefinitionContent, Digest, Labels, Version, WritePrecondition, label_key,
};
use quillet_core::store::{EntryKey, EntryKind};

use super::write::Write;
use super::{Actor, DefinitionError, DefinitionService, Permission, check_id};

/// Maximum concurrent reads or writes: enough to hide the latency of a remote store without
/// overloading it.
const AT_ONCE: usize = 32;

/// Definition to write, before the store is queried.
#[derive(Clone, Debug)]
pub struct PushItem {
    /// Its kind.
    pub kind: EntryKind,
    /// Its key, unless the store has another key for the same id.
    pub key: EntryKey,
    /// The new content.
    pub content: DefinitionContent,
}

/// Planned change of one definition.
#[derive(Clone, Debug)]
pub struct PushChange {
    /// The definition to write, and its key in the store.
    pub pushed: PushItem,
    /// Current content of the store.
    pub now: Option<Digest>,
    /// Number of the newest version. Current content that is not recorded yet counts as a version.
    /// 0 if there are no versions.
    pub newest: u64,
    /// All labels of the definition.
    pub labels: Labels,
}

impl PushChange {
    /// Whether the definition is unchanged.
    #[must_use]
    pub fn is_same(&self) -> bool {
        self.now == Some(self.pushed.content.digest())
    }

    /// Number of the resulting version.
    #[must_use]
    pub fn number(&self) -> u64 {
        if self.is_same() {
            self.newest
        } else {
            self.newest + 1
        }
    }
}

/// Options of a push.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reason<'a> {
    /// Message for the log.
    pub message: &'a str,
    /// Labels that are moved to the new version of each definition.
    pub labels: &'a [String],
}

impl DefinitionService {
    /// Plans the push without writing.
    ///
    /// # Errors
    /// A key is invalid, the store does not keep a history, or does not answer.
    pub async fn plan(&self, pushed: Vec<PushItem>) -> Result<Vec<PushChange>, DefinitionError> {
        let mut steps = Vec::with_capacity(pushed.len());
        let mut kinds: BTreeMap<EntryKind, Vec<PushItem>> = BTreeMap::new();
        for one in pushed {
            kinds.entry(one.kind).or_default().push(one);
        }
        for (kind, pushed) in kinds {
            steps.extend(self.plan_kind(kind, pushed).await?);
        }
        Ok(steps)
    }

    async fn plan_kind(
        &self,
        kind: EntryKind,
        mut pushed: Vec<PushItem>,
    ) -> Result<Vec<PushChange>, DefinitionError> {
        let known = self.keys(kind).await?;
        let known: HashMap<String, EntryKey> =
            known.into_iter().map(|key| (key.id(), key)).collect();
        for one in &mut pushed {
            let id = one.key.id();
            match known.get(&id) {
                Some(key) => one.key = key.clone(),
                None => check_id(&id)?,
            }
        }
        let keys: Vec<EntryKey> = pushed.iter().map(|one| one.key.clone()).collect();
        let places: Vec<EntryKey> = keys.iter().map(|key| label_key(kind, key)).collect();
        let entries = self.store().entries(kind, &keys).await?;
        let labels = self.store().get(EntryKind::Label, &places).await?;
        let history = self.history()?;
        let heads: Vec<Option<Version>> = stream::iter(&keys)
            .map(|key| history.versions(kind, key, None, 1))
            // Keeps the order of the keys, because the results are zipped with them below.
            .buffered(AT_ONCE)
            .map_ok(|versions| versions.into_iter().next())
            .try_collect()
            .await?;
        let rows = pushed.into_iter().zip(entries).zip(labels).zip(heads);
        let mut steps = Vec::new();
        for (((pushed, entry), labels), head) in rows {
            let now = entry.map(|entry| DefinitionContent::of(&entry).digest());
            let labels = labels.and_then(|text| Labels::parse(&text).ok());
            steps.push(PushChange {
                newest: newest(head.as_ref(), now),
                labels: labels.unwrap_or_default(),
                pushed,
                now,
            });
        }
        Ok(steps)
    }

    /// Executes one step of a plan. The definitions of a plan may depend on each other and were
    /// validated together, so they are not validated again.
    ///
    /// # Errors
    /// The actor lacks a permission, the definition was changed concurrently, or the store failed.
    pub async fn take(
        &self,
        actor: &Actor,
        step: &PushChange,
        reason: Reason<'_>,
    ) -> Result<CommitResult, DefinitionError> {
        let PushItem { kind, key, content } = &step.pushed;
        let id = key.id();
        self.permit(actor, Permission::Write, *kind, &id).await?;
        let labels = reason.labels.iter().map(String::as_str);
        self.may_label(actor, *kind, &id, labels).await?;
        let write = Write {
            content: content.clone(),
            message: reason.message,
            // The plan was made for this content; a write since then must be a conflict.
            expect: step
                .now
                .map_or(WritePrecondition::Absent, WritePrecondition::Digest),
            labels: reason.labels,
            ..Write::new(*kind, &id, "")
        };
        self.commit(actor, key.clone(), write).await
    }
}

/// Number of the newest version after current content is recorded.
fn newest(head: Option<&Version>, now: Option<Digest>) -> u64 {
    let Some(head) = head else {
        return u64::from(now.is_some());
    };
    let is_noted = if head.removed {
        now.is_none()
    } else {
        now == Some(head.digest)
    };
    if is_noted {
        head.number
    } else {
        head.number + 1
    }
}
