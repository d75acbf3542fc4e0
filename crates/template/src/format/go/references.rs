//! Finds the variables and functions that sources can use, without running the sources. Each
//! definition is read with the possible paths of its dot. A path counts as used where its value is
//! inspected, and access to a field extends the path. List elements and results of functions have
//! no known path, but the paths of the lists and arguments already count as used.

use std::collections::{HashSet, VecDeque};

use indexmap::IndexMap;
use quillet_core::{Span, Value};

use crate::TemplateSource;
use crate::reference::{FunctionReference, References, VariableReference};

use super::ast::{
    AssignTarget, BuiltinFunction, CommandNode, FieldNames, FunctionBinding, Node, NodeKind, Op,
    Pipe, SlotIndex, StringText, TemplateDefinition,
};
use super::template::GoTemplate;

/// Paths of the variables from which a value may originate. Empty if unknown or irrelevant.
type ValueOrigins<'c> = Vec<ValueOrigin<'c>>;
type KeyPath<'c> = Vec<&'c str>;

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct ValueOrigin<'c> {
    path: KeyPath<'c>,
    /// Whether the value was inspected. Fields of it may still count.
    touched: bool,
}

/// Maximum length of a path. Paths in recursive templates would grow without end. Real paths are
/// far shorter.
const LONGEST_PATH: usize = 32;

/// Maximum number of pairs of a definition and a dot. If it is exceeded, the access counts as
/// dynamic.
const MOST_VISITS: usize = 2_000;

pub(super) fn find<'c>(compiled: &'c GoTemplate, sources: &'c [TemplateSource<'_>]) -> References {
    let mut finder = ReferenceFinder {
        compiled,
        found: References::default(),
        variables: IndexMap::default(),
        functions: HashSet::default(),
        templates: HashSet::default(),
        passed_on: Vec::new(),
        visits: HashSet::default(),
        waiting: VecDeque::new(),
        source: 0,
        dot: ValueOrigins::new(),
        slots: Vec::new(),
    };
    // Libraries are read only if another source calls them.
    for source in sources.iter().filter(|source| !source.library) {
        finder.visit(source.name, vec![ValueOrigin::default()]);
        finder.run();
    }
    finder.finish()
}

/// First use of a path.
struct PathUse {
    optional: bool,
    source: usize,
    span: Span,
}

