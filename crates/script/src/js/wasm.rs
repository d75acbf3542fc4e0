//! WebAssembly modules of scripts. They have numeric parameters and results and no imports from the
//! host.

use std::sync::{Arc, Mutex};

use quillet_core::lock::lock;
use quillet_core::{Value, ValueList};
use wasmi::{
    Config, Engine, ExternType, F32, F64, Instance, Linker, Module, Store, StoreLimits,
    StoreLimitsBuilder, TrapCode, Val, ValType,
};

use super::error::{JsError, JsErrorKind};
use super::{WasmBounds, WasmExport};
use crate::expression::from_number;

/// A loaded WebAssembly module. The module's memory persists between calls. Calls run one at a
/// time.
#[derive(Debug)]
pub struct Wasm {
    exports: Vec<WasmExport>,
    fuel: u64,
    running: Mutex<WasmInstance>,
}

#[derive(Debug)]
struct WasmInstance {
    store: Store<StoreLimits>,
    instance: Instance,
}

impl Wasm {
    /// Loads a module and runs its start function.
    ///
    /// # Errors
    /// Kind `Module` if the module is invalid or has imports; `Memory`, `Time` or `Thrown` if its
    /// start function fails.
    pub fn load(bytes: &[u8], bounds: &WasmBounds) -> Result<Self, JsError> {
        if bytes.len() > bounds.bytes {
            return Err(refused(format!(
                "the wasm module exceeds {} bytes",
                bounds.bytes
            )));
        }
        let mut config = Config::default();
        config.consume_fuel(true).ignore_custom_sections(true);
        let engine = Engine::new(&config);
        let module = Module::new(&engine, bytes)
            .map_err(|error| refused(format!("invalid wasm module: {error}")))?;
        if let Some(import) = module.imports().next() {
            return Err(refused(format!(
                "the wasm module imports `{}.{}`: modules cannot import from their host",
                import.module(),
                import.name()
            )));
        }
        let exports = module
            .exports()
            .filter_map(|export| described(export.name(), export.ty()))
            .collect();
        let mut store = Store::new(&engine, limits(bounds));
        store.limiter(|limits| limits);
        store
            .set_fuel(bounds.fuel)
            .map_err(|error| failed(&error))?;
        let instance = Linker::new(&engine).instantiate_and_start(&mut store, &module);
        let instance = instance.map_err(|error| failed(&error))?;
        Ok(Wasm {
            exports,
            fuel: bounds.fuel,
            running: Mutex::new(WasmInstance { store, instance }),
        })
    }

    /// Returns the exported functions, in order.
    #[must_use]
    pub fn exports(&self) -> &[WasmExport] {
        &self.exports
    }

    /// Calls an exported function and passes numbers as arguments. As in WebAssembly's JavaScript
    /// API, arguments for integer parameters are truncated to integers and wrap around. Missing
    /// arguments are 0.
    ///
    /// # Errors
    /// Kind `Module` if there is no such export; `Thrown` for an argument that is not a number, or
    /// a trap; `Time` if the fuel runs out.
    pub async fn call(
        self: &Arc<Self>,
        name: &str,
        arguments: &[Option<Value>],
    ) -> Result<Option<Value>, JsError> {
        let export = self.exports.iter().find(|export| export.name == name);
        let export = export
            .ok_or_else(|| refused(format!("unknown function `{name}` of the wasm module")))?;
        let given = (0..export.parameters.len()).map(|index| {
            let value = arguments.get(index).and_then(Option::as_ref);
            argument(
                name,
                index,
                export.parameters.get(index).copied().unwrap_or_default(),
                value,
            )
        });
        let given: Vec<Val> = given.collect::<Result<_, _>>()?;
        let (module, name) = (Arc::clone(self), name.to_owned());
        let run = tokio::task::spawn_blocking(move || module.run(&name, &given));
        run.await.unwrap_or_else(|_| {
            Err(JsError::new(
                JsErrorKind::Killed,
                "the wasm module was stopped",
            ))
        })
    }

