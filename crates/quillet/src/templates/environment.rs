//! Environments of templates that call each other by name.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

use quillet_core::lock::lock;
use quillet_core::{Diagnostic, nearest};

use super::error::TemplateError;
use super::template::{Template, TemplateOptions};

/// Named templates of one format that include, extend and import each other.
///
/// ```
/// use quillet::Environment;
///
/// let mut environment = Environment::new("jinja");
/// environment.add("greeting", "Hello {{ name }}!");
/// environment.add("letter", "{% include 'greeting' %} How are you?");
/// let text = environment.template("letter")?.render([("name", "Ada")])?;
/// assert_eq!(text, "Hello Ada! How are you?");
/// # Ok::<(), quillet::TemplateError>(())
/// ```
///
/// A template is compiled on first use, together with the templates it calls, and cached until a
/// template is added, changed or removed. An invalid template affects only templates that call it.
#[derive(Debug)]
pub struct Environment {
    format: String,
    options: TemplateOptions,
    sources: BTreeMap<String, String>,
    compiled: Mutex<BTreeMap<String, Template>>,
}

impl Environment {
    /// Creates an empty environment for one format. An unknown format is reported when a template
    /// is used.
    #[must_use]
    pub fn new(format: &str) -> Self {
        Self::with_options(format, TemplateOptions::default())
    }

    /// Creates an empty environment with options for all templates. All templates can call the
    /// partials in the options.
    ///
    /// ```
    /// use quillet::{Environment, Map, TemplateOptions};
    ///
    /// let options = TemplateOptions {
    ///     partials: vec![("signature".into(), "Ada".into())],
    ///     ..TemplateOptions::default()
    /// };
    /// let environment = Environment::with_options("jinja", options);
    /// let letter = environment.template_of("Yours, {% include 'signature' %}")?;
    /// assert_eq!(letter.render(Map::default())?, "Yours, Ada");
    /// # Ok::<(), quillet::TemplateError>(())
    /// ```
    #[must_use]
    pub fn with_options(format: &str, mut options: TemplateOptions) -> Self {
        let partials = std::mem::take(&mut options.partials);
        Environment {
            format: format.to_owned(),
            options,
            sources: partials.into_iter().collect(),
            compiled: Mutex::default(),
        }
    }

    /// Adds a template, or replaces the template of that name. Errors in the template are reported
    /// when it is used.
    ///
    /// ```
    /// use quillet::{Environment, Map};
    ///
    /// let mut environment = Environment::new("jinja");
    /// environment.add("page", "[{% include 'part' %}]");
    /// environment.add("part", "old");
    /// environment.add("part", "new");
    /// assert_eq!(environment.template("page")?.render(Map::default())?, "[new]");
    /// # Ok::<(), quillet::TemplateError>(())
    /// ```
    pub fn add(&mut self, name: impl Into<String>, text: impl Into<String>) {
        self.forget();
        self.sources.insert(name.into(), text.into());
    }

    /// Removes a template; returns whether it existed.
    ///
    /// ```
    /// let mut environment = quillet::Environment::new("jinja");
    /// environment.add("page", "Hello");
    /// assert!(environment.remove("page"));
    /// assert!(!environment.remove("page"));
    /// ```
    pub fn remove(&mut self, name: &str) -> bool {
        self.forget();
        self.sources.remove(name).is_some()
    }

