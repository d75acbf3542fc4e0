//! What templates of the fuzz targets find: variables, functions, a runtime.

use std::cell::RefCell;
use std::sync::LazyLock;

use quillet_core::{BoxFuture, Map, Value, json};
use quillet_template::{CallArguments, CallError, FunctionHost, References};

/// Names that the vectors of `conformance/` and the corpora made of them use, of every kind.
pub(crate) static VARIABLES: LazyLock<Map> = LazyLock::new(|| {
    let text = r#"{
        "x": "text", "y": "<b>&amp;\"'{{x}}{x}</b>", "a": {"b": {"c": 1}, "k": "v"}, "b": true,
        "n": -7, "i": 42, "f": 2.5, "big": 1e300, "z": null, "e": "", "l": [1, "two", [3], {"k": 4}],
        "items": [{"name": "one", "n": 1}, {"name": "two", "n": null}], "m": {"one": 1, "two": 2},
        "markup": "<message role=\"system\">x</message>", "name": "Ann", "user": {"name": "Bob"},
        "messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}],
        "unicode": "é世😀\u0000\u2028", "input": "i", "variable1": "v1", "list": [1, 2, 3]
    }"#;
    let variables = json::parse(text).expect("the variables are JSON");
    variables
        .as_map()
        .cloned()
        .expect("the variables are an object")
});

/// Those variables that the references name, and those that the functions which
/// were called take by the names of their parameters.
pub(crate) fn named(references: &References, calls: &[(String, CallArguments)]) -> Map {
    let roots = references
        .variables
        .iter()
        .filter_map(|one| one.path.first());
    let taken = calls.iter().filter_map(|(name, _)| World.parameters(name));
    let taken: Vec<String> = taken.flatten().collect();
    let wanted: Vec<&str> = roots.chain(&taken).map(String::as_str).collect();
    let known = VARIABLES.iter().filter(|(key, _)| {
        let same = |name: &&str| name.eq_ignore_ascii_case(key);
        wanted.iter().any(same)
    });
    known
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

/// Functions that are there at render time.
pub(crate) static FUNCTIONS: World = World;

pub(crate) const NAMES: [&str; 10] = [
    "f", "g", "bad", "p.bar", "p.cat", "p-bar", "p-cat", "p_bar", "p_cat", "tool",
];

thread_local! {
    static CALLS: RefCell<Vec<(String, CallArguments)>> = const { RefCell::new(Vec::new()) };
    static RUNTIME: tokio::runtime::Runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime starts");
}

/// The calls since they were last taken.
pub(crate) fn take_calls() -> Vec<(String, CallArguments)> {
    CALLS.take()
}

pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    RUNTIME.with(|runtime| runtime.block_on(future))
}

/// `g` gives data, `bad` fails, the others give back what they got.
pub(crate) struct World;

impl FunctionHost for World {
    fn contains(&self, name: &str) -> bool {
        NAMES.contains(&name)
    }

    fn names(&self) -> Vec<&str> {
        NAMES.to_vec()
    }

    fn idempotent(&self, name: &str) -> bool {
        name == "g"
    }

    fn parameters(&self, name: &str) -> Option<Vec<String>> {
        match name {
            "tool" => None,
            "g" => Some(Vec::new()),
            _ => Some(vec!["x".to_owned(), "n".to_owned()]),
        }
    }

    fn call<'a>(
        &'a self,
        name: &'a str,
        arguments: CallArguments,
    ) -> BoxFuture<'a, Result<Value, CallError>> {
        CALLS.with_borrow_mut(|calls| calls.push((name.to_owned(), arguments.clone())));
        let result = match name {
            "bad" => Err(CallError::new("it failed")),
            "g" => Ok(VARIABLES.get("items").cloned().unwrap_or_default()),
            _ => Ok(echo(arguments)),
        };
        Box::pin(async move { result })
    }
}

fn echo(arguments: CallArguments) -> Value {
    let first = arguments.positional.into_iter().next();
    first.unwrap_or(Value::Map(arguments.named))
}
