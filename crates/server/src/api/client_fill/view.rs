//! Versions and labels of a prompt as clients of other services see them.
//!
//! These clients can delete a version, but versions are permanent here. A deleted version gets a
//! hidden label and stays in the history. For these clients, a prompt that was removed and written
//! again starts a new history.

use std::collections::BTreeSet;

use quillet_core::history::{LATEST, LabelTarget, Labels, PRODUCTION, Version, VersionSelector};
use quillet_core::store::EntryKind;
use quillet_host::definitions::{ResolvedVersion, heaviest};

use crate::error::ApiError;
use crate::request_context::RequestContext;

/// The hidden label of versions that a client deleted.
pub(crate) const HIDDEN: &str = ".deleted";

/// Number of versions read per page.
const PAGE: usize = 100;

/// The version that a client requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VersionRequest<'a> {
    /// The version of `production`, or the newest one if there are no labels.
    Default,
    /// The version that a label points to.
    Label(&'a str),
    /// The version with this number.
    Number(u64),
}

/// A prompt that a client may read.
#[derive(Debug)]
pub(crate) struct PromptView<'c> {
    call: &'c RequestContext,
    /// The id of the prompt.
    pub(crate) id: String,
    /// The newest version in the store.
    pub(crate) newest: ResolvedVersion,
    /// The labels visible to clients.
    pub(crate) labels: Labels,
    hidden: BTreeSet<u64>,
}

impl<'c> PromptView<'c> {
    /// Returns the prompt with this id.
    ///
    /// # Errors
    /// Fails if the prompt does not exist or the store is unavailable.
    pub(crate) async fn of(call: &'c RequestContext, id: &str) -> Result<Self, ApiError> {
        let definitions = &call.app.definitions;
        let latest = VersionSelector::Label(LATEST.to_owned());
        let (newest, _) = definitions
            .ensure_version(EntryKind::Prompt, id, &latest)
            .await?;
        let mut labels = newest.labels.clone();
        let hidden = labels.0.remove(HIDDEN);
        Ok(PromptView {
            call,
            id: id.to_owned(),
            hidden: hidden.iter().flat_map(LabelTarget::numbers).collect(),
            newest,
            labels,
        })
    }

    /// Returns all versions visible to clients, newest first.
    ///
    /// # Errors
    /// Fails if the store is unavailable.
    pub(crate) async fn versions(&self) -> Result<Vec<Version>, ApiError> {
        self.down_to(|_| false).await
    }

    /// Returns the newest version visible to clients.
    ///
    /// # Errors
    /// Fails if the store is unavailable.
    pub(crate) async fn latest(&self) -> Result<Option<u64>, ApiError> {
        // The newest version is known, so the history is rarely read.
        let newest = self.newest.version.as_ref().map(|version| version.number);
        if newest.is_some_and(|number| !self.hidden.contains(&number)) {
            return Ok(newest);
        }
        let seen = self.down_to(|seen| !seen.is_empty()).await?;
        Ok(seen.first().map(|version| version.number))
    }

    /// Returns the requested version, or `None` if it does not exist or is hidden.
    ///
    /// # Errors
    /// Fails if the store is unavailable.
    pub(crate) async fn find(
        &self,
        wish: VersionRequest<'_>,
    ) -> Result<Option<ResolvedVersion>, ApiError> {
        let of_label = |name| self.labels.get(name).map(heaviest);
        let number = match wish {
            VersionRequest::Number(number) if !self.shows(number).await? => None,
            VersionRequest::Number(number) => Some(number),
            VersionRequest::Label(LATEST) => self.latest().await?,
            VersionRequest::Label(name) => of_label(name),
            VersionRequest::Default if self.labels.0.is_empty() => self.latest().await?,
            VersionRequest::Default => of_label(PRODUCTION),
        };
        let Some(number) = number else {
            return Ok(None);
        };
        let newest = self.newest.version.as_ref();
        if newest.is_some_and(|version| version.number == number) {
            return Ok(Some(self.newest.clone()));
        }
        let definitions = &self.call.app.definitions;
        let mark = VersionSelector::Number(number);
        let found = definitions
            .find(EntryKind::Prompt, &self.id, Some(&mark))
            .await?;
        Ok(Some(found))
    }

    /// Returns the labels of a version that clients see, with `latest` last.
    ///
    /// # Errors
    /// Fails if the store is unavailable.
    pub(crate) async fn labels_of(&self, number: u64) -> Result<Vec<String>, ApiError> {
        let at = self
            .labels
            .0
            .iter()
            .filter(|(_, to)| heaviest(to) == number);
        let mut labels: Vec<String> = at.map(|(name, _)| name.clone()).collect();
        if self.latest().await? == Some(number) {
            labels.push(LATEST.to_owned());
        }
        Ok(labels)
    }

    /// Returns the hidden versions together with these.
    pub(crate) fn hidden_with(&self, numbers: &[u64]) -> BTreeSet<u64> {
        self.hidden.iter().chain(numbers).copied().collect()
    }

    async fn shows(&self, number: u64) -> Result<bool, ApiError> {
        let newest = self.newest.version.as_ref().map(|version| version.number);
        if self.hidden.contains(&number) || newest.is_none_or(|newest| number > newest) {
            return Ok(false);
        }
        let is_there = |seen: &[Version]| seen.last().is_some_and(|one| one.number <= number);
        let seen = self.down_to(is_there).await?;
        Ok(seen.iter().any(|version| version.number == number))
    }

    /// Reads versions from the newest on until `enough` returns true or a removal is reached.
    async fn down_to(&self, enough: impl Fn(&[Version]) -> bool) -> Result<Vec<Version>, ApiError> {
        let definitions = &self.call.app.definitions;
        let (mut seen, mut before) = (Vec::new(), None);
        while !enough(&seen) {
            let page = definitions
                .versions(EntryKind::Prompt, &self.id, before, PAGE)
                .await?;
            before = page.last().map(|version| version.number);
            let is_last = page.len() < PAGE;
            for version in page {
                if version.removed {
                    return Ok(seen);
                }
                if !self.hidden.contains(&version.number) {
                    seen.push(version);
                }
            }
            if is_last {
                break;
            }
        }
        Ok(seen)
    }
}
