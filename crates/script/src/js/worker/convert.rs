//! Converts values between the run and JavaScript. A value that is not JSON is converted as by
//! `JSON.stringify`, except: a `Map` becomes an object, a `Set` or a typed array a list, a `RegExp`
//! its text, a `BigInt` an integer or, if it is too large, its digits. `NaN` stays a number.

use quillet_core::{Map, MapTable, Value, ValueList};
use rquickjs::{
    Array, BigInt, Coerced, Ctx, Error, Exception, FromJs, Function, Object, Value as Js,
};

use super::shell::WorkerShell;
use crate::expression::from_number;
use crate::js::DEEPEST;
use crate::js::id::FunctionId;
use crate::js::runtime::JsValueRef;

/// Maximum number of values in one conversion.
const MOST: usize = 4_000_000;

/// Error message for a cyclic value.
pub(super) const CYCLE: &str = "cannot return a value that contains itself from JavaScript";
const DEEP: &str = "cannot return a value nested deeper than 127 levels from JavaScript";
const LARGE: &str = "cannot return a value of this size from JavaScript";

/// Converts a value of the run to JavaScript.
pub(super) fn to_js<'js>(
    shell: &WorkerShell,
    ctx: &Ctx<'js>,
    value: &Value,
) -> rquickjs::Result<Js<'js>> {
    if value.depth() > DEEPEST {
        return Err(Exception::throw_range(
            ctx,
            "cannot pass a value nested deeper than 127 levels to JavaScript",
        ));
    }
    Ok(match value {
        Value::Null => Js::new_null(ctx.clone()),
        Value::Bool(value) => Js::new_bool(ctx.clone(), *value),
        Value::Int(value) => int(ctx, *value),
        Value::Float(value) => Js::new_number(ctx.clone(), *value),
        Value::Str(text) => rquickjs::String::from_str(ctx.clone(), text)?.into_value(),
        Value::List(list) => {
            let array = Array::new(ctx.clone())?;
            for (index, item) in list.iter().enumerate() {
                array.set(index, to_js(shell, ctx, item)?)?;
            }
            array.into_value()
        }
        Value::Map(map) => map_to_js(shell, ctx, map)?,
    })
}

fn int<'js>(ctx: &Ctx<'js>, value: i64) -> Js<'js> {
    match i32::try_from(value) {
        Ok(small) => Js::new_int(ctx.clone(), small),
        #[allow(clippy::cast_precision_loss)] // JavaScript loses precision too.
        Err(_) => Js::new_float(ctx.clone(), value as f64),
    }
}

fn map_to_js<'js>(shell: &WorkerShell, ctx: &Ctx<'js>, map: &Map) -> rquickjs::Result<Js<'js>> {
    let object = Object::new(ctx.clone())?;
    for (key, item) in map {
        let item = to_js(shell, ctx, item)?;
        if &**key == "__proto__" {
            // Assigning `__proto__` as a normal property would set the object's prototype.
            let define: Function = shell.api(ctx, "define")?;
            define.call::<_, ()>((object.clone(), &**key, item))?;
        } else {
            object.set(&**key, item)?;
        }
    }
    Ok(object.into_value())
}

/// Converts a passed value to JavaScript.
pub(super) fn passed_to_js<'js>(
    shell: &WorkerShell,
    ctx: &Ctx<'js>,
    passed: &JsValueRef,
) -> rquickjs::Result<Js<'js>> {
    match passed {
        JsValueRef::Undefined => Ok(Js::new_undefined(ctx.clone())),
        JsValueRef::Value(value) => to_js(shell, ctx, value),
        JsValueRef::Function(FunctionId(id)) => shell.api(ctx, "use")?.call((*id,)),
    }
}

/// Converts a JavaScript value for the run.
pub(super) fn from_js<'js>(shell: &WorkerShell, value: &Js<'js>) -> rquickjs::Result<JsValueRef> {
    if let Some(function) = value.as_function() {
        let hold = shell.api(value.ctx(), "hold")?;
        return Ok(JsValueRef::Function(FunctionId(
            hold.call((function.clone(),))?,
        )));
    }
    let mut walk = ValueWalk {
        shell,
        left: MOST,
        open: Vec::new(),
    };
    Ok(walk.value(value)?.into())
}

struct ValueWalk<'a, 'js> {
    shell: &'a WorkerShell,
    left: usize,
    open: Vec<Js<'js>>,
}