    fn run(&self, name: &str, arguments: &[Val]) -> Result<Option<Value>, JsError> {
        let mut running = lock(&self.running);
        let WasmInstance { store, instance } = &mut *running;
        store.set_fuel(self.fuel).map_err(|error| failed(&error))?;
        let function = instance.get_func(&*store, name);
        let function = function
            .ok_or_else(|| refused(format!("unknown function `{name}` of the wasm module")))?;
        let mut results: Vec<Val> = function
            .ty(&*store)
            .results()
            .iter()
            .map(|kind| Val::default_for_ty(*kind))
            .collect();
        function
            .call(store, arguments, &mut results)
            .map_err(|error| failed(&error))?;
        let values: Vec<Value> = results.iter().map(value).collect();
        Ok(match values.len() {
            0 | 1 => values.into_iter().next(),
            _ => Some(Value::List(ValueList::new(values))),
        })
    }
}

fn limits(bounds: &WasmBounds) -> StoreLimits {
    StoreLimitsBuilder::new()
        .memory_size(bounds.memory)
        .table_elements(100_000)
        .instances(1)
        .memories(8)
        .tables(8)
        .build()
}

fn refused(message: String) -> JsError {
    JsError::new(JsErrorKind::Module, message)
}

/// Converts a trap or a failed start to an error.
fn failed(error: &wasmi::Error) -> JsError {
    match error.as_trap_code() {
        Some(TrapCode::OutOfFuel) => JsError::new(
            JsErrorKind::Time,
            "the wasm module exceeded its instruction limit (fuel)",
        ),
        Some(TrapCode::StackOverflow) => JsError::new(
            JsErrorKind::Stack,
            "the wasm module exceeded its call depth",
        ),
        Some(_) => JsError::thrown(format!("the wasm module trapped: {error}")),
        None => JsError::new(
            JsErrorKind::Memory,
            format!("cannot start the wasm module: {error}"),
        ),
    }
}

/// Returns an export if it is a function with only numeric parameters and results. Scripts cannot
/// call others.
fn described(name: &str, kind: &ExternType) -> Option<WasmExport> {
    let ExternType::Func(function) = kind else {
        return None;
    };
    let kinds = |kinds: &[ValType]| kinds.iter().map(kind_of).collect::<Option<Vec<_>>>();
    Some(WasmExport {
        name: name.to_owned(),
        parameters: kinds(function.params())?,
        results: kinds(function.results())?,
    })
}

fn kind_of(kind: &ValType) -> Option<&'static str> {
    match kind {
        ValType::I32 => Some("i32"),
        ValType::I64 => Some("i64"),
        ValType::F32 => Some("f32"),
        ValType::F64 => Some("f64"),
        _ => None,
    }
}

/// Converts an argument to the type of a parameter.
#[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss)] // As WebAssembly specifies.
fn argument(name: &str, index: usize, kind: &str, value: Option<&Value>) -> Result<Val, JsError> {
    let (whole, number) = match value {
        None => (0, 0.0),
        Some(Value::Int(whole)) => (*whole, *whole as f64),
        Some(Value::Float(number)) => (wrapped(*number), *number),
        Some(other) => {
            let (place, kind_of) = (index + 1, other.kind());
            return Err(JsError::thrown(format!(
                "argument {place} of wasm function `{name}` must be {kind_of}, not {kind}: wasm \
                functions accept only numbers"
            )));
        }
    };
    Ok(match kind {
        "i32" => Val::I32(whole as i32),
        "i64" => Val::I64(whole),
        "f32" => Val::F32(F32::from(number as f32)),
        _ => Val::F64(F64::from(number)),
    })
}

/// Returns the integer part of a number modulo 2^64, or 0 for NaN.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // Reduced to the range above.
fn wrapped(number: f64) -> i64 {
    const RANGE: f64 = 18_446_744_073_709_551_616.0;
    if !number.is_finite() {
        return 0;
    }
    (number.trunc().rem_euclid(RANGE) as u64) as i64
}

fn value(result: &Val) -> Value {
    match result {
        Val::I32(number) => Value::Int(i64::from(*number)),
        Val::I64(number) => Value::Int(*number),
        Val::F32(number) => from_number(f64::from(f32::from(*number))),
        Val::F64(number) => from_number(f64::from(*number)),
        _ => Value::Null,
    }
}
