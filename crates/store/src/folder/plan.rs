//! Write-ahead plans of commits.
//!
//! A definition, its history and its labels are separate files, and a process may be killed between
//! any two writes. The next writer then completes the steps of the plan, so a commit takes effect
//! completely or not at all.

use std::path::Path;
use std::sync::Arc;

use quillet_core::history::{DefinitionContent, VersionRecord, label_key};
use quillet_core::store::{EntryKey, EntryKind, StoreError};
use serde::{Deserialize, Serialize};

use super::key_path::Roots;
use super::{FolderInner, scan, write};

/// File of the pending plan.
const PENDING: &str = ".pending";

/// A planned change of one definition.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct CommitPlan {
    /// Name of the kind, from [`EntryKind::word`].
    pub(super) kind: String,
    pub(super) key: Arc<str>,
    /// New versions, oldest first; the definition gets the content of the last.
    pub(super) versions: Vec<VersionRecord>,
    /// Content of the definition before the change.
    pub(super) before: Option<DefinitionContent>,
    /// Text of the labels before and after the change.
    pub(super) labels: [Option<Arc<str>>; 2],
}

/// A step of a plan. Steps are idempotent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CommitStep {
    /// Versions are written first, so labels and definitions never refer to a missing version.
    Versions,
    Definition,
    Labels,
    /// Deletes the plan after all other steps.
    Forget,
}

impl CommitStep {
    pub(super) const ALL: [CommitStep; 4] = [
        CommitStep::Versions,
        CommitStep::Definition,
        CommitStep::Labels,
        CommitStep::Forget,
    ];
}

impl CommitPlan {
    pub(super) fn at(&self) -> Option<(EntryKind, EntryKey)> {
        let mut kinds = EntryKind::ALL
            .into_iter()
            .filter(|kind| kind.has_versions());
        let kind = kinds.find(|kind| kind.word() == self.kind)?;
        Some((kind, EntryKey::new(self.key.clone())))
    }

    /// Whether the plan only appends to the history.
    fn is_one_line(&self) -> bool {
        let newest = self.versions.last();
        let stays = newest.is_none_or(|newest| has_content(newest, self.before.as_ref()));
        stays && self.labels[0] == self.labels[1]
    }

