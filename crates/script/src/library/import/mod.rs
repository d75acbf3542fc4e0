//! What a script imports, in all forms that it can be written.
//!
//! A plan is data: it names modules and scripts, and loads none. Names are without `$`; whoever
//! binds them adds it, and leaves a name alone that the script already has.

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
    /// Where its source stands.
    pub span: Span,
    /// What is imported, as it is written.
    pub source: String,
    /// What that means.
    pub kind: ImportKind,
    /// Which of its names are taken, and how they are called here.
    pub names: ImportNames,
    /// Names that are omitted: `{name: {disable: true}}`.
    pub except: Vec<String>,
    /// What it says of the module's `$initializeModule`: `Some(true)` where it is listed,
    /// `Some(false)` for `$initializeModule: {disable: true}`.
    pub initialize: Option<bool>,
}

impl ImportItem {
    /// Adds to "there is no such script" what else a name without an extension may have been meant
    /// for.
    #[must_use]
    pub fn mended(&self, mut diagnostics: Vec<Diagnostic>) -> Vec<Diagnostic> {
        if let (ImportKind::Script(name), Some(first)) = (&self.kind, diagnostics.first_mut())
            // A name with an extension or a folder is plainly a file and not a package.
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

/// What the `import` of a front matter says, in order.
///
/// # Errors
/// All that is wrong with it, each with its place and the fix.
pub fn imports(config: &Node, source: &ScriptSource) -> Result<Vec<ImportItem>, Vec<Diagnostic>> {
    let mut plan = ImportParser::new(source);
    if let Some(node) = config.get("import").filter(|node| !node.is_null()) {
        plan.every(node);
    }
    plan.finish()
}

/// The import that one entry of `export` stands for: `"js:path": ['basename']`.
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

    /// A string, an object, or a list of them.
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
            let help = "write for example \"js:lodash\", \"./tools.js\" or \"agent.ai.yaml\"";
            self.findings.push(found.help(help));
            return;
        };
        // Before the source is read: a disabled import may have an invalid one.
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
