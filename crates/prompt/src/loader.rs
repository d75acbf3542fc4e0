//! Lookup of prompts by other prompts, with a record of the lookups.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::Arc;

use quillet_core::Diagnostic;

use crate::compile::Library;
use crate::definition::{Prompt, PromptBody};
use crate::snapshot::{CatalogueSnapshot, DefinitionState};
use crate::sources::CalledTemplate;

/// Prompts that can be looked up.
pub(crate) trait Prompts {
    /// Whether a prompt with this id exists, valid or not.
    fn is_there(&self, id: &str) -> bool;
    /// Returns the prompt with this id, if it is valid.
    fn prompt(&self, id: &str) -> Option<&Prompt>;
    /// Returns all ids with this prefix.
    fn beginning_with(&self, text: &str) -> BTreeSet<Arc<str>>;
}

impl Prompts for CatalogueSnapshot {
    fn is_there(&self, id: &str) -> bool {
        self.prompts.contains_key(id)
    }

    fn prompt(&self, id: &str) -> Option<&Prompt> {
        match &self.prompts.get(id)?.state {
            DefinitionState::Valid(entry) => Some(&entry.prompt),
            DefinitionState::Invalid => None,
        }
    }

    fn beginning_with(&self, text: &str) -> BTreeSet<Arc<str>> {
        let ids = self.prompts.beginning_with(text).map(|(id, _)| id);
        ids.cloned().collect()
    }
}

/// Prompts that other prompts can call.
pub(crate) struct PromptLoader<'a> {
    prompts: &'a dyn Prompts,
    /// Ids that were looked up, whether they exist or not. Partials of a folder are not included.
    sought: RefCell<BTreeSet<Arc<str>>>,
}

impl<'a> PromptLoader<'a> {
    pub(crate) fn new(prompts: &'a dyn Prompts) -> Self {
        PromptLoader {
            prompts,
            sought: RefCell::default(),
        }
    }

    /// Returns the ids that were looked up. A change to any of them affects the result.
    pub(crate) fn into_sought(self) -> Vec<Arc<str>> {
        self.sought.into_inner().into_iter().collect()
    }

    fn seek(&self, id: &str) {
        let mut sought = self.sought.borrow_mut();
        if !sought.contains(id) {
            sought.insert(id.into());
        }
    }

    /// Returns the prompt as a template called `name`, if the prompt is a single text.
    fn text(&self, id: &str, name: &str) -> Option<CalledTemplate> {
        let prompt = self.prompts.prompt(id)?;
        let PromptBody::Text(text) = &prompt.body else {
            return None;
        };
        Some(CalledTemplate {
            name: name.into(),
            text: text.clone(),
            owner: prompt.id.clone(),
        })
    }
}

impl Library for PromptLoader<'_> {
    fn by_id(&self, id: &str) -> Option<Vec<CalledTemplate>> {
        self.seek(id);
        if let Some(text) = self.text(id, id) {
            return Some(vec![text]);
        }
        let prompt = self.prompts.prompt(id)?;
        let own = |(name, text): (String, &Arc<str>)| CalledTemplate {
            name: name.into(),
            text: text.clone(),
            owner: prompt.id.clone(),
        };
        Some(prompt.templates().into_iter().map(own).collect())
    }

    fn partial(&self, id: &str, name: &str) -> Option<CalledTemplate> {
        // Templates may write a partial with or without its underscore.
        let bare = name.strip_prefix('_').unwrap_or(name);
        let mut ids = outward(id).map(|folder| format!("{folder}_{bare}"));
        let id = ids.find(|id| {
            self.seek(id);
            self.prompts.is_there(id)
        })?;
        self.text(&id, name)
    }

    fn partials(&self, id: &str, fits: &dyn Fn(&Prompt) -> bool) -> Vec<CalledTemplate> {
        let Some((extension, _)) = id.rsplit_once('.') else {
            return Vec::new();
        };
        let beside = self.prompts.beginning_with(&format!("{extension}._"));
        let others = beside.iter().filter(|other| &***other != id);
        let fitting = others.filter(|other| self.prompts.prompt(other).is_some_and(fits));
        let called = |other: &Arc<str>| self.text(other, &other[extension.len() + 1..]);
        fitting.filter_map(called).collect()
    }

    fn locate(&self, id: &str, found: Diagnostic) -> Diagnostic {
        let Some(prompt) = self.prompts.prompt(id) else {
            return found;
        };
        match (&prompt.place, &prompt.body) {
            (None, PromptBody::Text(_)) => Diagnostic {
                source: format!("{id}.prompt"),
                ..found
            },
            _ => prompt.locate(found),
        }
    }
}

/// Returns the prefixes of an id up to each dot, longest first, and then the empty one. Each could
/// be the folder, because file names may contain dots.
fn outward(id: &str) -> impl Iterator<Item = &str> {
    let dots = id.rmatch_indices('.').map(|(at, _)| &id[..=at]);
    dots.chain([""])
}
