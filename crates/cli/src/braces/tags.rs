//! Formats with double-brace tags. The text of a tag shows which format the author had in mind.

use quillet_core::Span;
use quillet_template::TemplateFormat;

use super::syntax::{
    BraceWarning, LONGEST, TemplateDialect, group_end, is_json, is_path, jinja_block, jinja_warning,
};

/// Keywords that start a Go action.
const GO_WORDS: &[&str] = &["if", "range", "with", "template", "define", "block"];

/// Block helpers of Handlebars.
const HANDLEBARS_WORDS: &[&str] = &["if", "each", "unless", "with"];

/// Go keywords that are not functions.
const GO_KEYWORDS: &[&str] = &["end", "else", "break", "continue", "true", "false", "nil"];

pub(super) fn check_tags(
    format: &dyn TemplateFormat,
    dialect: TemplateDialect,
    text: &str,
    is_function: &dyn Fn(&str) -> bool,
) -> Vec<BraceWarning> {
    if reads_otherwise(dialect, text) {
        return Vec::new();
    }
    let looker = TagScanner {
        format,
        dialect,
        text,
        is_function,
    };
    let mut found = Vec::new();
    let mut tags = false;
    let mut at = 0;
    while let Some(start) = text
        .get(at..)
        .and_then(|rest| rest.find('{'))
        .map(|i| at + i)
    {
        let rest = &text[start..];
        at = start + 1;
        if rest.starts_with("{{") {
            tags = true;
            let inner = rest.trim_start_matches('{');
            let inner_start = text.len() - inner.len();
            let length = inner.find("}}").unwrap_or(inner.len());
            at = inner_start + length;
            found.extend(looker.tag(start, &inner[..length]));
        } else if rest.starts_with("{%") || rest.starts_with("{#") {
            // Liquid uses the same block syntax as Jinja.
            let has_blocks = matches!(dialect, TemplateDialect::Jinja | TemplateDialect::Liquid);
            tags |= has_blocks;
            let block = jinja_block(rest).filter(|_| !has_blocks);
            found.extend(block.map(|word| jinja_warning(start, word, dialect)));
        }
    }
    // In a template with valid tags, single braces are probably plain text.
    if !tags && found.is_empty() {
        found.extend(looker.single_braces());
    }
    found
}

/// Whether the template contains a construct that changes the meaning of braces.
fn reads_otherwise(dialect: TemplateDialect, text: &str) -> bool {
    match dialect {
        TemplateDialect::Jinja | TemplateDialect::Liquid => {
            text.contains("{% raw") || text.contains("{%- raw")
        }
        TemplateDialect::Mustache => text.contains("{{="),
        TemplateDialect::Handlebars => text.contains("{{{{"),
        _ => false,
    }
}

struct TagScanner<'a> {
    format: &'a dyn TemplateFormat,
    dialect: TemplateDialect,
    text: &'a str,
    is_function: &'a dyn Fn(&str) -> bool,
}

