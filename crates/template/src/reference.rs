//! What a template can touch, known when it is compiled.

use std::hash::{Hash, Hasher};

use quillet_core::Span;

/// Variables and functions that the sources can touch, in order of first use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct References {
    /// Paths from the root of the variables.
    pub variables: Vec<VariableReference>,
    /// Functions that are not the format's own, so must be bound late.
    pub functions: Vec<FunctionReference>,
    /// Names of the other sources that are called but were not given.
    pub templates: Vec<String>,
    /// Whether the sources can reach variables whose names are not known before
    /// rendering (the whole root is printed, ranged over, passed to a function).
    pub dynamic: bool,
}

/// One path from the root of the variables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VariableReference {
    /// Keys from the root: `.variables.code` is `["variables", "code"]`.
    pub path: Vec<String>,
    /// Whether the source deals with its absence itself (`index . "x"`, `x is defined`).
    pub optional: bool,
    /// Which source, as an index into those that were compiled.
    pub source: usize,
    /// Where in that source.
    pub span: Span,
}

impl VariableReference {
    /// A path of keys that has to exist.
    pub fn new<K: Into<String>>(
        path: impl IntoIterator<Item = K>,
        source: usize,
        span: Span,
    ) -> Self {
        VariableReference {
            path: path.into_iter().map(Into::into).collect(),
            optional: false,
            source,
            span,
        }
    }
}

/// A reference that is found by its path, which the key of a map would hold once more.
pub(crate) struct ByPath(pub(crate) VariableReference);

impl PartialEq for ByPath {
    fn eq(&self, other: &Self) -> bool {
        self.0.path == other.0.path
    }
}

impl Eq for ByPath {}

impl Hash for ByPath {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.path.hash(state);
    }
}

/// One function name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionReference {
    /// The name.
    pub name: String,
    /// Which source, as an index into those that were compiled.
    pub source: usize,
    /// Where in that source.
    pub span: Span,
}

impl FunctionReference {
    /// A function of that name.
    pub fn new(name: impl Into<String>, source: usize, span: Span) -> Self {
        FunctionReference {
            name: name.into(),
            source,
            span,
        }
    }
}

impl References {
    /// Adds a path unless the same one is there; a use that needs it to exist
    /// makes an optional one required. It looks through all that are there: who
    /// may find thousands keeps a map of their own.
    pub fn add_variable(&mut self, reference: VariableReference) {
        let known = self.variables.iter_mut().find(|v| v.path == reference.path);
        match known {
            Some(known) => known.optional &= reference.optional,
            None => self.variables.push(reference),
        }
    }

    /// Adds a function unless it is there; looks through all, as above.
    pub fn add_function(&mut self, reference: FunctionReference) {
        if !self.functions.iter().any(|f| f.name == reference.name) {
            self.functions.push(reference);
        }
    }
}
