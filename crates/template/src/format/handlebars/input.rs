//! Prepares variables that templates do not use unchanged. Trusted variables get marks for their
//! message structure. For Semantic Kernel's output, all other variables are encoded.

use quillet_core::{Map, Value, ValueList};

use super::HandlebarsTemplate;
use super::semantic_kernel::encode;
use crate::structure::Elements;
use crate::{Pass, StopReason};

/// Approximate size of one item in bytes.
const ITEM_BYTES: usize = 64;

/// Returns the variables as one object, in the form that the template sees.
pub(super) fn prepared(
    compiled: &HandlebarsTemplate,
    pass: &mut Pass<'_>,
) -> Result<Value, StopReason> {
    let variables = pass.variables();
    let mut table = variables.to_table();
    pass.charge(table.len().saturating_mul(ITEM_BYTES))?;
    for (name, value) in &mut table {
        let trusted = compiled.trusted.iter().any(|known| **known == **name);
        if trusted && compiled.marks {
            if let Value::Str(text) = value {
                pass.charge(text.len())?;
                *value = Elements::default().mark(text).into_owned().into();
            }
        } else if !trusted && compiled.encoded {
            *value = encoded(value, pass)?;
        }
    }
    Ok(Value::Map(Map::new(table)))
}

/// Returns a value whose texts are HTML-encoded.
pub(super) fn encoded(value: &Value, pass: &mut Pass<'_>) -> Result<Value, StopReason> {
    pass.step()?;
    match value {
        Value::Str(text) => {
            // A reference has at most six bytes.
            pass.charge(text.len().saturating_mul(6))?;
            Ok(encoded_text(text).into())
        }
        Value::List(list) => {
            pass.charge(list.len().saturating_mul(ITEM_BYTES))?;
            let items: Result<ValueList, StopReason> =
                list.iter().map(|item| encoded(item, pass)).collect();
            Ok(Value::List(items?))
        }
        Value::Map(map) => {
            pass.charge(map.len().saturating_mul(ITEM_BYTES))?;
            let entry = |(key, value): (&std::sync::Arc<str>, &Value)| {
                Ok((key.clone(), encoded(value, pass)?))
            };
            let entries: Result<Map, StopReason> = map.iter().map(entry).collect();
            Ok(Value::Map(entries?))
        }
        scalar => Ok(scalar.clone()),
    }
}

fn encoded_text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match u8::try_from(c).ok().and_then(encode) {
            Some(reference) => out.push_str(reference),
            None => out.push(c),
        }
    }
    out
}