    /// Whether the current content is that before the plan, after it or a mix of both. Anything
    /// else was written by another program and must not be overwritten.
    fn is_between(
        &self,
        now: Option<&DefinitionContent>,
        after: Option<&DefinitionContent>,
    ) -> bool {
        fn parts(content: Option<&DefinitionContent>) -> [Option<&str>; 2] {
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

impl FolderInner {
    /// Executes all steps of a plan.
    pub(super) fn execute(&self, plan: &CommitPlan) -> Result<(), StoreError> {
        if plan.is_one_line() {
            // A single append needs no plan, because no second file could be inconsistent with it
            // after a crash.
            return self.step(CommitStep::Versions, plan);
        }
        // From here on, another process may repeat every step after a crash.
        self.save_plan(plan)?;
        CommitStep::ALL
            .into_iter()
            .try_for_each(|step| self.step(step, plan))
    }

    /// The plan is a private file, because definitions of databases contain passwords.
    pub(super) fn save_plan(&self, plan: &CommitPlan) -> Result<(), StoreError> {
        let text = serde_json::to_string(plan).unwrap_or_default();
        write::replace(&self.history_path(Path::new(PENDING))?, &text, true)
    }

    /// Completes the plan of a process that was killed.
    pub(super) fn finish(&self) -> Result<(), StoreError> {
        let path = self.history_path(Path::new(PENDING))?;
        let Some(file) = self.open_beside(Path::new(PENDING))? else {
            return Ok(());
        };
        let plan = serde_json::from_reader::<_, CommitPlan>(std::io::BufReader::new(file));
        let Ok(plan) = plan else {
            // The machine stopped before the plan was on disk, so no step was executed.
            tracing::warn!(path = %path.display(), "incomplete plan: ignored");
            return write::delete(&path).map(drop);
        };
        tracing::info!(
            kind = plan.kind,
            key = &*plan.key,
            "finished an interrupted write"
        );
        CommitStep::ALL
            .into_iter()
            .try_for_each(|step| self.step(step, &plan))
    }

    pub(super) fn step(&self, step: CommitStep, plan: &CommitPlan) -> Result<(), StoreError> {
        let Some((kind, key)) = plan.at() else {
            return Ok(());
        };
        match step {
            CommitStep::Versions => self.set_versions(kind, &key, plan),
            CommitStep::Definition => self.set_definition(kind, &key, plan),
            CommitStep::Labels => self.set_labels(kind, &key, plan),
            CommitStep::Forget => write::delete(&self.history_path(Path::new(PENDING))?).map(drop),
        }
    }

    fn set_versions(
        &self,
        kind: EntryKind,
        key: &EntryKey,
        plan: &CommitPlan,
    ) -> Result<(), StoreError> {
        let book = self.history(kind, key)?.book;
        let last = book.chain.last();
        let new = plan.versions.iter();
        let new: Vec<VersionRecord> = new
            // A repeated step skips the versions written by the first attempt.
            .filter(|kept| kept.version.number > last)
            .cloned()
            .collect();
        self.add(kind, key, &book.lines(&new))
    }

    fn set_definition(
        &self,
        kind: EntryKind,
        key: &EntryKey,
        plan: &CommitPlan,
    ) -> Result<(), StoreError> {
        let Some(newest) = plan.versions.last() else {
            return Ok(());
        };
        // A later commit exists, so its definition must not be overwritten.
        if self.history(kind, key)?.book.chain.last() != newest.version.number {
            return Ok(());
        }
        let after = newest.content.as_ref();
        let claims = self.claims(kind, key)?;
        let contents: Vec<DefinitionContent> = claims
            .iter()
            .map(|it| DefinitionContent::of(&it.entry))
            .collect();
        let now = contents.first();
        // The file was edited after the crash. The edit takes precedence and becomes a separate
        // version.
        if !plan.is_between(now, after) {
            return Ok(());
        }
        if !has_content(newest, now) {
            put(&self.roots, kind, key, after, claims.first())?;
        }
        // This is the previous file, which remains if the process died before removing it.
        for (claim, content) in claims.iter().zip(&contents).skip(1) {
            if Some(content) == plan.before.as_ref() && !has_content(newest, Some(content)) {
                write::remove(&claim.path)?;
            }
        }
        Ok(())
    }

    fn set_labels(
        &self,
        kind: EntryKind,
        key: &EntryKey,
        plan: &CommitPlan,
    ) -> Result<(), StoreError> {
        let [before, after] = &plan.labels;
        // A user may have edited the labels since the crash.
        if before == after || self.label_text(kind, key)? != *before {
            return Ok(());
        }
        self.put_labels(kind, key, after.as_deref())
    }

    /// Sets the labels of a definition.
    pub(super) fn put_labels(
        &self,
        kind: EntryKind,
        key: &EntryKey,
        text: Option<&str>,
    ) -> Result<(), StoreError> {
        let place = label_key(kind, key);
        let claims = self.claims(EntryKind::Label, &place)?;
        let content = text.map(DefinitionContent::new);
        put(
            &self.roots,
            EntryKind::Label,
            &place,
            content.as_ref(),
            claims.first(),
        )
    }
}

/// Whether a version has this content.
fn has_content(kept: &VersionRecord, now: Option<&DefinitionContent>) -> bool {
    match (&kept.content, now) {
        (None, None) => true,
        (Some(content), Some(now)) => content == now || kept.version.digest == now.digest(),
        _ => false,
    }
}

/// Writes or removes the file of an entry; `before` is its current file.
fn put(
    roots: &Roots,
    kind: EntryKind,
    key: &EntryKey,
    content: Option<&DefinitionContent>,
    before: Option<&scan::FolderEntry>,
) -> Result<(), StoreError> {
    let before = before.map(|document| &*document.path);
    match (content, before) {
        (Some(content), before) => write::write(roots, kind, key, content, before),
        (None, Some(before)) => write::remove(before).map(drop),
        (None, None) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use quillet_core::history::{Commit, STORE};
    use quillet_test_support::TempDir;

    use super::*;
    use crate::StoreOptions;

    /// A definition before and after a commit.
    struct Case {
        name: &'static str,
        before: Option<DefinitionContent>,
        after: Option<DefinitionContent>,
    }

    fn file(name: &str, text: &str, config: Option<&str>) -> Option<DefinitionContent> {
        Some(DefinitionContent {
            text: text.into(),
            file: name.into(),
            companion: config.map(|text| ("config.json".into(), text.into())),
        })
    }

    fn cases() -> Vec<Case> {
        let json = |text: &str| Some(DefinitionContent::new(format!("{{\"prompt\":\"{text}\"}}")));
        let case = |name, before, after| Case {
            name,
            before,
            after,
        };
        let function = |text, config| file("skprompt.txt", text, Some(config));
        vec![
            case("new", None, json("new")),
            case("changed", json("old"), json("new")),
            case("removed", json("old"), None),
            case("to a file", json("old"), file("a.prompt", "new", None)),
            case("to JSON", file("a.prompt", "old", None), json("new")),
            // Both files exist after a crash, and the name of the old file takes precedence.
            case("to YAML", json("old"), file("a.yaml", "a: [", None)),
            case(
                "function",
                function("old", "{\"a\":1}"),
                function("new", "{\"a\":2}"),
            ),
            case("from a function", function("old", "{}"), json("new")),
            case("to a function", json("old"), function("new", "{}")),
            case("function removed", function("old", "{}"), None),
        ]
    }

    fn folder(dir: &TempDir) -> Arc<FolderInner> {
        FolderInner::open(&dir.path().join("store"), &StoreOptions::default()).unwrap()
    }

    fn key() -> EntryKey {
        EntryKey::new("a:b")
    }

    fn commit(content: Option<DefinitionContent>, label: Option<&str>) -> Commit {
        Commit {
            labels: label.map(str::to_owned).into_iter().collect(),
            ..Commit::new(EntryKind::Prompt, key(), content, "ada")
        }
    }

    /// Creates the folder as a process that was killed after some steps of a commit leaves it.
    fn killed(case: &Case, steps: usize) -> TempDir {
        let dir = TempDir::new();
        fs::create_dir(dir.path().join("store")).unwrap();
        let folder = folder(&dir);
        if case.before.is_some() {
            let before = commit(case.before.clone(), Some("old"));
            folder.commit(&before).unwrap();
        }
        let label = case.after.is_some().then_some("production");
        place_root(&folder);
        let (plan, _) = folder.planned(&commit(case.after.clone(), label)).unwrap();
        assert!(!plan.is_one_line(), "{}", case.name);
        folder.save_plan(&plan).unwrap();
        for step in &CommitStep::ALL[..steps] {
            folder.step(*step, &plan).unwrap();
        }
        dir
    }

    fn place_root(folder: &FolderInner) {
        folder.with_write_lock(true, || Ok(())).unwrap();
    }

    fn labels_are_sound(folder: &FolderInner, name: &str) {
        let text = folder.label_text(EntryKind::Prompt, &key()).unwrap();
        let text = text.as_deref().unwrap_or("{}");
        let labels = quillet_core::history::Labels::parse(text).unwrap();
        let book = folder.history(EntryKind::Prompt, &key()).unwrap().book;
        for number in labels.0.values().flat_map(|target| target.numbers()) {
            assert!(book.chain.points_at(number), "{name}: {text}");
        }
    }

    fn digests(folder: &FolderInner) -> Vec<(String, bool)> {
        let book = folder.history(EntryKind::Prompt, &key()).unwrap().book;
        let versions = book.chain.versions();
        versions
            .map(|version| (version.digest.to_string(), version.removed))
            .collect()
    }

    #[test]
    fn what_broke_off_is_finished_wherever_it_did() {
        for case in &cases() {
            for steps in 0..CommitStep::ALL.len() {
                let name = format!("{} after {steps} steps", case.name);
                let dir = killed(case, steps);
                labels_are_sound(&folder(&dir), &name);

                // The next writer may be another process.
                let other = folder(&dir);
                let keys = [key()];
                if steps % 2 == 0 {
                    other.finish_at_last();
                }
                let new = other.observe(EntryKind::Prompt, &keys, STORE).unwrap();
                assert_eq!(new, [], "{name}");
                labels_are_sound(&other, &name);
                let pending = dir.path().join("store.history/.pending");
                assert!(steps == 3 || !pending.exists(), "{name}");

                let now = other.current_content(EntryKind::Prompt, &key()).unwrap();
                let digest = |content: &DefinitionContent| content.digest();
                assert_eq!(
                    now.as_ref().map(digest),
                    case.after.as_ref().map(digest),
                    "{name}"
                );
                let claims = other.claims(EntryKind::Prompt, &key()).unwrap();
                assert!(claims.len() <= 1, "{name}: {claims:?}");
                let versions = digests(&other);
                let expected = 1 + usize::from(case.before.is_some());
                assert_eq!(versions.len(), expected, "{name}");
                assert_eq!(versions[expected - 1].1, case.after.is_none(), "{name}");
                let labels = other.label_text(EntryKind::Prompt, &key()).unwrap();
                let is_labelled = labels.is_some_and(|text| text.contains("production"));
                assert_eq!(is_labelled, case.after.is_some(), "{name}");

                let next = commit(Some(DefinitionContent::new("{}")), None);
                let done = other.commit(&next).unwrap();
                assert_eq!(done.version.number as usize, expected + 1, "{name}");
                assert!(!pending.exists(), "{name}");
            }
        }
    }

    /// An edit after the crash is preserved and becomes a version.
    #[test]
    fn what_others_wrote_since_is_not_touched() {
        for case in &cases() {
            for steps in 0..CommitStep::ALL.len() {
                let name = format!("{} after {steps} steps", case.name);
                let dir = killed(case, steps);
                let path = dir.path().join("store/prompts/a");
                fs::create_dir_all(&path).unwrap();
                for stale in [
                    "b.json",
                    "b.prompt",
                    "b.yaml",
                    "b/config.json",
                    "b/skprompt.txt",
                ] {
                    let _ = fs::remove_file(path.join(stale));
                }
                let mine = "{\"prompt\":\"mine\"}";
                fs::write(path.join("b.json"), mine).unwrap();
                let folder = folder(&dir);
                folder.finish_at_last();
                let text = fs::read_to_string(path.join("b.json")).unwrap();
                assert_eq!(text, mine, "{name}");
                let keys = [key()];
                let new = folder.observe(EntryKind::Prompt, &keys, STORE).unwrap();
                assert_eq!(new.len(), 1, "{name}");
                assert_eq!(
                    new[0].1.digest,
                    DefinitionContent::new(mine).digest(),
                    "{name}"
                );
                let expected = 2 + usize::from(case.before.is_some());
                assert_eq!(digests(&folder).len(), expected, "{name}");
            }
        }
    }

    /// The two files of a function cannot be written atomically.
    #[test]
    fn half_a_function_is_finished() {
        let cases = cases();
        let case = cases.iter().find(|case| case.name == "function").unwrap();
        let dir = killed(case, 1);
        let function = dir.path().join("store/prompts/a/b");
        fs::write(function.join("config.json"), "{\"a\":2}").unwrap();
        let folder = folder(&dir);
        folder.finish_at_last();
        let text = fs::read_to_string(function.join("skprompt.txt")).unwrap();
        assert_eq!(text, "new");
        assert_eq!(digests(&folder).len(), 2);
    }

    #[test]
    fn half_a_plan_is_left_out() {
        let cases = cases();
        let dir = killed(&cases[1], 0);
        let pending = dir.path().join("store.history/.pending");
        let whole = fs::read(&pending).unwrap();
        for bytes in [0, 1, whole.len() / 2, whole.len() - 1] {
            fs::write(&pending, &whole[..bytes]).unwrap();
            let folder = folder(&dir);
            folder.finish_at_last();
            assert!(!pending.exists());
            assert_eq!(digests(&folder).len(), 1, "{bytes} bytes");
        }
    }
}