struct ReferenceFinder<'c> {
    compiled: &'c GoTemplate,
    found: References,
    variables: IndexMap<KeyPath<'c>, PathUse, foldhash::fast::RandomState>,
    functions: HashSet<&'c str, foldhash::fast::RandomState>,
    templates: HashSet<&'c str, foldhash::fast::RandomState>,
    /// Paths that were only passed to a variable or a template. Such a path counts if none of its
    /// fields is used.
    passed_on: Vec<(KeyPath<'c>, PathUse)>,
    // Definitions are compared by address. For each distinct dot, a definition is read once.
    visits: HashSet<(*const TemplateDefinition, ValueOrigins<'c>), foldhash::fast::RandomState>,
    waiting: VecDeque<(&'c TemplateDefinition, ValueOrigins<'c>)>,
    source: usize,
    dot: ValueOrigins<'c>,
    slots: Vec<ValueOrigins<'c>>,
}

impl<'c> ReferenceFinder<'c> {
    fn visit(&mut self, name: &'c str, dot: ValueOrigins<'c>) {
        let Some(definition) = self.compiled.definition(name) else {
            // A missing template is reported only once.
            if self.templates.insert(name) {
                self.found.templates.push(name.to_owned());
            }
            return;
        };
        // Without this limit, templates that call each other twice would double the visits at every
        // level.
        if self.visits.len() >= MOST_VISITS {
            self.found.dynamic = true;
            return;
        }
        // Reading the same definition with the same dot again would find the same references.
        if self.visits.insert((definition, dot.clone())) {
            self.waiting.push_back((definition, dot));
        }
    }

    fn run(&mut self) {
        while let Some((definition, dot)) = self.waiting.pop_front() {
            self.source = definition.source;
            self.slots = vec![ValueOrigins::new(); definition.slots()];
            self.slots[0] = dot.clone();
            // An assignment late in a loop is visible in the next iteration.
            let assigns = definition
                .ops
                .iter()
                .any(|op| op.pipe().is_some_and(|p| p.assign));
            // Two readings suffice, because the first reading collects all assignments.
            for _ in 0..=usize::from(assigns) {
                self.dot = dot.clone();
                self.read(definition);
            }
        }
    }

    fn read(&mut self, definition: &'c TemplateDefinition) {
        // Ends of the blocks that set the dot, with the dot outside each block.
        let mut around: Vec<(usize, ValueOrigins<'c>)> = Vec::new();
        for (place, op) in definition.ops.iter().enumerate() {
            // A block's `else` begins with the outer dot, so the dot is restored before the next
            // operation.
            while around.last().is_some_and(|(end, _)| *end <= place) {
                if let Some((_, dot)) = around.pop() {
                    self.dot = dot;
                }
            }
            match op {
                Op::Action(pipe) => {
                    let value = self.pipe(pipe);
                    if pipe.variables.is_empty() {
                        self.touch(value, pipe.span, false);
                    } else {
                        // At this point, the value is only stored. Later uses of the variable
                        // decide whether its path counts.
                        self.pass_on(&value, pipe.span);
                    }
                }
                Op::If { pipe, .. } => {
                    let value = self.pipe(pipe);
                    self.touch(value, pipe.span, false);
                }
                Op::With { pipe, otherwise } => {
                    let value = self.pipe(pipe);
                    // A `with` tests its value, so the path counts even if none of its fields is
                    // used.
                    self.touch(value.clone(), pipe.span, false);
                    around.push((*otherwise, std::mem::replace(&mut self.dot, value)));
                }
                Op::Range {
                    pipe, otherwise, ..
                } => {
                    self.range(pipe);
                    // List elements are not followed, so the dot in the body is unknown.
                    around.push((*otherwise, std::mem::take(&mut self.dot)));
                }
                Op::Call(call) => {
                    let dot = call
                        .pipe
                        .as_ref()
                        .map_or_else(ValueOrigins::new, |pipe| self.pipe(pipe));
                    self.pass_on(&dot, call.span);
                    self.visit(&call.name, dot);
                }
                Op::Text { .. }
                | Op::Marked(_)
                | Op::EndWith { .. }
                | Op::Next
                | Op::Break
                | Op::Jump(_) => {}
            }
        }
        // A block may end after the last operation of the definition.
        if let Some((_, dot)) = around.into_iter().next() {
            self.dot = dot;
        }
    }

    fn range(&mut self, pipe: &'c Pipe) {
        let value = self.commands(pipe);
        self.touch(value, pipe.span, false);
    }

    fn pipe(&mut self, pipe: &'c Pipe) -> ValueOrigins<'c> {
        let value = self.commands(pipe);
        for target in &pipe.variables {
            self.set(target, &value);
        }
        value
    }

    fn commands(&mut self, pipe: &'c Pipe) -> ValueOrigins<'c> {
        let mut value = ValueOrigins::new();
        for (i, command) in pipe.commands.iter().enumerate() {
            if i > 0 {
                // The next command receives the value as an argument.
                self.touch(value, pipe.span, false);
            }
            value = self.command(command);
        }
        value
    }

    /// Adds the paths of an assigned value. The previous paths stay, because the assignment may not
    /// be executed.
    fn set(&mut self, target: &AssignTarget, value: &[ValueOrigin<'c>]) {
        let Some(slot) = target.slot else {
            return;
        };
        for origin in value {
            // Branches are not evaluated, so the paths of all assignments are possible.
            if !self.slots[slot].contains(origin) {
                self.slots[slot].push(origin.clone());
            }
        }
    }

    fn command(&mut self, command: &'c CommandNode) -> ValueOrigins<'c> {
        let value = match &command.first.kind {
            NodeKind::Function(function) => match function.function {
                FunctionBinding::Builtin(BuiltinFunction::Index) => {
                    return self.index(&command.arguments);
                }
                // Like `index`, Sprig's `get` and `hasKey` accept a missing key.
                FunctionBinding::Native(native) if matches!(native.name, "get" | "hasKey") => {
                    let value = self.index(&command.arguments);
                    return if native.name == "get" {
                        value
                    } else {
                        ValueOrigins::new()
                    };
                }
                FunctionBinding::Native(native) if native.name == "include" => {
                    return self.include(&command.arguments);
                }
                _ => self.node(&command.first),
            },
            _ => self.node(&command.first),
        };
        for argument in &command.arguments {
            let value = self.node(argument);
            self.touch(value, argument.span, false);
        }
        value
    }

    /// Reads `include "name" VALUE`, the call of a template in an expression.
    fn include(&mut self, arguments: &'c [Node]) -> ValueOrigins<'c> {
        // The arguments are read even if the template's name is computed.
        let values: Vec<ValueOrigins<'c>> = arguments.iter().map(|node| self.node(node)).collect();
        match (arguments.first().and_then(key_of), values.get(1)) {
            (Some(name), Some(dot)) => {
                self.pass_on(dot, arguments[1].span);
                self.visit(name, dot.clone());
            }
            // The called template is known only at run time.
            _ => self.found.dynamic = true,
        }
        ValueOrigins::new()
    }

    /// Reads `index VALUE "key" …`, which accepts a missing value.
    fn index(&mut self, arguments: &'c [Node]) -> ValueOrigins<'c> {
        let Some((item, indexes)) = arguments.split_first() else {
            return ValueOrigins::new();
        };
        let mut value = self.node(item);
        for index in indexes {
            match key_of(index) {
                Some(key) => extend(&mut value, key),
                None => {
                    // The index is computed, so the template may use any part of the value.
                    self.touch(value, item.span, true);
                    let index_value = self.node(index);
                    self.touch(index_value, index.span, false);
                    value = ValueOrigins::new();
                }
            }
        }
        self.touch(value.clone(), item.span, true);
        for origin in &mut value {
            // The path was already counted as optional. Only deeper fields still have to be
            // counted.
            origin.touched = true;
        }
        value
    }

    fn node(&mut self, node: &'c Node) -> ValueOrigins<'c> {
        match &node.kind {
            NodeKind::Dot => self.dot.clone(),
            NodeKind::Field(fields) => {
                let dot = self.dot.clone();
                self.fields(dot, fields, node.span)
            }
            NodeKind::Variable(variable) => {
                let value = self.variable(variable.slot);
                self.fields(value, &variable.fields, node.span)
            }
            NodeKind::Pipe(pipe) => self.pipe(pipe),
            NodeKind::Chain(chain) => {
                let value = self.node(&chain.base);
                self.fields(value, &chain.fields, node.span)
            }
            NodeKind::Function(function) => {
                if matches!(function.function, FunctionBinding::Late) {
                    self.function(&function.name, node.span);
                }
                ValueOrigins::new()
            }
            NodeKind::Nil | NodeKind::Bool(_) | NodeKind::Number(_) | NodeKind::String(_) => {
                ValueOrigins::new()
            }
        }
    }

    /// Returns the paths of a variable. If its declaration is not executed, the name refers to a
    /// shadowed variable. That variable is not followed, because it counted at its declaration.
    fn variable(&self, slot: Option<SlotIndex>) -> ValueOrigins<'c> {
        slot.map_or_else(ValueOrigins::new, |slot| self.slots[slot].clone())
    }

    fn fields(
        &mut self,
        mut value: ValueOrigins<'c>,
        fields: &'c FieldNames,
        span: Span,
    ) -> ValueOrigins<'c> {
        for field in fields.as_slice() {
            if value.iter().any(|origin| origin.path.len() >= LONGEST_PATH) {
                // The paths of recursive templates grow without end, so only the prefix counts.
                self.touch(value, span, false);
                return ValueOrigins::new();
            }
            extend(&mut value, field);
        }
        value
    }

    fn function(&mut self, name: &'c str, span: Span) {
        if self.functions.insert(name) {
            self.found.functions.push(FunctionReference {
                name: name.to_owned(),
                source: self.source,
                span,
            });
        }
    }

    fn touch(&mut self, value: ValueOrigins<'c>, span: Span, optional: bool) {
        for ValueOrigin { path, .. } in value.into_iter().filter(|origin| !origin.touched) {
            // The root itself is used, so the template may use any variable.
            if path.is_empty() {
                self.found.dynamic = true;
                continue;
            }
            let touched = self.variables.entry(path).or_insert(PathUse {
                optional,
                source: self.source,
                span,
            });
            // A variable is required if one use requires it.
            touched.optional &= optional;
        }
    }

    fn pass_on(&mut self, value: &[ValueOrigin<'c>], span: Span) {
        // The root and values that already count are ignored here.
        let counts = |origin: &&ValueOrigin| !origin.touched && !origin.path.is_empty();
        for origin in value.iter().filter(counts) {
            let touched = PathUse {
                optional: false,
                source: self.source,
                span,
            };
            self.passed_on.push((origin.path.clone(), touched));
        }
    }

    /// Counts the paths that were passed on but never inspected.
    fn add_passed_on(&mut self) {
        if self.passed_on.is_empty() {
            return;
        }
        let mut prefixes: HashSet<KeyPath<'c>, foldhash::fast::RandomState> = HashSet::default();
        // A passed path counts only if neither the path nor one of its fields is used.
        for path in self.variables.keys() {
            for length in 1..=path.len() {
                prefixes.insert(path[..length].to_vec());
            }
        }
        for (path, touched) in std::mem::take(&mut self.passed_on) {
            if prefixes.insert(path.clone()) {
                self.variables.insert(path, touched);
            }
        }
    }

    fn finish(mut self) -> References {
        self.add_passed_on();
        let variables = self.variables.into_iter();
        let variable = |(path, touched): (KeyPath<'c>, PathUse)| VariableReference {
            path: path.into_iter().map(str::to_owned).collect(),
            optional: touched.optional,
            source: touched.source,
            span: touched.span,
        };
        self.found.variables = variables.map(variable).collect();
        self.found
    }
}

fn extend<'c>(value: &mut ValueOrigins<'c>, key: &'c str) {
    for origin in value {
        origin.path.push(key);
        // The longer path has not been counted yet.
        origin.touched = false;
    }
}

fn key_of(node: &Node) -> Option<&str> {
    let NodeKind::String(string) = &node.kind else {
        return None;
    };
    match &string.text {
        StringText::Text(Value::Str(key)) => Some(key),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::format::go::GoFormat;
    use crate::{CompileOptions, References, TemplateFormat, TemplateSource};

    fn references(sources: &[TemplateSource<'_>]) -> References {
        let compiled = GoFormat::new().compile(sources, &CompileOptions::default());
        compiled.unwrap().references().clone()
    }

    /// Returns the dotted paths. Optional ones end in a question mark.
    fn paths(text: &str) -> Vec<String> {
        let found = references(&[TemplateSource::new("t", text)]);
        let shown = found.variables.iter().map(|variable| {
            let mark = if variable.optional { "?" } else { "" };
            variable.path.join(".") + mark
        });
        shown.collect()
    }

    #[test]
    fn paths_are_followed_through_dots_and_variables() {
        let cases: [(&str, &[&str]); 16] = [
            ("{{.a.b}} {{.a.b}}", &["a.b"]),
            ("{{with .a}}{{.b}}{{end}}{{.c}}", &["a", "a.b", "c"]),
            ("{{with .a}}{{.b}}{{else}}{{.c}}{{end}}", &["a", "a.b", "c"]),
            ("{{range .items}}{{.x}}{{$.y}}{{end}}", &["items", "y"]),
            ("{{range $i, $e := .items}}{{$e.x}}{{end}}", &["items"]),
            ("{{$x := .a.b}}{{$x.c}}", &["a.b.c"]),
            ("{{$x := .a.b}}", &["a.b"]),
            ("{{$x := .a}}{{$x = .b}}{{$x.c}}", &["a.c", "b.c"]),
            (
                "{{$x := .a}}{{range .l}}{{$x.c}}{{$x = $.b}}{{end}}",
                &["l", "a.c", "b.c"],
            ),
            ("{{index . \"k\"}}", &["k?"]),
            ("{{index .a \"k\" \"l\"}}{{.a.k.l}}", &["a.k.l"]),
            ("{{index .a .k}}", &["a?", "k"]),
            ("{{(index . \"k\").l}}", &["k?", "k.l"]),
            (
                "{{template \"n\" .a}}{{define \"n\"}}{{.b}}{{end}}",
                &["a.b"],
            ),
            ("{{template \"n\" .a}}{{define \"n\"}}x{{end}}", &["a"]),
            ("{{f .a | g .b}}", &["a", "b"]),
        ];
        for (text, expected) in cases {
            assert_eq!(paths(text), expected, "{text}");
        }
    }

    #[test]
    fn uses_of_the_whole_root_are_dynamic() {
        let cases = [
            ("{{.}}", true),
            ("{{range .}}{{end}}", true),
            ("{{f .}}", true),
            ("{{index . .k}}", true),
            ("{{template \"n\" .}}{{define \"n\"}}{{.a}}{{end}}", false),
            ("{{$.a}}", false),
            ("{{$x := .}}{{$x.a}}", false),
        ];
        for (text, dynamic) in cases {
            let found = references(&[TemplateSource::new("t", text)]);
            assert_eq!(found.dynamic, dynamic, "{text}");
        }
    }

    #[test]
    fn only_what_other_sources_reach_counts_in_a_library() {
        let sources = [
            TemplateSource::library("lib", "{{define \"used\"}}{{.a}}{{f}}{{end}}{{.b}}{{g}}"),
            TemplateSource::new("main", "{{template \"used\" .x}}{{template \"gone\"}}"),
        ];
        let found = references(&sources);
        let paths: Vec<String> = found.variables.iter().map(|v| v.path.join(".")).collect();
        assert_eq!(paths, ["x.a"]);
        let names: Vec<&str> = found.functions.iter().map(|f| f.name.as_str()).collect();
        assert_eq!(names, ["f"]);
        assert_eq!(found.templates, ["gone"]);
        assert_eq!(found.variables[0].source, 0);
    }

    #[test]
    fn places_are_those_of_the_source() {
        let text = "ä {{.a.b}} {{f 1}}";
        let found = references(&[TemplateSource::new("t", text)]);
        let span = found.variables[0].span;
        assert_eq!(&text[span.start..span.end], ".a.b");
        let span = found.functions[0].span;
        assert_eq!(&text[span.start..span.end], "f");
    }

    #[test]
    fn recursive_and_doubling_templates_come_to_an_end() {
        let deep = "{{define \"r\"}}{{template \"r\" .c}}{{end}}{{template \"r\" .}}";
        assert!(
            !references(&[TemplateSource::new("t", deep)])
                .variables
                .is_empty()
        );
        let mut text = String::from("{{template \"t0\" .}}");
        for i in 0..30 {
            let next = i + 1;
            text += &format!(
                "{{{{define \"t{i}\"}}}}{{{{template \"t{next}\" .a}}}}{{{{template \"t{next}\" .b}}}}{{{{end}}}}"
            );
        }
        assert!(references(&[TemplateSource::new("t", &text)]).dynamic);
    }
}
