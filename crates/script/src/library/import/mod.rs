//! Parses the imports of a script in all their forms.
//!
//! The result only names modules and scripts and loads none of them. Names are without `$`. The
//! code that binds a name adds it, unless the script already has the name.

use quillet_core::{Diagnostic, Span};
use quillet_yaml::Node;

use super::inherit::one_or_many;
use crate::syntax::ScriptSource;

mod names;
mod source;

pub use names::{ImportNames, ImportedFunction};
pub use source::ImportKind;

pub(crate) use names::{bare_name, is_initializer};

/// One import.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportItem {
    /// Location of the import's source.
    pub span: Span,
    /// The source (a path or package) as written.
    pub source: String,
    /// The kind of module.
    pub kind: ImportKind,
    /// The imported names and their local names.
    pub names: ImportNames,
    /// Excluded names: `{name: {disable: true}}`.
    pub except: Vec<String>,
    /// Whether the module's `$initializeModule` is enabled: `Some(true)` if the import lists it,
    /// and `Some(false)` for `$initializeModule: {disable: true}`.
    pub initialize: Option<bool>,
}

impl ImportItem {
    /// Extends the error for an unknown script: a name without an extension may refer to an npm
    /// package.
    #[must_use]
    pub fn mended(&self, mut diagnostics: Vec<Diagnostic>) -> Vec<Diagnostic> {
        if let (ImportKind::Script(name), Some(first)) = (&self.kind, diagnostics.first_mut())
            // A name with an extension or a folder is clearly a file, not a package.
            && !name.contains(['.', '/'])
        {
            let package = format!("write an npm package as \"js:{name}\"");
            first.help = Some(match first.help.take() {
                Some(help) => format!("{help}; {package}"),
                None => package,
            });
        }
        diagnostics
    }
}

/// Parses the `import` key of a front matter and returns the imports, in order.
///
/// # Errors
/// Returns all errors in it, each with its location and the fix.
pub fn imports(config: &Node, source: &ScriptSource) -> Result<Vec<ImportItem>, Vec<Diagnostic>> {
    let mut plan = ImportParser::new(source);
    if let Some(node) = config.get("import").filter(|node| !node.is_null()) {
        plan.every(node);
    }
    plan.finish()
}

/// Parses an entry of `export` as an import: `"js:path": ['basename']`.
pub(super) fn import_of(
    key: &Node,
    names: Option<&Node>,
    source: &ScriptSource,
) -> Result<Option<ImportItem>, Vec<Diagnostic>> {
    let mut plan = ImportParser::new(source);
    plan.one(key, names);
    plan.finish().map(|imports| imports.into_iter().next())
}

struct ImportParser<'a> {
    source: &'a ScriptSource,
    imports: Vec<ImportItem>,
    findings: Vec<Diagnostic>,
}

impl<'a> ImportParser<'a> {
    fn new(source: &'a ScriptSource) -> Self {
        ImportParser {
            source,
            imports: Vec::new(),
            findings: Vec::new(),
        }
    }

    fn finish(self) -> Result<Vec<ImportItem>, Vec<Diagnostic>> {
        if self.findings.is_empty() {
            Ok(self.imports)
        } else {
            Err(self.findings)
        }
    }

    /// Parses a string, an object, or a list of them.
    fn every(&mut self, node: &Node) {
        for item in one_or_many(node) {
            match item.entries() {
                Some(entries) => {
                    for entry in entries {
                        self.one(&entry.key, Some(&entry.value));
                    }
                }
                None => self.one(item, None),
            }
        }
    }

    fn one(&mut self, source: &Node, names: Option<&Node>) {
        let Some(text) = source.as_str() else {
            let why = format!("invalid import: expected a string, not {}", source.kind());
            let found = self.source.error("script.import", why, source.span);
            let help = "for example, write \"js:lodash\", \"./tools.js\" or \"agent.ai.yaml\"";
            self.findings.push(found.help(help));
            return;
        };
        // Checked before the source is parsed, because a disabled import may have an invalid
        // source.
        if names.is_some_and(names::switched_off) {
            return;
        }
        let kind = match source::kind(text) {
            Ok(kind) => kind,
            Err(refusal) => {
                let found = self.source.error(refusal.code, refusal.why, source.span);
                self.findings.push(found.help(refusal.mend));
                return;
            }
        };
        match names::read(names, &kind, self.source) {
            Ok(chosen) => self.imports.push(ImportItem {
                span: source.span,
                source: text.to_owned(),
                kind,
                names: chosen.names,
                except: chosen.except,
                initialize: chosen.initialize,
            }),
            Err(mut findings) => self.findings.append(&mut findings),
        }
    }
}
