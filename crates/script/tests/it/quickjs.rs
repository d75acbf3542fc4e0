//! The JavaScript engine that native expressions must agree with.

use std::sync::Arc;

use quillet_core::{Map, MapTable, Value};
use quillet_script::expression::from_number;
use rquickjs::{Context, Ctx, Runtime};

/// Evaluates an expression over global variables. Returns an error if it throws. A function is
/// represented by its source text.
pub(crate) fn evaluate(text: &str, scope: &Map) -> Result<Option<Value>, String> {
    let runtime = Runtime::new().unwrap();
    Engine::new(&runtime, scope).evaluate(text)
}

/// An engine with global variables.
pub(crate) struct Engine(Context);

impl Engine {
    pub(crate) fn new(runtime: &Runtime, scope: &Map) -> Self {
        let engine = Engine(Context::full(runtime).unwrap());
        engine.set(scope);
        engine
    }

    /// Resets the variables, because an expression such as `--i` changes them.
    pub(crate) fn set(&self, scope: &Map) {
        self.0.with(|ctx| {
            for (name, value) in scope {
                ctx.globals().set(&**name, to_js(&ctx, value)).unwrap();
            }
        });
    }

    pub(crate) fn evaluate(&self, text: &str) -> Result<Option<Value>, String> {
        self.0.with(|ctx| {
            let result: Result<rquickjs::Value<'_>, _> = ctx.eval(format!("({text}\n)"));
            match result {
                Ok(value) => Ok(from_js(&ctx, &value)),
                Err(error) => Err(format!("{error}: {:?}", ctx.catch())),
            }
        })
    }
}

fn to_js<'js>(ctx: &Ctx<'js>, value: &Value) -> rquickjs::Value<'js> {
    match value {
        Value::Null => rquickjs::Value::new_null(ctx.clone()),
        Value::Bool(value) => rquickjs::Value::new_bool(ctx.clone(), *value),
        Value::Int(number) => rquickjs::Value::new_number(ctx.clone(), *number as f64),
        Value::Float(number) => rquickjs::Value::new_number(ctx.clone(), *number),
        Value::Str(text) => rquickjs::String::from_str(ctx.clone(), text)
            .unwrap()
            .into_value(),
        Value::List(list) => {
            let array = rquickjs::Array::new(ctx.clone()).unwrap();
            for (index, item) in list.iter().enumerate() {
                array.set(index, to_js(ctx, item)).unwrap();
            }
            array.into_value()
        }
        Value::Map(map) => {
            let object = rquickjs::Object::new(ctx.clone()).unwrap();
            for (key, item) in map {
                object.set(&**key, to_js(ctx, item)).unwrap();
            }
            object.into_value()
        }
    }
}

fn from_js<'js>(ctx: &Ctx<'js>, value: &rquickjs::Value<'js>) -> Option<Value> {
    if value.is_function() {
        let text: String = ctx
            .globals()
            .get::<_, rquickjs::Function<'_>>("String")
            .unwrap()
            .call((value.clone(),))
            .unwrap();
        return Some(Value::from(text));
    }
    if let Some(number) = value.as_number() {
        return Some(from_number(number));
    }
    if let Some(text) = value.as_string() {
        // UTF-8 cannot represent an unpaired surrogate, so no value of this crate equals it.
        let text = text.to_string().unwrap_or_else(|_| "\u{fffd}".to_owned());
        return Some(Value::from(text));
    }
    if let Some(array) = value.as_array() {
        let items = array.iter::<rquickjs::Value<'_>>();
        return Some(Value::from(
            items
                .map(|item| from_js(ctx, &item.unwrap()).unwrap_or_default())
                .collect::<Vec<_>>(),
        ));
    }
    if let Some(object) = value.as_object() {
        let mut table = MapTable::default();
        for entry in object.props::<String, rquickjs::Value<'_>>() {
            let (key, item) = entry.unwrap();
            if let Some(item) = from_js(ctx, &item) {
                table.insert(Arc::from(key), item);
            }
        }
        return Some(Value::Map(Map::new(table)));
    }
    match value.as_bool() {
        Some(value) => Some(Value::Bool(value)),
        None => value.is_null().then_some(Value::Null),
    }
}
