//! Templates that call each other by name.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use quillet_core::{Diagnostic, nearest};

use super::error::TemplateError;
use super::template::{Template, TemplateOptions};

/// Templates of one format by name, which include, extend and import each other.
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
/// A template is compiled when it is first asked for, with those that it calls, and kept until a
/// template is added, changed or removed. So one that is broken breaks only those that call it.
#[derive(Debug)]
pub struct Environment {
    format: String,
    options: TemplateOptions,
    sources: BTreeMap<String, String>,
    compiled: Mutex<BTreeMap<String, Template>>,
}

impl Environment {
    /// An environment without templates, for those of one format. Whether there is such a format is
    /// seen when a template is asked for.
    #[must_use]
    pub fn new(format: &str) -> Self {
        Self::with_options(format, TemplateOptions::default())
    }

    /// The same, whose templates are compiled with these options. Partials among them can be called
    /// by all.
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

    /// Adds a template, in the place of one of that name. What is wrong with it is said when it is
    /// asked for.
    pub fn add(&mut self, name: impl Into<String>, text: impl Into<String>) {
        self.forget();
        self.sources.insert(name.into(), text.into());
    }

    /// Removes a template; says whether it was there.
    pub fn remove(&mut self, name: &str) -> bool {
        self.forget();
        self.sources.remove(name).is_some()
    }

    /// Names of all templates, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.sources.keys().map(String::as_str)
    }

    /// The template of that name.
    ///
    /// # Errors
    /// There is none, or it or one that it calls is broken: with source, line and column.
    pub fn template(&self, name: &str) -> Result<Template, TemplateError> {
        if let Some(template) = self.kept().get(name) {
            return Ok(template.clone());
        }
        let Some(text) = self.sources.get(name) else {
            return Err(self.missing(name));
        };
        let template = self.compile(name, text)?;
        self.kept().insert(name.to_owned(), template.clone());
        Ok(template)
    }

    /// A template of this text that can call those of the environment, and is not kept.
    ///
    /// # Errors
    /// It or one that it calls is broken: with source, line and column.
    pub fn template_of(&self, text: &str) -> Result<Template, TemplateError> {
        self.compile(&self.options.name, text)
    }

    /// Compiles a template with those that it calls, and that these call.
    fn compile(&self, name: &str, text: &str) -> Result<Template, TemplateError> {
        let mut called: BTreeSet<&str> = BTreeSet::new();
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
            // A name that is computed may be any; one that is broken is then as if it were not there.
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
            format!("there is no template {name:?}"),
        );
        TemplateError::finding(match nearest(name, self.names()) {
            Some(near) => found.help(format!("did you mean {near}?")),
            None => found.help("add it to the environment"),
        })
    }

    fn kept(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Template>> {
        self.compiled.lock().unwrap_or_else(PoisonError::into_inner)
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