impl TagScanner<'_> {
    /// Returns a warning about a tag, based on the text between its braces.
    fn tag(&self, start: usize, inner: &str) -> Option<BraceWarning> {
        // Markers that remove white space are not part of the name.
        let inner = inner.trim_matches(['-', '~']).trim();
        if is_json(inner) {
            return Some(self.json(start));
        }
        let (meant, path) = self.foreign(inner)?;
        let span = Span {
            start,
            end: start + 2,
        };
        let (own, other) = (self.dialect.format(), meant.format());
        let written = path.and_then(|path| self.dialect.variable(path));
        Some(BraceWarning {
            span,
            message: format!("{{{{{inner}}}}} is {other} syntax, but the template format is {own}"),
            help: match written {
                Some(written) => format!("write {written}, or set the format to {other}"),
                None => format!("set the format to {other}"),
            },
        })
    }

    /// Returns the format that a tag probably belongs to, and its variable.
    fn foreign<'i>(&self, inner: &'i str) -> Option<(TemplateDialect, Option<&'i str>)> {
        let own = self.dialect;
        let first = inner.split_whitespace().next().unwrap_or_default();
        if let Some(path) = inner.strip_prefix('.').filter(|path| is_path(path)) {
            return (own != TemplateDialect::Go).then_some((TemplateDialect::Go, Some(path)));
        }
        if let Some(name) = inner.strip_prefix('$').filter(|name| is_path(name)) {
            // Go's own variables must be declared in the template.
            let declared = format!("${name}");
            let is_own = own == TemplateDialect::Go && self.text.matches(&declared).count() > 1;
            let foreign = own != TemplateDialect::SemanticKernel && !is_own;
            return foreign.then_some((TemplateDialect::SemanticKernel, Some(name)));
        }
        if let Some(block) = first
            .strip_prefix(['#', '/'])
            .filter(|block| is_path(block))
        {
            return self.block(block, inner).map(|meant| (meant, None));
        }
        let argument = inner[first.len()..].trim_start();
        // The keyword is not sufficient, because other formats have `if` and `with` too.
        let of_go = GO_WORDS.contains(&first) && argument.starts_with(['.', '$', '"']);
        if of_go && own != TemplateDialect::Go {
            return Some((TemplateDialect::Go, None));
        }
        let is_filter = || {
            let (left, right) = inner.split_once('|')?;
            let name = right.trim().split('(').next()?;
            (is_path(left.trim()) && is_path(name)).then_some(())
        };
        if own == TemplateDialect::Mustache && is_filter().is_some() {
            return Some((TemplateDialect::Jinja, None));
        }
        self.plain_name(inner)
    }

    /// Recognises a block of Handlebars or Mustache.
    fn block(&self, block: &str, inner: &str) -> Option<TemplateDialect> {
        let has_argument = inner.contains(char::is_whitespace);
        let of_handlebars = HANDLEBARS_WORDS.contains(&block) && has_argument;
        match self.dialect {
            TemplateDialect::Handlebars => None,
            TemplateDialect::Mustache => of_handlebars.then_some(TemplateDialect::Handlebars),
            _ if of_handlebars || HANDLEBARS_WORDS.contains(&block) => {
                Some(TemplateDialect::Handlebars)
            }
            _ => Some(TemplateDialect::Mustache),
        }
    }

    /// Recognises `{{name}}`, which calls a function in some formats.
    fn plain_name<'i>(&self, inner: &'i str) -> Option<(TemplateDialect, Option<&'i str>)> {
        let calls = match self.dialect {
            TemplateDialect::Go => !GO_KEYWORDS.contains(&inner),
            // In Semantic Kernel, `{{plugin.function}}` is a valid call.
            TemplateDialect::SemanticKernel => !inner.contains('.'),
            _ => false,
        };
        if !calls || !is_path(inner) || (self.is_function)(inner) {
            return None;
        }
        Some((TemplateDialect::Mustache, Some(inner)))
    }

    /// Warns about JSON whose braces start a tag.
    fn json(&self, start: usize) -> BraceWarning {
        let group = group_end(self.text, start).map(|end| &self.text[start..end]);
        let group = group.filter(|group| group.len() <= LONGEST);
        let help = match group {
            None => "use single braces for plain text: { and }".to_owned(),
            Some(group) if has_tags(group) => {
                // The inner braces belong to tags, so only one outer pair is removed.
                let single = group.get(1..group.len() - 1).unwrap_or_default();
                format!("use single braces for plain text: {single}")
            }
            Some(group) => {
                let single = group.replace("{{", "{").replace("}}", "}");
                let help = format!("use single braces for plain text: {single}");
                match self.format.escape(group) {
                    Some(escaped) => {
                        format!("{help}; to print two of them, write {escaped}")
                    }
                    None => help,
                }
            }
        };
        BraceWarning {
            span: Span {
                start,
                end: start + 2,
            },
            message: "this looks like JSON, but two braces start a tag".to_owned(),
            help,
        }
    }

    /// Finds `{name}` and `${name}` in a template without any tags.
    fn single_braces(&self) -> Option<BraceWarning> {
        let mut starts = self.text.match_indices('{').map(|(start, _)| start);
        starts.find_map(|start| {
            let (name, _) = self.text[start + 1..].split_once('}')?;
            if !is_path(name) || name.contains('.') {
                return None;
            }
            let dollar = self.text[..start].ends_with('$');
            let start = start - usize::from(dollar);
            let end = start + name.len() + 2 + usize::from(dollar);
            let shown = &self.text[start..end];
            let own = self.dialect.format();
            let written = self.dialect.variable(name)?;
            Some(BraceWarning {
                span: Span { start, end },
                message: format!("{shown} is plain text in {own}, and the template has no tags"),
                help: if dollar {
                    format!("write {written} for the variable")
                } else {
                    format!("write {written} for the variable, or set the format to f-string")
                },
            })
        })
    }
}

/// Whether a group contains tags that are not JSON.
fn has_tags(group: &str) -> bool {
    let inner = group.trim_start_matches('{');
    let mut tags = inner.split("{{").skip(1);
    tags.any(|tag| !is_json(tag))
}
