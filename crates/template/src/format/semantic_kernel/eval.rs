//! Renders a program: text, variables, and calls with arguments bound by name.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::Write;

use quillet_core::{LineColumn, Map, Span, Value, nearest};

use super::ast::{Call, Node, Operand, Variable};
use super::compilation::Compilation;
use super::encode::encode;
use super::encoding::{Encoding, HostLanguage};
use super::print;
use crate::structure::Elements;
use crate::{CallArguments, CallState, ErrorKind, Missing, Pass, RenderError, StopReason};

/// Maximum length of an integer in bytes.
const INTEGER_BYTES: usize = 20;

pub(super) struct Evaluator<'c, 'p, 'v> {
    pub(super) source: &'c Compilation,
    pub(super) encoding: Option<Encoding>,
    pub(super) missing: Missing,
    pub(super) pass: &'c mut Pass<'p>,
    pub(super) variables: &'v Map,
    /// Variables by lower-case name. Built when an exact lookup fails.
    folded: Option<HashMap<String, &'v Value, foldhash::fast::RandomState>>,
}

impl<'c, 'p> Evaluator<'c, 'p, 'p> {
    pub(super) fn new(
        source: &'c Compilation,
        encoding: Option<Encoding>,
        missing: Missing,
        pass: &'c mut Pass<'p>,
    ) -> Self {
        let variables = pass.variables();
        Evaluator {
            source,
            encoding,
            missing,
            pass,
            variables,
            folded: None,
        }
    }
}

impl<'v> Evaluator<'_, '_, 'v> {
    pub(super) fn run(&mut self) -> Result<(), StopReason> {
        // The check runs before any output, because Python encodes all arguments first.
        self.check_encodable()?;
        let program = &self.source.program;
        for node in &program.nodes {
            self.pass.step()?;
            let start = self.pass.begin_value();
            let (done, span) = match node {
                Node::Text(range) => {
                    let text = program.text.get(range.clone()).unwrap_or_default();
                    (self.pass.literal(text), Span::default())
                }
                Node::Variable(variable) => (self.variable(variable), variable.span),
                Node::Call(call) => (self.call(call), call.span),
            };
            done.map_err(|stop| self.place(stop, span))?;
            if let Some(name) = node.name() {
                self.pass.end_value(start, || Some(name.to_owned()))?;
            }
        }
        Ok(())
    }

    fn dialect(&self) -> HostLanguage {
        self.encoding.unwrap_or_default().dialect
    }

    /// Rejects lists and objects that Python cannot encode, even if the template does not use them.
    fn check_encodable(&mut self) -> Result<(), StopReason> {
        let Some(encoding) = self.encoding else {
            return Ok(());
        };
        // Only Python rejects these values. .NET encodes their text.
        if encoding.dialect != HostLanguage::Python || encoding.allows_variables() {
            return Ok(());
        }
        self.pass.steps(self.variables.len())?;
        for (name, value) in self.variables {
            let complex = matches!(value, Value::List(_) | Value::Map(_));
            if complex && !self.source.trusted.iter().any(|known| **known == **name) {
                return Err(failed(format!(
                    "Argument '{name}' has a value that doesn't support automatic encoding. Set allow_dangerously_set_content to 'True' for this argument and implement custom encoding, or provide the value as a string."
                )));
            }
        }
        Ok(())
    }

    fn variable(&mut self, variable: &Variable) -> Result<(), StopReason> {
        let Some(value) = self.lookup(variable)? else {
            return Ok(());
        };
        let encoded = self
            .encoding
            .filter(|encoding| !variable.trusted && !encoding.allows_variables());
        self.print(value, variable.trusted, encoded)
    }

