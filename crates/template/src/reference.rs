//! Variables and functions that a template can use, as known at compile time.

use std::hash::{Hash, Hasher};

use quillet_core::Span;

/// Variables and functions that the sources may use, in order of first use.
///
/// # Examples
///
/// ```
/// use quillet_template::{CompileOptions, TemplateFactory, TemplateSource};
///
/// let source = TemplateSource::new("p", r#"{{ user.name }}: {{ weather("Oslo") }}"#);
/// let formats = TemplateFactory::standard();
/// let template = formats.compile("jinja", &[source], &CompileOptions::default())?;
/// let references = template.references();
/// assert_eq!(references.variables[0].path, ["user", "name"]);
/// assert_eq!(references.functions[0].name, "weather");
/// # Ok::<(), quillet_template::CompileError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct References {
    /// Paths from the root of the variables.
    pub variables: Vec<VariableReference>,
    /// Functions that the format does not define and that must be bound late.
    pub functions: Vec<FunctionReference>,
    /// Names of called sources that are missing.
    pub templates: Vec<String>,
    /// Whether the sources may use variables whose names are unknown before rendering, because the
    /// root itself is printed, iterated or passed to a function.
    pub dynamic: bool,
}

/// A reference to a path from the root of the variables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VariableReference {
    /// Keys of the path. For `.variables.code`, they are `["variables", "code"]`.
    pub path: Vec<String>,
    /// Whether the source handles a missing value, as `index . "x"` and `x is defined` do.
    pub optional: bool,
    /// Index of the source.
    pub source: usize,
    /// Location in that source.
    pub span: Span,
}

impl VariableReference {
    /// Creates a reference to a required path.
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

/// A reference that is compared by its path. A set of such references need not store the path
/// twice.
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

/// A reference to a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionReference {
    /// The name.
    pub name: String,
    /// Index of the source.
    pub source: usize,
    /// Location in that source.
    pub span: Span,
}

impl FunctionReference {
    /// Creates a reference to a function.
    pub fn new(name: impl Into<String>, source: usize, span: Span) -> Self {
        FunctionReference {
            name: name.into(),
            source,
            span,
        }
    }
}

impl References {
    /// Adds a path, unless the path is already present. If the path is already present as optional,
    /// a required reference makes it required. The search is linear, so a caller with thousands of
    /// paths should use a map.
    ///
    /// # Examples
    ///
    /// ```
    /// use quillet_core::Span;
    /// use quillet_template::{References, VariableReference};
    ///
    /// let required = VariableReference::new(["name"], 0, Span { start: 3, end: 7 });
    /// let optional = VariableReference { optional: true, ..required.clone() };
    /// let mut references = References::default();
    /// references.add_variable(optional);
    /// references.add_variable(required);
    /// assert_eq!(references.variables.len(), 1);
    /// assert!(!references.variables[0].optional);
    /// ```
    pub fn add_variable(&mut self, reference: VariableReference) {
        let known = self.variables.iter_mut().find(|v| v.path == reference.path);
        match known {
            Some(known) => known.optional &= reference.optional,
            None => self.variables.push(reference),
        }
    }

    /// Adds a function, unless the function is already present. The search is linear.
    pub fn add_function(&mut self, reference: FunctionReference) {
        if !self.functions.iter().any(|f| f.name == reference.name) {
            self.functions.push(reference);
        }
    }
}
