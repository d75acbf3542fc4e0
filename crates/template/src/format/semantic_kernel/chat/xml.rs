//! Parser of the XML between messages. Text that is not well-formed is rejected. Document types are
//! not supported, so there are only the five predefined entities.

use std::collections::{HashMap, HashSet};

use crate::structure::entity;

/// Maximum nesting of elements, as in .NET. A text with deeper nesting is not a chat prompt.
const MAX_DEPTH: usize = 64;

#[derive(Debug, Default)]
pub(super) struct Element {
    pub(super) name: String,
    pub(super) attributes: Vec<(String, String)>,
    pub(super) children: Vec<XmlNode>,
    /// Whether the element is written as `<name/>`.
    pub(super) empty: bool,
}

#[derive(Debug)]
pub(super) enum XmlNode {
    Element(Element),
    /// Text with decoded references.
    Text(String),
    /// `<![CDATA[…]]>`.
    Data(String),
    /// `<!--…-->`.
    Comment(String),
    /// `<?…?>`.
    Instruction(String),
}

impl XmlNode {
    pub(super) fn is_blank(&self) -> bool {
        matches!(self, XmlNode::Text(text) if text.trim_matches(BLANKS).is_empty())
    }
}

const BLANKS: [char; 4] = [' ', '\t', '\r', '\n'];

impl Element {
    pub(super) fn attribute(&self, name: &str) -> Option<&str> {
        let mut found = self.attributes.iter().filter(|(known, _)| known == name);
        found.next().map(|(_, value)| value.as_str())
    }

    pub(super) fn elements(&self) -> impl Iterator<Item = &Element> {
        self.children.iter().filter_map(|child| match child {
            XmlNode::Element(element) => Some(element),
            _ => None,
        })
    }

    /// Returns the text of the element, including that of inner elements.
    pub(super) fn text(&self) -> String {
        let mut out = String::new();
        for child in &self.children {
            match child {
                XmlNode::Text(text) | XmlNode::Data(text) => out.push_str(text),
                XmlNode::Element(element) => out.push_str(&element.text()),
                XmlNode::Comment(_) | XmlNode::Instruction(_) => {}
            }
        }
        out
    }
}

/// Parses a text into an unnamed root element. Returns `None` if the text is not well-formed.
pub(super) fn parse(text: &str) -> Option<Element> {
    if !text.chars().all(is_allowed) {
        return None;
    }
    let mut parser = XmlParser {
        rest: text,
        open: vec![Element::default()],
        prefixes: Vec::new(),
        declared: HashMap::new(),
    };
    while !parser.rest.is_empty() {
        parser.next()?;
    }
    let root = parser.open.pop()?;
    parser.open.is_empty().then_some(root)
}

/// Whether XML 1.0 allows a character.
fn is_allowed(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..)
}

struct XmlParser<'t> {
    rest: &'t str,
    open: Vec<Element>,
    /// Prefixes in scope, with the depth of the element that declares them.
    prefixes: Vec<(&'t str, usize)>,
    /// Number of declarations in scope, by prefix.
    declared: HashMap<&'t str, usize>,
}

impl<'t> XmlParser<'t> {
    fn next(&mut self) -> Option<()> {
        let Some(after) = self.rest.strip_prefix('<') else {
            return self.text();
        };
        if let Some(after) = after.strip_prefix('/') {
            self.rest = after;
            return self.close();
        }
        if let Some(after) = after.strip_prefix("![CDATA[") {
            return self.until(after, "]]>", |text| Some(XmlNode::Data(text.to_owned())));
        }
        if let Some(after) = after.strip_prefix("!--") {
            let comment = |text: &str| {
                let wrong = text.contains("--") || text.ends_with('-');
                (!wrong).then(|| XmlNode::Comment(text.to_owned()))
            };
            return self.until(after, "-->", comment);
        }
        if let Some(after) = after.strip_prefix('?') {
            return self.until(after, "?>", instruction);
        }
        self.rest = after;
        self.element()
    }

    fn add(&mut self, node: XmlNode) -> Option<()> {
        self.open.last_mut()?.children.push(node);
        Some(())
    }

    fn until(
        &mut self,
        after: &'t str,
        end: &str,
        node: impl Fn(&str) -> Option<XmlNode>,
    ) -> Option<()> {
        let (text, rest) = after.split_once(end)?;
        self.rest = rest;
        self.add(node(text)?)
    }

    fn text(&mut self) -> Option<()> {
        let end = self.rest.find('<').unwrap_or(self.rest.len());
        let (text, rest) = self.rest.split_at(end);
        if text.contains("]]>") {
            return None;
        }
        self.rest = rest;
        self.add(XmlNode::Text(decoded(text)?))
    }

    fn close(&mut self) -> Option<()> {
        let (name, rest) = self.rest.split_once('>')?;
        self.rest = rest;
        let element = self.open.pop()?;
        // The root has no name, so no end tag matches it.
        if element.name != name.trim_end_matches(BLANKS) || element.name.is_empty() {
            return None;
        }
        self.left();
        self.add(XmlNode::Element(element))
    }

