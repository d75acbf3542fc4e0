//! Imports of the front matter, which become functions of the script.

use std::sync::Arc;

use quillet_core::{BoxFuture, Map, Span, Value};

use super::ScriptInput;
use super::failure::found;
use super::instance::Instance;
use super::scope::NameScope;
use super::state::Callable;
use crate::directive::Directive;
use crate::error::{ErrorKind, ScriptError};
use crate::js::{ExportKind, JsTarget};
use crate::library::import::{ImportItem, ImportKind, ImportNames, ImportedFunction, imports};
use crate::library::{ExportedItem, Initialize, ScriptExports, exported_items, js_initializer};
use crate::syntax::Script;

impl Instance {
    /// Imports all modules of the script and its parents, each relative to its own folder.
    pub(super) async fn import_all(self: &Arc<Self>) -> Result<(), ScriptError> {
        for script in self.resolved.bodies.clone() {
            let scope = NameScope::of(&script.source);
            let wanted = imports(&script.config, &script.source)
                .map_err(|findings| found(findings, &scope))?;
            for import in &wanted {
                self.import(import, &scope).await?;
            }
        }
        Ok(())
    }

    fn import<'a>(
        self: &'a Arc<Self>,
        import: &'a ImportItem,
        scope: &'a NameScope,
    ) -> BoxFuture<'a, Result<(), ScriptError>> {
        Box::pin(async move {
            match &import.kind {
                ImportKind::JsPackage(name) => {
                    self.import_javascript(name.clone(), import, scope).await
                }
                ImportKind::JsFile(path) => {
                    self.import_javascript(relative(path), import, scope).await
                }
                ImportKind::Wasm(path) => self.import_wasm(path, import, scope).await,
                ImportKind::Script(name) => self.import_script(name, import, scope).await,
                ImportKind::Package { name, file: None } => {
                    self.import_script(name, import, scope).await
                }
                ImportKind::Package {
                    name,
                    file: Some(file),
                } => self.import_from_package(name, file, import, scope).await,
            }
        })
    }

    /// Resolves `ai:package#file` as if the import were in the package's entry file.
    async fn import_from_package(
        self: &Arc<Self>,
        package: &str,
        file: &ImportKind,
        import: &ImportItem,
        scope: &NameScope,
    ) -> Result<(), ScriptError> {
        let entry = self.wanted_script(package, scope, import.span).await?;
        let inner = ImportItem {
            kind: file.clone(),
            initialize: Some(false),
            ..import.clone()
        };
        let beside = NameScope::of(&entry.source);
        self.import(&inner, &beside).await
    }

    async fn import_javascript(
        self: &Arc<Self>,
        specifier: String,
        import: &ImportItem,
        scope: &NameScope,
    ) -> Result<(), ScriptError> {
        let from = scope
            .source
            .path
            .as_ref()
            .map(|path| path.display().to_string())
            .unwrap_or_default();
        let runtime = self.runtime(scope, import.span);
        let imported = self.world.js.import(&specifier, &from, &runtime).await;
        let imported = imported.map_err(|error| self.js_error(error, scope, import.span))?;
        let functions: Vec<String> = imported
            .exports
            .iter()
            .filter(|export| !matches!(export.kind, ExportKind::Value(_)))
            .map(|export| export.name.clone())
            .collect();
        let target = |name: &str| {
            Callable::JavaScript(JsTarget::Export(imported.module, vec![name.to_owned()]))
        };
        let known = imported.exports.iter().map(|export| export.name.clone());
        let known: Vec<String> = known.collect();
        let whole = Callable::JavaScript(JsTarget::Export(imported.module, Vec::new()));
        self.bind_exports(import, &known, &functions, whole, target, scope)?;
        let names = functions.iter().map(String::as_str);
        if let Some(name) = js_initializer(import, names) {
            self.initialize_javascript(target(name), scope, import.span)
                .await?;
        }
        Ok(())
    }

    /// Binds the exports that an import names. Without names, binds all exports that are functions.
    pub(super) fn bind_exports(
        &self,
        import: &ImportItem,
        known: &[String],
        functions: &[String],
        whole: Callable,
        target: impl Fn(&str) -> Callable,
        scope: &NameScope,
    ) -> Result<(), ScriptError> {
        match &import.names {
            ImportNames::Namespace(alias) => self.bind_function(alias, whole, false),
            ImportNames::All => {
                for name in functions.iter().filter(|it| !import.except.contains(it)) {
                    let plain = ImportedFunction::new(name, None);
                    self.bind_function(&plain.alias, target(name), plain.template);
                }
            }
            ImportNames::Listed(listed) => {
                for wanted in listed {
                    let known = known.iter().map(String::as_str);
                    let Some(name) = exported(&wanted.name, known.clone()) else {
                        return Err(no_export(&wanted.name, known, import, scope));
                    };
                    self.bind_function(&wanted.alias, target(name), wanted.template);
                }
            }
        }
        Ok(())
    }

    async fn wanted_script(
        self: &Arc<Self>,
        name: &str,
        scope: &NameScope,
        at: Span,
    ) -> Result<Arc<Script>, ScriptError> {
        match self.find(name, scope, at).await? {
            Some(script) => Ok(script),
            None => Err(self.unknown_call(name, scope, at)),
        }
    }

    async fn import_script(
        self: &Arc<Self>,
        name: &str,
        import: &ImportItem,
        scope: &NameScope,
    ) -> Result<(), ScriptError> {
        let script = self.wanted_script(name, scope, import.span).await?;
        let again = self
            .lineage()
            .iter()
            .any(|known| Arc::ptr_eq(known, &script));
        let inner = self.inner(script.clone(), scope, import.span).await?;
        let given = exported_items(&inner.resolved, import, &scope.source)
            .map_err(|findings| found(findings, scope))?;
        let plain = given
            .bindings
            .iter()
            .all(|binding| binding.what == ExportedItem::Itself);
        // Scripts may import each other, so a script that is already being loaded is not loaded
        // again.
        let loads = !(again || plain && given.initialize.is_empty());
        if loads {
            inner.start(ScriptInput::None).await?;
        }
        self.bind_script(&given, &script, loads.then_some(&inner))
            .await?;
        if loads {
            self.initialize(&given, &inner, import.span).await?;
        }
        Ok(())
    }

    /// Returns the scripts that are being loaded, from the outermost to this one.
    fn lineage(&self) -> Vec<Arc<Script>> {
        let mut scripts = vec![self.resolved.script.clone()];
        let mut at = self.caller.as_deref();
        while let Some(instance) = at {
            scripts.push(instance.resolved.script.clone());
            at = instance.caller.as_deref();
        }
        scripts
    }

    async fn bind_script(
        self: &Arc<Self>,
        given: &ScriptExports,
        script: &Arc<Script>,
        inner: Option<&Arc<Instance>>,
    ) -> Result<(), ScriptError> {
        let runs = Callable::Script(script.clone());
        if let Some(namespace) = &given.namespace {
            self.bind_function(namespace, runs.clone(), false);
        }
        for binding in &given.bindings {
            let name = match &given.namespace {
                Some(_) if binding.what == ExportedItem::Itself => continue,
                Some(namespace) => format!("{namespace}.{}", binding.name),
                None => binding.name.clone(),
            };
            match &binding.what {
                ExportedItem::Itself => self.bind_function(&name, runs.clone(), false),
                ExportedItem::Function(function) => {
                    let Some(inner) = inner else { continue };
                    let found = {
                        let state = inner.state();
                        let found = state
                            .functions
                            .get(&**function)
                            .or_else(|| state.template_functions.get(&**function));
                        found.cloned()
                    };
                    let Some(callable) = found else { continue };
                    self.bind_function(
                        &name,
                        Callable::Foreign(inner.clone(), Box::new(callable)),
                        binding.template,
                    );
                }
                ExportedItem::Module(module) => {
                    let beside = NameScope::of(&script.source);
                    self.import(module, &beside).await?;
                }
            }
        }
        Ok(())
    }

    async fn initialize(
        self: &Arc<Self>,
        given: &ScriptExports,
        inner: &Arc<Instance>,
        at: Span,
    ) -> Result<(), ScriptError> {
        for step in &given.initialize {
            match step {
                Initialize::Itself => inner.body().await?,
                Initialize::Function(name) => {
                    let Some(function) = inner.callable(name) else {
                        continue;
                    };
                    let root = inner.root();
                    let arguments = self.initial_arguments();
                    inner.call_function(&function, arguments, &root, at).await?;
                }
            }
        }
        Ok(())
    }

    /// Calls the initializer of a module. `this` and the second argument are the importing script,
    /// which it may change.
    async fn initialize_javascript(
        self: &Arc<Self>,
        initializer: Callable,
        scope: &NameScope,
        at: Span,
    ) -> Result<(), ScriptError> {
        const NAME: &str = "initialize__";
        const DATA: &str = "data__";
        self.state().functions.insert(NAME.into(), initializer);
        let data = Value::Map(self.state().arguments.clone());
        let inner = scope.with(vec![(DATA.into(), Some(data))]);
        let done = self
            .javascript(&format!("this.${NAME}({DATA}, this)"), &inner, at)
            .await;
        self.state().functions.remove(NAME);
        done.map(drop)
    }

    /// Returns the arguments of an initializer: those of the importing script, and the script
    /// itself.
    fn initial_arguments(&self) -> Vec<Option<Value>> {
        let data = Value::Map(self.state().arguments.clone());
        let caller = Map::from_iter([("id", Value::from(self.id.as_str()))]);
        vec![Some(data), Some(Value::Map(caller))]
    }

    /// Adds a function to the script, unless the name is already in use.
    fn bind_function(&self, name: &str, callable: Callable, template: bool) {
        let name: Arc<str> = name.trim_start_matches('$').into();
        let mut state = self.state();
        let taken = state.variables.contains_key(&*format!("${name}"));
        let functions = if template {
            &mut state.template_functions
        } else {
            &mut state.functions
        };
        if !taken && Directive::named(&name).is_none() {
            functions.entry(name).or_insert(callable);
        }
    }
}

fn relative(path: &str) -> String {
    if path.starts_with('.') || path.starts_with('/') {
        path.to_owned()
    } else {
        format!("./{path}")
    }
}

/// Finds an export by name, with or without its `$`.
fn exported<'a>(wanted: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let plain = |name: &str| name.trim_start_matches('$').to_owned();
    known.into_iter().find(|name| plain(name) == plain(wanted))
}

fn no_export<'a>(
    name: &str,
    known: impl Iterator<Item = &'a str> + Clone,
    import: &ImportItem,
    scope: &NameScope,
) -> ScriptError {
    let message = format!("`{}` does not export `{name}`", import.source);
    let finding = scope
        .source
        .error("script.import.name", message, import.span);
    let help = match quillet_core::nearest(name, known.clone()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("known names: {}", known.collect::<Vec<_>>().join(", ")),
    };
    ScriptError::new(ErrorKind::NotFound, finding.help(help))
}
