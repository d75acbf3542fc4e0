//! The functions that vectors declare: `const`, `echo`, `template` and `fail`.

use quillet_core::{BoxFuture, Map, Value, json};
use quillet_template::{CallArguments, CallError, FunctionHost};

/// Functions that a file declares, with the variables of one vector.
#[derive(Clone, Debug)]
pub(super) struct Declared {
    functions: Map,
    variables: Map,
    /// Printed form of null.
    null: &'static str,
}

impl Declared {
    pub(super) fn new(functions: Map, variables: Map, null: &'static str) -> Self {
        Declared {
            functions,
            variables,
            null,
        }
    }

    fn parameters_of(&self, name: &str) -> Vec<(String, Option<Value>)> {
        let declared = self
            .functions
            .get(name)
            .and_then(|f| f.get_path(&["params"]));
        let Some(Value::List(parameters)) = declared else {
            return Vec::new();
        };
        let name = |p: &Value| {
            p.get_path(&["name"])
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned()
        };
        let one = |p: &Value| (name(p), p.get_path(&["default"]).cloned());
        parameters.iter().map(one).collect()
    }

    /// Binds each parameter to an argument, to the variable with its name, or to its default.
    fn bind(
        &self,
        name: &str,
        arguments: &CallArguments,
    ) -> Result<Vec<(String, Value)>, CallError> {
        let mut bound = Vec::new();
        for (index, (parameter, default)) in self.parameters_of(name).into_iter().enumerate() {
            let given = arguments.named.get(&parameter);
            let given = given.or_else(|| arguments.positional.get(index));
            let value = given.or_else(|| self.variables.get(&parameter)).cloned();
            let Some(value) = value.or(default) else {
                return Err(CallError::new(format!("missing argument {parameter}")));
            };
            bound.push((parameter, value));
        }
        Ok(bound)
    }

    fn answer(&self, name: &str, arguments: &CallArguments) -> Result<Value, CallError> {
        let bound = self.bind(name, arguments)?;
        let body = self.functions.get(name).and_then(|f| f.get_path(&["body"]));
        let field = |key: &str| {
            body.and_then(|body| body.get_path(&[key]))
                .cloned()
                .unwrap_or_default()
        };
        let text = |key: &str| field(key).as_str().unwrap_or_default().to_owned();
        match text("op").as_str() {
            "const" => Ok(field("value")),
            "echo" => Ok(bound
                .into_iter()
                .next()
                .map(|(_, value)| value)
                .unwrap_or_default()),
            "template" => {
                let fill = |text: String, (name, value): &(String, Value)| {
                    text.replace(&format!("{{{name}}}"), &self.printed(value))
                };
                Ok(bound.iter().fold(text("text"), fill).into())
            }
            _ => Err(CallError::new(text("message"))),
        }
    }

    fn printed(&self, value: &Value) -> String {
        match value {
            Value::Null => self.null.to_owned(),
            Value::Str(text) => text.to_string(),
            other => json::to_string(other),
        }
    }
}

impl FunctionHost for Declared {
    fn contains(&self, name: &str) -> bool {
        self.functions.get(name).is_some()
    }

    fn names(&self) -> Vec<&str> {
        self.functions.table().keys().map(AsRef::as_ref).collect()
    }

    fn parameters(&self, name: &str) -> Option<Vec<String>> {
        let parameters = self.parameters_of(name);
        Some(parameters.into_iter().map(|(name, _)| name).collect())
    }

    fn call<'a>(
        &'a self,
        name: &'a str,
        arguments: CallArguments,
    ) -> BoxFuture<'a, Result<Value, CallError>> {
        Box::pin(async move { self.answer(name, &arguments) })
    }
}
