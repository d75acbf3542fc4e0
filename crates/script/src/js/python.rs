//! Python functions: `[python] def f(a, b): …`, run by `python3` in a child process.
//!
//! The process has the rights of its user, so it is started only with the `run` permission. Each
//! run has its own process, which is killed on drop or when a call takes too long.

use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use quillet_core::lock::lock;
use quillet_core::{Map, Value, ValueList, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use super::error::{Code, CodePosition, JsError, JsErrorKind, StackFrame};
use super::id::FunctionId;
use super::signature::Parameter;

/// Maximum size of an answer in bytes.
const LARGEST: u64 = 64 << 20;

/// Environment variables that are needed to find and start the interpreter.
const NEEDED: [&str; 4] = ["HOME", "LANG", "PATH", "SystemRoot"];

/// The Python interpreter of one run. The first call starts the interpreter.
#[derive(Debug)]
pub struct Python {
    granted: bool,
    time: Duration,
    next: AtomicU64,
    defined: Mutex<Vec<PythonDefinition>>,
    process: tokio::sync::Mutex<Option<Interpreter>>,
}

#[derive(Clone, Debug)]
struct PythonDefinition {
    id: u64,
    name: String,
    code: String,
    file: String,
}

/// A defined Python function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PythonFunction {
    /// The function id, which calls use.
    pub id: FunctionId,
    /// Its name.
    pub name: String,
    /// The parameters, which determine the order of named arguments.
    pub parameters: Vec<Parameter>,
}

/// The result of a call.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PythonResult {
    /// The returned value; Python's `None` is null.
    pub value: Value,
    /// The printed output.
    pub printed: String,
}

#[derive(Debug)]
struct Interpreter {
    // Dropping the child kills the process.
    _child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    known: usize,
}

impl Python {
    /// Creates the Python interpreter of one run. `granted` is `grants.run`; `time` limits each
    /// call.
    #[must_use]
    pub fn new(granted: bool, time: Duration) -> Self {
        Python {
            granted,
            time,
            next: AtomicU64::new(1),
            defined: Mutex::default(),
            process: tokio::sync::Mutex::default(),
        }
    }

    fn defined(&self) -> MutexGuard<'_, Vec<PythonDefinition>> {
        lock(&self.defined)
    }

    /// Defines a function from code without its language prefix. `file` is the script; functions of
    /// the same script can call each other.
    ///
    /// # Errors
    /// Kind `Denied` names the missing permission. Returns an error of kind `Syntax` if the code
    /// does not start with `def name(…)`.
    pub fn define(&self, code: &str, file: &str) -> Result<PythonFunction, JsError> {
        if !self.granted {
            return Err(JsError::new(
                JsErrorKind::Denied,
                "functions in Python need a permission: run (starting python3)",
            ));
        }
        let (name, parameters) = head(code).ok_or_else(|| {
            JsError::new(
                JsErrorKind::Syntax,
                "invalid Python function: expected `def name(parameters):` at its start",
            )
        })?;
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        self.defined().push(PythonDefinition {
            id,
            name: name.clone(),
            code: code.to_owned(),
            file: file.to_owned(),
        });
        Ok(PythonFunction {
            id: FunctionId(id),
            name,
            parameters,
        })
    }

    /// Calls a function. Calls of one run are executed one at a time.
    ///
    /// # Errors
    /// Kind `Thrown` is an exception with its line. Other kinds are `Syntax`, `Time`, and `Killed`
    /// if `python3` is missing or has exited.
    pub async fn call(
        &self,
        function: FunctionId,
        arguments: &[Option<Value>],
    ) -> Result<PythonResult, JsError> {
        let mut process = self.process.lock().await;
        // The process is taken out during the call, so that it ends if the call fails or is
        // cancelled.
        let mut running = match process.take() {
            Some(running) => running,
            None => Interpreter::start()?,
        };
        let calls = self.calls(&mut running, function, arguments);
        let Ok(answer) = tokio::time::timeout(self.time, calls).await else {
            let seconds = self.time.as_secs_f64();
            return Err(JsError::new(
                JsErrorKind::Time,
                format!("Python exceeded its time limit of {seconds} s (js_time)"),
            ));
        };
        let answer = answer?;
        *process = Some(running);
        result(&answer, function)
    }

    /// Sends new definitions to the process, then makes the call.
    async fn calls(
        &self,
        running: &mut Interpreter,
        function: FunctionId,
        arguments: &[Option<Value>],
    ) -> Result<Value, JsError> {
        let new: Vec<PythonDefinition> =
            self.defined().iter().skip(running.known).cloned().collect();
        running.known += new.len();
        for definition in new {
            let answer = running.ask(&definition.request()).await?;
            if definition.id == function.0 && answer.get_path(&["error"]).is_some() {
                return Ok(answer);
            }
        }
        let arguments = arguments
            .iter()
            .map(|argument| argument.clone().unwrap_or_default());
        let request = [
            ("id", Value::from(function.0.cast_signed())),
            ("arguments", Value::List(ValueList::from_iter(arguments))),
        ];
        running.ask(&Value::Map(Map::from_iter(request))).await
    }
}

impl PythonDefinition {
    fn request(&self) -> Value {
        let request = [
            ("id", Value::from(self.id.cast_signed())),
            ("name", Value::from(&*self.name)),
            ("code", Value::from(&*self.code)),
            ("file", Value::from(&*self.file)),
        ];
        Value::Map(Map::from_iter(request))
    }
}