    /// Returns the value of a variable. A missing variable is empty, or an error in a strict
    /// template.
    fn lookup(&mut self, variable: &Variable) -> Result<Option<&'v Value>, StopReason> {
        let found = self.find(&variable.name)?;
        if found.is_none() {
            self.missing(variable)?;
        }
        Ok(found)
    }

    /// Finds a variable by its name. Case is ignored, except in Python.
    fn find(&mut self, name: &str) -> Result<Option<&'v Value>, StopReason> {
        let exact = self.variables.get(name);
        // Most names match exactly and need no table of lower-case names.
        if exact.is_some() || self.dialect() == HostLanguage::Python {
            return Ok(exact);
        }
        // The table is built at most once per evaluation.
        if self.folded.is_none() {
            self.pass.steps(self.variables.len())?;
            let mut folded = HashMap::default();
            for (name, value) in self.variables {
                // The first of several names that differ only in case wins.
                folded.entry(name.to_ascii_lowercase()).or_insert(value);
            }
            self.folded = Some(folded);
        }
        let folded = self.folded.as_ref();
        Ok(folded.and_then(|folded| folded.get(&name.to_ascii_lowercase()).copied()))
    }

    fn missing(&self, variable: &Variable) -> Result<(), StopReason> {
        if self.missing != Missing::Strict {
            return Ok(());
        }
        let name = &variable.name;
        let reason = format!("variable ${name} is missing");
        let mut error = RenderError::new(ErrorKind::MissingVariable, reason);
        let known = self.variables.iter().map(|(name, _)| &**name);
        error.help = nearest(name, known).map(|near| format!("did you mean ${near}?"));
        Err(self.place(error.into(), variable.span))
    }

    fn print(
        &mut self,
        value: &Value,
        trusted: bool,
        encoded: Option<Encoding>,
    ) -> Result<(), StopReason> {
        if let Value::Int(int) = value {
            // Output is reserved in advance, because written output cannot be removed.
            self.pass.reserve_output(INTEGER_BYTES)?;
            // Writing to a vector cannot fail.
            _ = write!(self.pass.out(), "{int}");
            return Ok(());
        }
        let text = print::text(value, self.dialect());
        if let Cow::Owned(text) = &text {
            self.pass.charge(text.len())?;
        }
        // Encoding and marking scan the text, so its bytes count as steps.
        self.pass.steps(text.len() / 256)?;
        // The marks and references are not reserved separately, because they grow with the text.
        self.pass.reserve_output(text.len())?;
        match encoded {
            Some(encoding) => self.pass.write(&encode(&text, encoding.dialect)),
            // Only trusted text may contain message structure.
            None if trusted && self.encoding.is_none() => {
                self.pass.write(&Elements::default().mark(&text))
            }
            None => self.pass.write(&text),
        }
    }

    fn call(&mut self, call: &Call) -> Result<(), StopReason> {
        let Some(name) = self.function(&call.name) else {
            // Reports the missing function and suggests the most similar name.
            let unknown = self.pass.call(&call.name, CallArguments::default());
            return unknown.map(drop).map_err(|stop| self.hinted(stop, call));
        };
        let arguments = self.arguments(call, &name)?;
        let place = [call.span.start];
        let called = self.pass.call_at(&place, &name, arguments);
        let value = match called? {
            CallState::Ready(value) => value,
            CallState::Pending => return Ok(()),
        };
        let encoded = self.encoding.filter(|encoding| !encoding.allows_results());
        match (&value, self.encoding, self.dialect()) {
            // Python prints the result of a function that returns nothing as `None`.
            (Value::Null, Some(_), HostLanguage::Python) => self.pass.write("None"),
            _ => self.print(&value, call.trusted, encoded),
        }
    }

    /// Resolves a function name.
    fn function<'n>(&self, name: &'n str) -> Option<Cow<'n, str>> {
        if self.pass.has_function(name) {
            return Some(Cow::Borrowed(name));
        }
        let found = self.dialect().function(name, &self.pass.function_names());
        found.map(|found| Cow::Owned(found.to_owned()))
    }

    /// Adds a hint if `{{name}}` names a variable, which is a common mistake.
    fn hinted(&self, stop: StopReason, call: &Call) -> StopReason {
        match stop {
            StopReason::Failed(mut error) if error.kind == ErrorKind::UnknownFunction => {
                if self.variables.get(&call.name).is_some() {
                    let name = &call.name;
                    error.help = Some(format!("{name} is a variable: write {{{{${name}}}}}"));
                }
                StopReason::Failed(error)
            }
            other => other,
        }
    }

    fn arguments(&mut self, call: &Call, name: &str) -> Result<CallArguments, StopReason> {
        let parameters = self.pass.parameters(name);
        let count = call.arguments();
        // An empty list means that the function takes no arguments. `None` means that its
        // parameters are unknown.
        if count > 0 && parameters.as_ref().is_some_and(Vec::is_empty) {
            return Err(failed(format!(
                "Function {name} does not take any arguments but it is being called in the template with {count} arguments."
            )));
        }
        let first = parameters.as_ref().and_then(|known| known.first());
        let mut given = GivenArguments::default();
        let mut positional = None;
        if let Some(operand) = &call.positional {
            let value = self.operand(operand, &given)?;
            match first {
                // A positional argument sets the first parameter, whose name is then taken.
                Some(first) => given.set(first, value),
                None => positional = Some(value),
            }
        }
        for (name_of, operand) in &call.named {
            let taken = call.positional.is_some()
                && first.is_some_and(|first| first.eq_ignore_ascii_case(name_of));
            // In Python, the named argument wins instead.
            if taken && self.dialect() == HostLanguage::DotNet {
                return Err(ambiguous(name_of, name, &given));
            }
            let value = self.operand(operand, &given)?;
            given.set(name_of, value);
        }
        let named = match &parameters {
            Some(parameters) => self.bound(parameters, &given)?,
            None => given.into_map(),
        };
        Ok(CallArguments {
            positional: positional.into_iter().collect(),
            named,
        })
    }

    /// Binds each parameter to the argument with its name, or to the variable with its name.
    fn bound(
        &mut self,
        parameters: &[String],
        given: &GivenArguments<'_>,
    ) -> Result<Map, StopReason> {
        let mut bound = Vec::with_capacity(parameters.len());
        for parameter in parameters {
            let value = match given.get(parameter) {
                Some(value) => Some(value.clone()),
                None => self
                    .find(parameter)?
                    .map(|value| self.passed(parameter, value)),
            };
            bound.extend(value.map(|value| (parameter.as_str(), value)));
        }
        Ok(bound.into_iter().collect())
    }

    fn operand(
        &mut self,
        operand: &Operand,
        given: &GivenArguments<'_>,
    ) -> Result<Value, StopReason> {
        let variable = match operand {
            Operand::Value(value) => return Ok(value.clone()),
            Operand::Variable(variable) => variable,
        };
        // As in Semantic Kernel, later arguments can read earlier arguments like variables.
        if let Some(value) = given.get(&variable.name) {
            return Ok(value.clone());
        }
        let value = self.lookup(variable)?;
        Ok(value.map_or(Value::Null, |value| self.passed(&variable.name, value)))
    }

    /// Returns a variable in the form that a function receives. In Python texts are encoded first.
    fn passed(&self, name: &str, value: &Value) -> Value {
        let Some(encoding) = self.encoding else {
            return value.clone();
        };
        let trusted = || self.source.trusted.iter().any(|known| known == name);
        match value {
            Value::Str(text)
                if encoding.dialect == HostLanguage::Python
                    && !encoding.allows_variables()
                    && !trusted() =>
            {
                Value::from(&*encode(text, HostLanguage::Python))
            }
            other => other.clone(),
        }
    }

    /// Adds the location to an error that has none.
    fn place(&self, stop: StopReason, span: Span) -> StopReason {
        let StopReason::Failed(mut error) = stop else {
            return stop;
        };
        if error.span.is_none() {
            let Compilation { name, text, .. } = self.source;
            let at = LineColumn::of(text, span.start);
            error.message = format!("{name}:{}:{}: {}", at.line, at.column, error.reason);
            error.source_name.clone_from(name);
            error.span = Some(span);
            error.position = Some(at);
        }
        StopReason::Failed(error)
    }
}

/// Arguments read so far. The last argument with a name wins.
#[derive(Debug, Default)]
struct GivenArguments<'a>(Vec<(&'a str, Value)>);

impl<'a> GivenArguments<'a> {
    fn get(&self, name: &str) -> Option<&Value> {
        let mut found = self.0.iter();
        let found = found.find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value)
    }

    fn set(&mut self, name: &'a str, value: Value) {
        let mut known = self.0.iter_mut();
        match known.find(|(known, _)| known.eq_ignore_ascii_case(name)) {
            Some(known) => known.1 = value,
            None => self.0.push((name, value)),
        }
    }

    fn into_map(self) -> Map {
        self.0.into_iter().collect()
    }
}

fn ambiguous(parameter: &str, function: &str, given: &GivenArguments<'_>) -> StopReason {
    let value = given
        .get(parameter)
        .map(|value| print::text(value, HostLanguage::DotNet));
    let value = value.unwrap_or_default();
    failed(format!(
        "Ambiguity found as a named parameter '{parameter}' cannot be set for the first parameter when there is also a positional value: '{value}' provided. Function: {function}"
    ))
}

fn failed(reason: String) -> StopReason {
    RenderError::new(ErrorKind::Execution, reason).into()
}
