//! Filters: the operators after `|`. Each filter charges before it builds a value, and counts each
//! visited item as a step.

mod list;
mod number;
mod text;

use super::call::EvaluatedArguments;
use super::eval::{Evaluator, fail};
use super::print::JsonStyle;
use super::value::Value;
use crate::StopReason;

type FilterFn =
    fn(&mut Evaluator<'_, '_>, &Value, &EvaluatedArguments) -> Result<Value, StopReason>;

pub(super) struct FilterEntry {
    pub(super) name: &'static str,
    /// Names of the parameters. `None` if the filter accepts any arguments.
    pub(super) parameters: Option<&'static [&'static str]>,
    pub(super) run: FilterFn,
}

impl std::fmt::Debug for FilterEntry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

const fn filter(
    name: &'static str,
    parameters: &'static [&'static str],
    run: FilterFn,
) -> FilterEntry {
    FilterEntry {
        name,
        parameters: Some(parameters),
        run,
    }
}

const fn variadic(name: &'static str, run: FilterFn) -> FilterEntry {
    FilterEntry {
        name,
        parameters: None,
        run,
    }
}

static FILTERS: &[FilterEntry] = &[
    filter("abs", &[], number::abs),
    variadic("attr", list::attr),
    filter("batch", &["linecount", "fill_with"], list::batch),
    filter("capitalize", &[], text::capitalize),
    filter("center", &["width"], text::center),
    filter("count", &[], list::length),
    filter("d", &["default_value", "boolean"], default),
    filter("default", &["default_value", "boolean"], default),
    filter(
        "dictsort",
        &["case_sensitive", "by", "reverse"],
        list::dictsort,
    ),
    filter("e", &[], text::escape),
    filter("escape", &[], text::escape),
    filter("filesizeformat", &["binary"], number::filesizeformat),
    filter("first", &[], list::first),
    filter("float", &["default"], number::float),
    filter("forceescape", &[], text::escape),
    variadic("format", |e, value, given| {
        let format = e.text(value)?;
        e.percent_given(&format, given)
    }),
    filter(
        "groupby",
        &["attribute", "default", "case_sensitive"],
        list::groupby,
    ),
    filter("indent", &["width", "first", "blank"], text::indent),
    filter("int", &["default", "base"], number::int),
    filter("items", &[], list::items),
    filter("join", &["d", "attribute"], list::join),
    filter("last", &[], list::last),
    filter("length", &[], list::length),
    filter("list", &[], list::list),
    filter("lower", &[], text::lower),
    variadic("map", list::map),
    filter("max", &["case_sensitive", "attribute"], list::max),
    filter("min", &["case_sensitive", "attribute"], list::min),
    filter("pprint", &[], |e, value, _| Ok(e.repr(value)?.into())),
    filter("random", &[], list::random),
    variadic("reject", list::reject),
    variadic("rejectattr", list::rejectattr),
    filter("replace", &["old", "new", "count"], text::replace),
    filter("reverse", &[], list::reverse),
    filter("round", &["precision", "method"], number::round),
    filter("safe", &[], |e, value, _| Ok(Value::Str(e.text(value)?))),
    variadic("select", list::select),
    variadic("selectattr", list::selectattr),
    filter("slice", &["slices", "fill_with"], list::slice),
    filter(
        "sort",
        &["reverse", "case_sensitive", "attribute"],
        list::sort,
    ),
    filter("string", &[], |e, value, _| Ok(Value::Str(e.text(value)?))),
    filter("striptags", &[], text::striptags),
    filter("sum", &["attribute", "start"], list::sum),
    filter("title", &[], text::title),
    variadic("tojson", tojson),
    filter("trim", &["chars"], text::trim),
    filter(
        "truncate",
        &["length", "killwords", "end", "leeway"],
        text::truncate,
    ),
    filter("unique", &["case_sensitive", "attribute"], list::unique),
    filter("upper", &[], text::upper),
    filter("urlencode", &[], text::urlencode),
    filter("wordcount", &[], text::wordcount),
    filter(
        "wordwrap",
        &[
            "width",
            "break_long_words",
            "wrapstring",
            "break_on_hyphens",
        ],
        text::wordwrap,
    ),
    filter("xmlattr", &["autospace"], text::xmlattr),
];

/// Returns the filter with this name.
pub(super) fn find(name: &str) -> Option<&'static FilterEntry> {
    FILTERS
        .binary_search_by(|filter| filter.name.cmp(name))
        .ok()
        .and_then(|at| FILTERS.get(at))
}

/// Yields the names of all filters.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    FILTERS.iter().map(|filter| filter.name)
}

fn default(
    _: &mut Evaluator<'_, '_>,
    value: &Value,
    given: &EvaluatedArguments,
) -> Result<Value, StopReason> {
    let absent = value.is_undefined() || (given.flag(1, "boolean", false) && !value.is_true());
    Ok(match (absent, given.get(0, "default_value")) {
        (false, _) => value.clone(),
        (true, Some(default)) => default.clone(),
        (true, None) => "".into(),
    })
}

/// Implements `tojson`. The version of transformers escapes nothing. jinja2's own version escapes
/// `<`, `>`, `&` and `'`, writes ASCII only, and sorts keys.
fn tojson(
    e: &mut Evaluator<'_, '_>,
    value: &Value,
    given: &EvaluatedArguments,
) -> Result<Value, StopReason> {
    let plain = !e.compiled.preset.is_hugging_face();
    let (names, indent_at): (&[&str], _) = if plain {
        (&["indent"], 0)
    } else {
        (&["ensure_ascii", "indent", "separators", "sort_keys"], 1)
    };
    given.check("tojson", names)?;
    let indent = indent(e, given.get(indent_at, "indent"))?;
    let mut style = JsonStyle {
        item: if indent.is_some() { "," } else { ", " }.to_owned(),
        colon: ": ".to_owned(),
        indent,
        sort_keys: plain || given.flag(3, "sort_keys", false),
        ascii: plain || given.flag(0, "ensure_ascii", false),
    };
    if let (false, Some(separators)) = (plain, given.get(2, "separators"))
        && !matches!(separators, Value::None)
    {
        let pair = <[Value; 2]>::try_from(e.items(separators)?);
        let [item, colon] = pair.map_err(|_| fail("separators must be a pair"))?;
        style.item = e.text(&item)?.to_string();
        style.colon = e.text(&colon)?.to_string();
    }
    let json = e.json(value, &style)?;
    if !plain {
        return Ok(json.into());
    }
    e.charge(json.len() * 2)?;
    Ok(json
        .replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
        .replace('\'', "\\u0027")
        .into())
}

/// Returns the indentation per level. The argument is a number of blanks or a text.
fn indent(e: &mut Evaluator<'_, '_>, given: Option<&Value>) -> Result<Option<String>, StopReason> {
    match given {
        None | Some(Value::None) => Ok(None),
        Some(Value::Str(text)) => Ok(Some(text.to_string())),
        Some(other) => {
            let Some(width) = other.as_int() else {
                return Err(fail(format!("indent must be int, not {}", other.kind())));
            };
            let width = usize::try_from(width).unwrap_or(0);
            e.charge(width)?;
            Ok(Some(" ".repeat(width)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_for_the_search() {
        assert!(FILTERS.is_sorted_by(|a, b| a.name < b.name));
        assert!(names().all(|name| find(name).is_some()));
    }
}
