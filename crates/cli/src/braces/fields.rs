//! Format strings, in which each single brace starts a field.

use quillet_core::Span;

use super::syntax::{
    BraceWarning, LONGEST, TemplateDialect, group_end, is_json, is_path, jinja_block, jinja_warning,
};

pub(super) fn check_fields(text: &str) -> Vec<BraceWarning> {
    let mut found = Vec::new();
    let mut doubled = Vec::new();
    let mut fields = 0;
    let mut at = 0;
    while let Some(start) = text
        .get(at..)
        .and_then(|rest| rest.find('{'))
        .map(|i| at + i)
    {
        let rest = &text[start..];
        at = start + 1;
        if rest.starts_with("{{") {
            let run = rest.len() - rest.trim_start_matches('{').len();
            // In an odd number of braces, the last one starts a field.
            at = start + run - run % 2;
            doubled.extend((run == 2).then(|| doubled_name(rest, start)).flatten());
            continue;
        }
        if let Some(word) = jinja_block(rest) {
            found.push(jinja_warning(start, word, TemplateDialect::FString));
            continue;
        }
        let Some(end) = group_end(text, start) else {
            continue;
        };
        let group = &text[start..end];
        if is_code(&group[1..group.len() - 1]) {
            found.push(code(group, start));
            at = end;
        } else {
            fields += 1
        }
    }
    // If a template has fields, its author knows that braces must be doubled.
    if fields == 0 {
        found.extend(doubled);
    }
    found
}

/// Whether a group is JSON or contains lines or statements, so that it cannot be a name.
fn is_code(inner: &str) -> bool {
    let name = inner.split([':', '!', '[']).next().unwrap_or_default();
    is_json(inner) || name.contains(['\n', ';', '"', '{', '=', '('])
}

fn code(group: &str, start: usize) -> BraceWarning {
    // If the group is long, its corrected text would make the message hard to read.
    let help = if group.len() <= LONGEST {
        format!("double the braces of plain text: {}", escaped(group))
    } else {
        "double the braces of plain text: {{ and }}".to_owned()
    };
    let what = if is_json(&group[1..]) { "JSON" } else { "code" };
    BraceWarning {
        span: Span {
            start,
            end: start + 1,
        },
        message: format!("this looks like {what}, but a single brace starts a field"),
        help,
    }
}

/// Doubles the braces of a group, except around plain names, which are fields.
fn escaped(group: &str) -> String {
    let mut out = String::with_capacity(group.len() + 8);
    let mut rest = group;
    while let Some(at) = rest.find(['{', '}']) {
        let (before, after) = rest.split_at(at);
        out.push_str(before);
        let field = after.find('}').map(|end| &after[..=end]);
        let field = field.filter(|field| is_path(field.trim_matches(['{', '}'])));
        match field.filter(|field| field.matches('{').count() == 1) {
            Some(field) => {
                out.push_str(field);
                rest = &after[field.len()..];
            }
            None => {
                let brace = &after[..1];
                out.extend([brace, brace]);
                rest = &after[1..];
            }
        }
    }
    out + rest
}

/// Finds `{{name}}`, which prints `{name}`.
fn doubled_name(rest: &str, start: usize) -> Option<BraceWarning> {
    let inner = rest.strip_prefix("{{")?;
    let (inner, _) = inner.split_once("}}")?;
    let path = inner.trim().trim_start_matches(['.', '$']);
    if !is_path(path) {
        return None;
    }
    let written = TemplateDialect::FString.variable(path)?;
    let format = match (inner.trim().chars().next(), inner == inner.trim()) {
        (Some('.'), _) => "go",
        (Some('$'), _) => "semantic-kernel",
        (_, true) => "mustache",
        (_, false) => "jinja",
    };
    let end = start + inner.len() + 4;
    Some(BraceWarning {
        span: Span { start, end },
        message: format!("{{{{{inner}}}}} prints {{{inner}}}, not a variable"),
        help: format!("write {written} for the variable, or set the format to {format}"),
    })
}