impl Interpreter {
    fn start() -> Result<Self, JsError> {
        let mut command = Command::new("python3");
        command
            .args(["-I", "-u", "-c", include_str!("python.py")])
            .env_clear();
        command.envs(
            NEEDED
                .iter()
                .filter_map(|name| Some((name, std::env::var_os(name)?))),
        );
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true);
        let mut child = command.spawn().map_err(|error| {
            JsError::new(
                JsErrorKind::Killed,
                format!("cannot start python3: {error}"),
            )
        })?;
        let ends = child.stdin.take().zip(child.stdout.take());
        let (input, output) = ends.ok_or_else(gone)?;
        Ok(Interpreter {
            _child: child,
            input,
            output: BufReader::new(output),
            known: 0,
        })
    }

    async fn ask(&mut self, request: &Value) -> Result<Value, JsError> {
        let line = json::to_string(request) + "\n";
        self.input
            .write_all(line.as_bytes())
            .await
            .map_err(|_| gone())?;
        let mut answer = Vec::new();
        let mut output = (&mut self.output).take(LARGEST);
        output
            .read_until(b'\n', &mut answer)
            .await
            .map_err(|_| gone())?;
        if !answer.ends_with(b"\n") {
            return Err(gone());
        }
        let answer = String::from_utf8_lossy(&answer);
        json::parse(&answer).map_err(|error| {
            JsError::new(
                JsErrorKind::Data,
                format!(
                    "invalid answer of python3: \
            {error}"
                ),
            )
        })
    }
}

fn gone() -> JsError {
    JsError::new(
        JsErrorKind::Killed,
        "python3 exited before it answered, or its answer exceeds 64 MiB",
    )
}

fn result(answer: &Value, function: FunctionId) -> Result<PythonResult, JsError> {
    let text = |key: &str| {
        answer
            .get_path(&[key])
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    if answer.get_path(&["error"]).is_none() {
        return Ok(PythonResult {
            value: answer.get_path(&["value"]).cloned().unwrap_or_default(),
            printed: text("printed").to_owned(),
        });
    }
    let is_syntax = answer.get_path(&["syntax"]) == Some(&Value::Bool(true));
    let kind = if is_syntax {
        JsErrorKind::Syntax
    } else {
        JsErrorKind::Thrown
    };
    let mut error = JsError::new(kind, text("error"));
    if let Some(line) = number(answer.get_path(&["line"])) {
        let column = number(answer.get_path(&["column"])).unwrap_or(1);
        error.stack.push(StackFrame {
            function: String::new(),
            code: Code::Function(function),
            place: CodePosition { line, column },
        });
    }
    Err(error)
}

fn number(value: Option<&Value>) -> Option<u32> {
    match value {
        Some(Value::Int(number)) => u32::try_from(*number).ok(),
        _ => None,
    }
}

/// Parses the name and the parameters of `def name(a, b: int = 1, *rest):`.
fn head(code: &str) -> Option<(String, Vec<Parameter>)> {
    let start = code
        .lines()
        .find(|line| line.starts_with("def ") || line.starts_with("async def "))?;
    let at = code.find(start)?;
    let rest = code
        .get(at..)?
        .trim_start_matches("async ")
        .strip_prefix("def ")?;
    let (name, rest) = rest.split_once('(')?;
    let name = name.trim();
    if name.is_empty() || !name.chars().all(|c| c.is_alphanumeric() || c == '_') {
        return None;
    }
    let parts = parts(rest)?;
    let parameters = parts
        .iter()
        .map(|part| part.trim())
        .filter(|part| !matches!(*part, "" | "*" | "/"));
    Some((name.to_owned(), parameters.map(parameter).collect()))
}

/// Splits a parameter list at its commas.
fn parts(text: &str) -> Option<Vec<&str>> {
    let mut parts = Vec::new();
    let (mut depth, mut start, mut quote) = (0_u32, 0, None);
    for (at, char) in text.char_indices() {
        match char {
            _ if quote.is_some() => quote = quote.filter(|quote| *quote != char),
            '"' | '\'' => quote = Some(char),
            '(' | '[' | '{' => depth += 1,
            ')' if depth == 0 => {
                parts.extend(text.get(start..at));
                return Some(parts);
            }
            ')' | ']' | '}' => depth = depth.checked_sub(1)?,
            ',' if depth == 0 => {
                parts.extend(text.get(start..at));
                start = at + 1;
            }
            _ => {}
        }
    }
    None
}

fn parameter(part: &str) -> Parameter {
    let end = part.find([':', '=']).unwrap_or(part.len());
    let name = part.get(..end).unwrap_or_default().trim();
    Parameter {
        name: name.trim_start_matches('*').to_owned(),
        rest: name.starts_with('*'),
        optional: part.contains('='),
        ..Parameter::default()
    }
}

#[cfg(test)]
mod tests {
    use super::head;

    #[test]
    fn heads_of_functions() {
        let cases = [
            (
                "def func1(arg1, arg2):\n  return arg1 + arg2",
                Some(("func1", "arg1 arg2")),
            ),
            (
                "import os\nasync def f(a: int = (1, 2), *rest, b='),', **more):\n  pass",
                Some(("f", "a? *rest b? *more")),
            ),
            ("def f(\n  a,\n  /, *, b,\n):\n  pass", Some(("f", "a b"))),
            ("def f(a", None),
            ("f(a):", None),
            ("def (a):", None),
            ("def f(a]):", None),
        ];
        for (code, expected) in cases {
            let found = head(code).map(|(name, parameters)| {
                let shown = parameters.iter().map(|parameter| {
                    let star = if parameter.rest { "*" } else { "" };
                    let optional = if parameter.optional { "?" } else { "" };
                    format!("{star}{}{optional}", parameter.name)
                });
                (name, shown.collect::<Vec<_>>().join(" "))
            });
            let expected =
                expected.map(|(name, parameters)| (name.to_owned(), parameters.to_owned()));
            assert_eq!(found, expected, "{code}");
        }
    }
}