impl<'js> ValueWalk<'_, 'js> {
    /// Returns `None` for values that JSON does not have: `undefined`, functions, symbols.
    fn value(&mut self, value: &Js<'js>) -> rquickjs::Result<Option<Value>> {
        self.left = self.left.saturating_sub(1);
        if self.left == 0 || (self.left.is_multiple_of(1024) && self.shell.clock.check()) {
            return Err(Exception::throw_range(value.ctx(), LARGE));
        }
        Ok(Some(if value.is_null() {
            Value::Null
        } else if let Some(value) = value.as_bool() {
            Value::Bool(value)
        } else if let Some(value) = value.as_int() {
            Value::Int(i64::from(value))
        } else if let Some(value) = value.as_float() {
            from_number(value)
        } else if let Some(text) = value.as_string() {
            self.text(text)?
        } else if let Some(value) = value.as_big_int() {
            big(value.clone())?
        } else if let Some(object) = value.as_object() {
            return self.object(object);
        } else {
            return Ok(None);
        }))
    }

    fn text(&mut self, text: &rquickjs::String<'js>) -> rquickjs::Result<Value> {
        let ctx = text.ctx().clone();
        let text = string(self.shell, text)?;
        if text.len() > self.shell.bounds.memory {
            return Err(Exception::throw_range(&ctx, LARGE));
        }
        Ok(Value::from(text))
    }

    fn object(&mut self, object: &Object<'js>) -> rquickjs::Result<Option<Value>> {
        if object.is_function() {
            return Ok(None);
        }
        if self.open.contains(object.as_value()) {
            return Err(Exception::throw_type(object.ctx(), CYCLE));
        }
        if self.open.len() >= DEEPEST as usize {
            return Err(Exception::throw_range(object.ctx(), DEEP));
        }
        self.open.push(object.as_value().clone());
        let value = self.container(object);
        self.open.pop();
        value
    }

    fn container(&mut self, object: &Object<'js>) -> rquickjs::Result<Option<Value>> {
        if let Some(array) = object.as_array() {
            return self.list(array).map(Some);
        }
        if self.is_plain(object)? {
            return self.map(object).map(Some);
        }
        let plain: Js = self
            .shell
            .api(object.ctx(), "plain")?
            .call((object.clone(),))?;
        if plain == *object.as_value() {
            return self.map(object).map(Some);
        }
        self.value(&plain)
    }

    /// Returns whether an object is a plain one (`{}`), without a `toJSON` method.
    fn is_plain(&self, object: &Object<'js>) -> rquickjs::Result<bool> {
        let is_bare = match object.get_prototype() {
            None => true,
            Some(prototype) => prototype.get_prototype().is_none() && !object.is_proxy(),
        };
        Ok(is_bare && !object.contains_key("toJSON")?)
    }

    fn list(&mut self, array: &Array<'js>) -> rquickjs::Result<Value> {
        if array.len() > self.left {
            return Err(Exception::throw_range(array.ctx(), LARGE));
        }
        let mut items = Vec::new();
        for index in 0..array.len() {
            let item: Js = array.get(index)?;
            items.push(self.value(&item)?.unwrap_or_default());
        }
        Ok(Value::List(ValueList::new(items)))
    }

    fn map(&mut self, object: &Object<'js>) -> rquickjs::Result<Value> {
        let mut table = MapTable::default();
        for key in object.keys::<rquickjs::String>() {
            let key = key?;
            let item: Js = object.get(key.clone())?;
            if let Some(item) = self.value(&item)? {
                table.insert(string(self.shell, &key)?.into(), item);
            }
        }
        Ok(Value::Map(Map::new(table)))
    }
}

fn big(value: BigInt<'_>) -> rquickjs::Result<Value> {
    let digits: Coerced<String> = Coerced::from_js(&value.ctx().clone(), value.into_value())?;
    Ok(match digits.0.parse() {
        Ok(value) => Value::Int(value),
        Err(_) => Value::from(digits.0),
    })
}

/// Converts a string. An unpaired surrogate becomes U+FFFD.
pub(super) fn string(shell: &WorkerShell, text: &rquickjs::String<'_>) -> rquickjs::Result<String> {
    match text.to_string() {
        Err(Error::Utf8(_)) => {
            let whole: rquickjs::String = shell.api(text.ctx(), "whole")?.call((text.clone(),))?;
            whole.to_string()
        }
        result => result,
    }
}