    /// Returns the names of all templates, sorted.
    ///
    /// ```
    /// let mut environment = quillet::Environment::new("jinja");
    /// environment.add("page", "Hello");
    /// environment.add("footer", "Bye");
    /// assert!(environment.names().eq(["footer", "page"]));
    /// ```
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.sources.keys().map(String::as_str)
    }

    /// Returns the template with this name.
    ///
    /// # Errors
    /// The name is unknown, or the template or one it calls is invalid; with source, line and
    /// column.
    ///
    /// # Examples
    /// ```
    /// let mut environment = quillet::Environment::new("jinja");
    /// environment.add("page", "Hello");
    /// let error = environment.template("pgae").unwrap_err();
    /// assert_eq!(error.code(), "template.missing");
    /// assert_eq!(error.hint(), Some("did you mean page?"));
    /// ```
    pub fn template(&self, name: &str) -> Result<Template, TemplateError> {
        if let Some(template) = self.kept().get(name) {
            return Ok(template.clone());
        }
        let Some(text) = self.sources.get(name) else {
            return Err(self.missing(name));
        };
        // The template is compiled without the lock, so two threads may compile the same template,
        // but none waits.
        let template = self.compile(name, text)?;
        self.kept().insert(name.to_owned(), template.clone());
        Ok(template)
    }

    /// Compiles a template that can call the templates of the environment, without storing the
    /// template.
    ///
    /// # Errors
    /// The template or one it calls is invalid; with source, line and column.
    ///
    /// # Examples
    /// ```
    /// let mut environment = quillet::Environment::new("jinja");
    /// environment.add("greeting", "Hello {{ name }}!");
    /// let template = environment.template_of("{% include 'greeting' %} Welcome.")?;
    /// assert_eq!(template.render([("name", "Ada")])?, "Hello Ada! Welcome.");
    /// # Ok::<(), quillet::TemplateError>(())
    /// ```
    pub fn template_of(&self, text: &str) -> Result<Template, TemplateError> {
        self.compile(&self.options.name, text)
    }

    /// Compiles a template with all templates it calls, directly or indirectly.
    fn compile(&self, name: &str, text: &str) -> Result<Template, TemplateError> {
        let mut called: BTreeSet<&str> = BTreeSet::new();
        // The calls of a template are known only after it compiles, so each round adds those.
        loop {
            let template = self.compile_with(name, text, &called)?;
            let references = template.references();
            let known = |name: &String| Some(self.sources.get_key_value(name)?.0.as_str());
            let more: Vec<&str> = references.templates.iter().filter_map(known).collect();
            let more: Vec<&str> = more
                .into_iter()
                .filter(|name| !called.contains(name))
                .collect();
            if !more.is_empty() {
                called.extend(more);
                continue;
            }
            // A computed name can refer to any template, so all templates that compile are added,
            // and an invalid one counts as missing.
            if references.dynamic && called.len() < self.sources.len() {
                let others = self.sources.iter().filter(|(other, _)| *other != name);
                let sound = others.filter(|(other, text)| self.is_sound(other, text));
                let all = sound.map(|(other, _)| other.as_str()).collect();
                return self.compile_with(name, text, &all);
            }
            return Ok(template);
        }
    }

    fn is_sound(&self, name: &str, text: &str) -> bool {
        self.compile_with(name, text, &BTreeSet::new()).is_ok()
    }

    fn compile_with(
        &self,
        name: &str,
        text: &str,
        called: &BTreeSet<&str>,
    ) -> Result<Template, TemplateError> {
        let partials = self.sources.iter();
        let partials = partials.filter(|(partial, _)| called.contains(partial.as_str()));
        let partials: Vec<(&str, &str)> = partials
            .map(|(partial, text)| (partial.as_str(), text.as_str()))
            .collect();
        Template::of_sources(&self.format, name, text, &partials, &self.options)
    }

    fn missing(&self, name: &str) -> TemplateError {
        let found = Diagnostic::error(
            "template.missing",
            name,
            format!("unknown template {name:?}"),
        );
        TemplateError::finding(match nearest(name, self.names()) {
            Some(near) => found.help(format!("did you mean {near}?")),
            None => found.help("add it to the environment"),
        })
    }

    fn kept(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Template>> {
        // The map contains only finished templates, so it is valid even after a panic.
        lock(&self.compiled)
    }

    fn forget(&mut self) {
        self.kept().clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment() -> Environment {
        let mut environment = Environment::new("jinja");
        environment.add("page", "[{% include 'part' %}]{% include other %}");
        environment.add("part", "{{ x }}{% include 'deep' %}");
        environment.add("deep", "!");
        environment.add("broken", "{% if %}");
        environment.add("uses", "{% include 'broken' %}");
        environment
    }

    #[test]
    fn templates_are_compiled_with_what_they_call() {
        let mut environment = environment();
        let page = environment.template("page").unwrap();
        let given = [("x", "1"), ("other", "deep")];
        assert_eq!(
            page.render([("x", "1"), ("other", "part")]).unwrap(),
            "[1!]1!"
        );
        assert_eq!(page.render(given).unwrap(), "[1!]!");
        environment.add("deep", "?");
        let page = environment.template("page").unwrap();
        assert_eq!(page.render(given).unwrap(), "[1?]?");
        let text = environment.template_of("{% include 'part' %}").unwrap();
        assert_eq!(text.render(given).unwrap(), "1?");
        assert!(environment.remove("deep") && !environment.remove("deep"));
        assert!(environment.template("page").unwrap().render(given).is_err());
    }

    #[test]
    fn a_broken_template_breaks_its_callers_only() {
        let environment = environment();
        for name in ["broken", "uses"] {
            let error = environment.template(name).unwrap_err();
            let place = error.position().map(|place| (place.line, place.column));
            assert_eq!((error.source_name(), place), ("broken", Some((1, 7))));
        }
        let error = environment.template("pgae").unwrap_err();
        assert_eq!(
            (error.code(), error.hint()),
            ("template.missing", Some("did you mean page?"))
        );
        assert_eq!(environment.names().count(), 5);
    }
}
