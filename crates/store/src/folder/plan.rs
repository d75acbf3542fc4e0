//! What a commit is about to do, written down before it is done.
//!
//! A definition, its history and its labels are files of their own. A process may be killed between
//! any two of them; whoever is the next to write finishes what the plan says then, so that all of it
//! is done or nothing.

use std::path::Path;
use std::sync::Arc;

use quillet_core::history::{Content, Kept, label_key};
use quillet_core::store::{Key, Kind, StoreError};
use serde::{Deserialize, Serialize};

use super::place::Roots;
use super::{Folder, scan, write};

/// Where a plan is while it is not done.
const PENDING: &str = ".pending";

/// A change of one definition.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Plan {
    /// As [`Kind::word`] says it.
    pub(super) kind: String,
    pub(super) key: Arc<str>,
    /// New versions, oldest first; the definition becomes the last of them.
    pub(super) versions: Vec<Kept>,
    /// What the definition was.
    pub(super) before: Option<Content>,
    /// The text of the labels, as it was and as it becomes.
    pub(super) labels: [Option<Arc<str>>; 2],
}

/// One change of files. Each can be done again, and does nothing then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// The versions come first, so that no label and no definition is without its version.
    Versions,
    Definition,
    Labels,
    /// The plan is done.
    Forget,
}

impl Step {
    pub(super) const ALL: [Step; 4] =
        [Step::Versions, Step::Definition, Step::Labels, Step::Forget];
}

impl Plan {
    pub(super) fn at(&self) -> Option<(Kind, Key)> {
        let mut kinds = Kind::ALL.into_iter().filter(|kind| kind.has_versions());
        let kind = kinds.find(|kind| kind.word() == self.kind)?;
        Some((kind, Key::new(self.key.clone())))
    }

    /// Whether it changes nothing that a line of the history would not say.
    fn is_one_line(&self) -> bool {
        let after = self.versions.last().map(|kept| kept.content.as_ref());
        let digest = |content: &Content| content.digest();
        let stays = after.is_none_or(|after| after.map(digest) == self.before.as_ref().map(digest));
        stays && self.labels[0] == self.labels[1]
    }

    /// Whether what stands is what the plan found, what it makes of it, or a part of both: whatever
    /// somebody else has written since is not touched.
    fn is_between(&self, now: Option<&Content>, after: Option<&Content>) -> bool {
        fn parts(content: Option<&Content>) -> [Option<&str>; 2] {
            let beside = content.and_then(|content| content.companion.as_ref());
            [
                content.map(|content| &*content.text),
                beside.map(|(_, text)| &**text),
            ]
        }
        let (now, before, after) = (parts(now), parts(self.before.as_ref()), parts(after));
        let known = now.iter().zip(before).zip(after);
        known
            .into_iter()
            .all(|((now, before), after)| *now == before || *now == after)
    }
}

impl Folder {
    /// Does all that a plan says.
    pub(super) fn carry_out(&self, plan: &Plan) -> Result<(), StoreError> {
        if plan.is_one_line() {
            return self.step(Step::Versions, plan);
        }
        self.write_down(plan)?;
        Step::ALL
            .into_iter()
            .try_for_each(|step| self.step(step, plan))
    }

    /// What a database's definition holds is private, so the plan is.
    pub(super) fn write_down(&self, plan: &Plan) -> Result<(), StoreError> {
        let text = serde_json::to_string(plan).unwrap_or_default();
        write::replace(&self.beside(Path::new(PENDING))?, &text, true)
    }

    /// Finishes what another process has begun and did not live to finish.
    pub(super) fn finish(&self) -> Result<(), StoreError> {
        let path = self.beside(Path::new(PENDING))?;
        let Some(file) = self.open_beside(Path::new(PENDING))? else {
            return Ok(());
        };
        let plan = serde_json::from_reader::<_, Plan>(std::io::BufReader::new(file));
        let Ok(plan) = plan else {
            // The machine stopped before it was on the disk, and so before anything was done.
            tracing::warn!(path = %path.display(), "half a plan: left out");
            return write::delete(&path).map(drop);
        };
        tracing::info!(
            kind = plan.kind,
            key = &*plan.key,
            "a write that broke off is finished"
        );
        Step::ALL
            .into_iter()
            .try_for_each(|step| self.step(step, &plan))
    }

    pub(super) fn step(&self, step: Step, plan: &Plan) -> Result<(), StoreError> {
        let Some((kind, key)) = plan.at() else {
            return Ok(());
        };
        match step {
            Step::Versions => self.set_versions(kind, &key, plan),
            Step::Definition => self.set_definition(kind, &key, plan),
            Step::Labels => self.set_labels(kind, &key, plan),
            Step::Forget => write::delete(&self.beside(Path::new(PENDING))?).map(drop),
        }
    }

    fn set_versions(&self, kind: Kind, key: &Key, plan: &Plan) -> Result<(), StoreError> {
        let book = self.history(kind, key)?.book;
        let last = book.chain.last();
        let new = plan.versions.iter();
        let new: Vec<Kept> = new
            .filter(|kept| kept.version.number > last)
            .cloned()
            .collect();
        self.add(kind, key, &book.lines(&new))
    }

    fn set_definition(&self, kind: Kind, key: &Key, plan: &Plan) -> Result<(), StoreError> {
        let Some(newest) = plan.versions.last() else {
            return Ok(());
        };
        if self.history(kind, key)?.book.chain.last() != newest.version.number {
            return Ok(());
        }
        let after = newest.content.as_ref();
        let claims = self.claims(kind, key)?;
        let contents: Vec<Content> = claims.iter().map(|it| Content::of(&it.entry)).collect();
        let now = contents.first();
        if !plan.is_between(now, after) {
            return Ok(());
        }
        let digest = |content: &Content| content.digest();
        let is_it = |content: Option<&Content>| content.map(digest) == after.map(digest);
        if !is_it(now) {
            put(&self.roots, kind, key, after, claims.first())?;
        }
        // The file that it was in, where a process was killed before it could remove it.
        let before = plan.before.as_ref().map(digest);
        for (claim, content) in claims.iter().zip(&contents).skip(1) {
            if Some(content.digest()) == before && !is_it(Some(content)) {
                write::remove(&claim.path)?;
            }
        }
        Ok(())
    }

    fn set_labels(&self, kind: Kind, key: &Key, plan: &Plan) -> Result<(), StoreError> {
        let [before, after] = &plan.labels;
        // Somebody may have set them by hand since.
        if before == after || self.label_text(kind, key)? != *before {
            return Ok(());
        }
        self.put_labels(kind, key, after.as_deref())
    }

    /// Sets the labels of a definition.
    pub(super) fn put_labels(
        &self,
        kind: Kind,
        key: &Key,
        text: Option<&str>,
    ) -> Result<(), StoreError> {
        let place = label_key(kind, key);
        let claims = self.claims(Kind::Label, &place)?;
        let content = text.map(Content::new);
        put(
            &self.roots,
            Kind::Label,
            &place,
            content.as_ref(),
            claims.first(),
        )
    }
}

/// Sets an entry to what it is to hold, given the file that it is in.
fn put(
    roots: &Roots,
    kind: Kind,
    key: &Key,
    content: Option<&Content>,
    before: Option<&scan::Document>,
) -> Result<(), StoreError> {
    let before = before.map(|document| &*document.path);
    match (content, before) {
        (Some(content), before) => write::write(roots, kind, key, content, before),
        (None, Some(before)) => write::remove(before).map(drop),
        (None, None) => Ok(()),
    }
}