    /// Removes the prefixes that the closed element declared.
    fn left(&mut self) {
        let depth = self.open.len();
        while let Some((prefix, _)) = self.prefixes.pop_if(|(_, declared)| *declared >= depth) {
            if let Some(count) = self.declared.get_mut(prefix) {
                *count -= 1;
            }
        }
    }

    fn name(&mut self) -> Option<&'t str> {
        let end = self.rest.find(|c| !is_name(c)).unwrap_or(self.rest.len());
        let (name, rest) = self.rest.split_at(end);
        let first = name.chars().next()?;
        if matches!(first, '-' | '.') || first.is_numeric() {
            return None;
        }
        self.rest = rest;
        Some(name)
    }

    fn blanks(&mut self) -> bool {
        let rest = self.rest.trim_start_matches(BLANKS);
        let any = rest.len() < self.rest.len();
        self.rest = rest;
        any
    }

    fn element(&mut self) -> Option<()> {
        let name = self.name()?;
        let mut element = Element {
            name: name.to_owned(),
            ..Element::default()
        };
        let mut names = vec![name];
        self.attributes(&mut element, &mut names)?;
        let depth = self.open.len();
        if depth > MAX_DEPTH || !names.iter().all(|name| self.is_declared(name)) {
            return None;
        }
        if element.empty {
            self.left();
            return self.add(XmlNode::Element(element));
        }
        self.open.push(element);
        Some(())
    }

    /// Parses the attributes and the end of a tag. Adds the names whose prefixes must be declared.
    fn attributes(&mut self, element: &mut Element, names: &mut Vec<&'t str>) -> Option<()> {
        let mut seen = HashSet::new();
        loop {
            let blank = self.blanks();
            if let Some(rest) = self.rest.strip_prefix("/>") {
                self.rest = rest;
                element.empty = true;
                return Some(());
            }
            if let Some(rest) = self.rest.strip_prefix('>') {
                self.rest = rest;
                return Some(());
            }
            let (name, value) = self.attribute()?;
            if !blank || !seen.insert(name) {
                return None;
            }
            match name.strip_prefix("xmlns:") {
                Some(prefix) => self.declare(prefix),
                None => names.push(name),
            }
            element.attributes.push((name.to_owned(), value));
        }
    }

    fn declare(&mut self, prefix: &'t str) {
        self.prefixes.push((prefix, self.open.len()));
        *self.declared.entry(prefix).or_default() += 1;
    }

    /// Whether the prefix of a name is declared, if the name has one.
    fn is_declared(&self, name: &str) -> bool {
        let Some((prefix, local)) = name.split_once(':') else {
            return true;
        };
        let known = prefix == "xml" || self.declared.get(prefix).is_some_and(|count| *count > 0);
        known && !local.is_empty() && !local.contains(':')
    }

    fn attribute(&mut self) -> Option<(&'t str, String)> {
        let name = self.name()?;
        self.blanks();
        self.rest = self.rest.strip_prefix('=')?;
        self.blanks();
        let quote = self
            .rest
            .chars()
            .next()
            .filter(|c| matches!(c, '"' | '\''))?;
        let (value, rest) = self.rest[1..].split_once(quote)?;
        self.rest = rest;
        if value.contains('<') {
            return None;
        }
        Some((name, decoded(value)?))
    }
}

fn instruction(text: &str) -> Option<XmlNode> {
    let end = text.find(|c| !is_name(c)).unwrap_or(text.len());
    let target = &text[..end];
    // An XML declaration is allowed only at the start of the root.
    let wrong = target.is_empty() || target.eq_ignore_ascii_case("xml");
    (!wrong).then(|| XmlNode::Instruction(text.to_owned()))
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | ':' | '-' | '.')
}

/// Decodes the references in a text. Returns `None` if one is undefined.
fn decoded(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        let (before, reference) = rest.split_at(at);
        let (character, length) = entity::read(reference)?;
        if !is_allowed(character) || reference.starts_with("&#X") {
            return None;
        }
        out.push_str(before);
        out.push(character);
        rest = &reference[length..];
    }
    out.push_str(rest);
    Some(out)
}

/// Position in which a text is written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Escape {
    Text,
    /// In double quotes, with line endings written as `&#xA;`.
    AttributeHex,
    /// In double quotes, with line endings written as `&#10;`.
    AttributeDecimal,
}

/// Writes text as markup.
pub(super) fn escape(text: &str, place: Escape, out: &mut String) {
    for c in text.chars() {
        let reference = match (c, place) {
            ('&', _) => "&amp;",
            ('<', _) => "&lt;",
            ('>', _) => "&gt;",
            ('"', Escape::AttributeHex | Escape::AttributeDecimal) => "&quot;",
            ('\n', Escape::AttributeHex) => "&#xA;",
            ('\r', Escape::AttributeHex) => "&#xD;",
            ('\n', Escape::AttributeDecimal) => "&#10;",
            ('\r', Escape::AttributeDecimal) => "&#13;",
            ('\t', Escape::AttributeDecimal) => "&#09;",
            _ => {
                out.push(c);
                continue;
            }
        };
        out.push_str(reference);
    }
}
