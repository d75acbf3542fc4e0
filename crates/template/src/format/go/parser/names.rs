//! Variable names in scope while a definition is parsed.

use std::collections::HashMap;

use super::super::ast::SlotIndex;

/// Names in scope, innermost last.
///
/// As in Go, an assignment also brings its name into scope. A missing variable is reported at run
/// time.
pub(super) struct NameStack {
    names: Vec<StackName>,
    latest: HashMap<Box<str>, usize, foldhash::fast::RandomState>,
    /// For each variable except `$`, the variable that it shadows.
    shadowed: Vec<Option<SlotIndex>>,
}

struct StackName {
    text: Box<str>,
    /// The innermost declared variable with this name, if any.
    slot: Option<SlotIndex>,
    /// Index of the previous entry with this name.
    previous: Option<usize>,
}

impl NameStack {
    pub(super) fn new() -> Self {
        NameStack {
            names: Vec::new(),
            latest: HashMap::default(),
            shadowed: Vec::new(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.names.len()
    }

    /// Returns the number of declared variables, including those out of scope.
    pub(super) fn slots(&self) -> usize {
        1 + self.shadowed.len()
    }

    /// Looks up a name. The outer option tells whether the name is in scope, and the inner one is
    /// its variable.
    pub(super) fn find(&self, text: &str) -> Option<Option<SlotIndex>> {
        match self.latest.get(text) {
            Some(latest) => self.names.get(*latest).map(|name| name.slot),
            // `$` always exists. Most templates use no other variable.
            None => (text == "$").then_some(Some(0)),
        }
    }

    pub(super) fn declare(&mut self, text: &str) -> SlotIndex {
        let slot = self.slots();
        self.shadowed.push(self.find(text).flatten());
        self.push(text, Some(slot));
        slot
    }

    pub(super) fn assign(&mut self, text: &str) -> Option<SlotIndex> {
        let slot = self.find(text).flatten();
        self.push(text, slot);
        slot
    }

    fn push(&mut self, text: &str, slot: Option<SlotIndex>) {
        let previous = self.latest.insert(text.into(), self.names.len());
        self.names.push(StackName {
            text: text.into(),
            slot,
            previous,
        });
    }

    /// Ends a scope that began at this number of names.
    pub(super) fn truncate(&mut self, length: usize) {
        while self.names.len() > length {
            let Some(name) = self.names.pop() else {
                return;
            };
            match name.previous {
                Some(previous) => self.latest.insert(name.text, previous),
                None => self.latest.remove(&name.text),
            };
        }
    }

    /// Returns, for each variable except `$`, the variable that it shadows.
    pub(super) fn take_shadowed(&mut self) -> Vec<Option<SlotIndex>> {
        std::mem::take(&mut self.shadowed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_scope_brings_back_the_names_before() {
        let mut names = NameStack::new();
        let outer = names.declare("$x");
        let before = names.len();
        let inner = names.declare("$x");
        names.assign("$y");
        assert_eq!(names.find("$x"), Some(Some(inner)));
        assert_eq!(names.find("$y"), Some(None));
        names.truncate(before);
        assert_eq!(names.find("$x"), Some(Some(outer)));
        assert_eq!(names.find("$y"), None);
        assert_eq!(names.take_shadowed(), [None, Some(outer)]);
    }
}
