//! Checks that the files of a crate form no import cycles, so that each file can be read, tested
//! and moved together with only its dependencies. Module declarations (`mod`) and re-exports (`pub
//! use`) do not count as uses.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};

/// Known import cycles: crate, first module of the cycle, number of modules. Break new cycles
/// instead of adding them here, usually by moving shared items into a new file. The list may only
/// get shorter.
const CIRCLES: &[(&str, &str, usize)] = &[
    ("host", "agent::assemble", 6),
    ("quillet", "components::traces", 6),
    ("script", "argument", 2),
    ("script", "js", 10),
    ("script", "reader", 3),
    ("script", "run::instance", 2),
    ("template", "format::go::ast", 39),
    ("template", "format::handlebars", 6),
    ("template", "format::handlebars::ast", 3),
    ("template", "format::jinja", 19),
    ("template", "format::liquid", 17),
];

/// A path: that of a module within its crate, or one as written in the source.
type Name = Vec<String>;

/// Paths in a file that refer to other modules.
#[derive(Default)]
struct File {
    uses: Vec<Name>,
    /// Imported names with their paths.
    imports: BTreeMap<String, Name>,
    /// Re-exported names with their paths.
    exports: BTreeMap<String, Name>,
}

impl File {
    fn read(&mut self, tokens: TokenStream) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut rest = tokens.as_slice();
        let mut is_public = false;
        while let Some((token, after)) = rest.split_first() {
            rest = after;
            let word = token.to_string();
            match (token, word.as_str()) {
                // `pub(in crate::export)` names a module but does not depend on it.
                (TokenTree::Group(_), _) if is_public => {}
                (TokenTree::Group(group), _) => self.read(group.stream()),
                (_, "pub") => is_public = true,
                (_, "use") if !starts(rest, "<") => {
                    let (tree, after) = rest.split_at(end(rest, is_end));
                    for (name, path) in branches(tree, &[]) {
                        if is_public {
                            self.exports.insert(name, path);
                        } else {
                            self.uses.push(path.clone());
                            self.imports.insert(name, path);
                        }
                    }
                    (rest, is_public) = (after, false);
                }
                (_, "#") if starts(rest, "[cfg (test)]") => {
                    rest = &rest[1..];
                    rest = &rest[end(rest, is_body)..];
                    rest = rest.get(1..).unwrap_or_default();
                }
                (TokenTree::Ident(_), _) => {
                    let mut path = vec![word];
                    while let [colon, _, TokenTree::Ident(next), after @ ..] = rest
                        && is_joint(colon)
                    {
                        path.push(next.to_string());
                        rest = after;
                    }
                    self.uses.extend((path.len() > 1).then_some(path));
                    is_public = false;
                }
                _ => {}
            }
        }
    }
}

fn starts(tokens: &[TokenTree], with: &str) -> bool {
    tokens
        .first()
        .is_some_and(|first| first.to_string() == with)
}

fn end(tokens: &[TokenTree], is_end: fn(&TokenTree) -> bool) -> usize {
    tokens.iter().position(is_end).unwrap_or(tokens.len())
}

fn is_end(token: &TokenTree) -> bool {
    token.to_string() == ";"
}

fn is_body(token: &TokenTree) -> bool {
    is_end(token)
        || matches!(token, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace)
}

fn is_joint(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Punct(colon) if colon.as_char() == ':' && colon.spacing() == Spacing::Joint)
}

/// Returns the imported names of a `use` with their paths.
fn branches(tree: &[TokenTree], start: &[String]) -> Vec<(String, Name)> {
    let mut found = Vec::new();
    for part in tree.split(|token| token.to_string() == ",") {
        let (mut path, mut name) = (start.to_vec(), None);
        for token in part {
            match (token, token.to_string().as_str()) {
                (TokenTree::Group(group), _) => {
                    let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                    found.extend(branches(&inner, &path));
                    path.clear();
                }
                (_, "as") => name = path.last().cloned(),
                (_, "self") if !path.is_empty() => {}
                (TokenTree::Ident(_), word) if name.is_some() => name = Some(word.to_owned()),
                (TokenTree::Ident(_), word) => path.push(word.to_owned()),
                _ => {}
            }
        }
        let name = name.or_else(|| path.last().cloned());
        found.extend(name.map(|name| (name, path)));
    }
    found
}

/// The modules of a crate.
#[derive(Default)]
struct Modules(BTreeMap<Name, File>);

impl Modules {
    fn load(&mut self, folder: &Path, module: &Name) {
        for entry in std::fs::read_dir(folder).expect("sources can be listed") {
            let path = entry.expect("sources can be listed").path();
            let mut inner = module.clone();
            match &*path.file_stem().unwrap_or_default().to_string_lossy() {
                "lib" | "main" | "mod" => {}
                name => inner.push(name.to_owned()),
            }
            if path.is_dir() {
                self.load(&path, &inner);
            } else if path.extension().is_some_and(|end| end == "rs") {
                let text = std::fs::read_to_string(&path).expect("sources are UTF-8");
                let tokens = text.parse().expect("sources are Rust");
                self.0.entry(inner).or_default().read(tokens);
            }
        }
    }

    /// Returns the module that a path in module `at` refers to, following re-exports.
    fn find(&self, at: &[String], path: &[String]) -> Option<&Name> {
        let ups = path.iter().take_while(|step| *step == "super").count();
        let (base, path) = match path.first()?.as_str() {
            "crate" => (&[][..], &path[1..]),
            "self" => (at, &path[1..]),
            "super" => (&at[..at.len().checked_sub(ups)?], &path[ups..]),
            child if self.0.contains_key(&[at, &[child.to_owned()]].concat()) => (at, path),
            _ => return None,
        };
        let path = [base, path].concat();
        let mut known = path.len();
        while !self.0.contains_key(&path[..known]) {
            known -= 1;
        }
        let (module, file) = self.0.get_key_value(&path[..known])?;
        let export = path.get(known).and_then(|name| file.exports.get(name));
        let further = export.and_then(|export| {
            let path = [export, &path[known + 1..]].concat();
            self.find(module, &path)
        });
        further.or(Some(module))
    }

    /// Returns the modules that each module uses.
    fn arrows<'a>(&'a self) -> BTreeMap<&'a Name, BTreeSet<&'a Name>> {
        let of = |(module, file): (&'a Name, &File)| {
            let found = file.uses.iter().filter_map(|path| {
                let name = &path[0];
                match file.imports.get(name).or(file.exports.get(name)) {
                    Some(full) => self.find(module, &[full, &path[1..]].concat()),
                    None => self.find(module, path),
                }
            });
            (module, found.filter(|other| *other != module).collect())
        };
        self.0.iter().map(of).collect()
    }
}

/// Returns all modules that can be reached from one module.
fn reach<'a>(arrows: &BTreeMap<&'a Name, BTreeSet<&'a Name>>, from: &Name) -> BTreeSet<&'a Name> {
    let mut reached = BTreeSet::new();
    let mut next: Vec<&Name> = arrows[from].iter().copied().collect();
    while let Some(module) = next.pop() {
        if reached.insert(module) {
            next.extend(&arrows[module]);
        }
    }
    reached
}

/// Returns the import cycles of a crate, each as a list of all its modules.
fn circles(sources: &Path) -> BTreeSet<Vec<String>> {
    let mut modules = Modules::default();
    modules.load(sources, &Name::new());
    let arrows = modules.arrows();
    let mut reached = BTreeMap::new();
    for module in arrows.keys() {
        reached.insert(*module, reach(&arrows, module));
    }
    let circle = |(module, beyond): (&&Name, &BTreeSet<&Name>)| -> Vec<String> {
        let back = beyond
            .iter()
            .filter(|other| reached[**other].contains(module));
        back.map(|name| name.join("::")).collect()
    };
    let all = reached.iter().map(circle);
    all.filter(|circle| !circle.is_empty()).collect()
}

#[test]
fn files_form_no_circles() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(crates).expect("crates can be listed") {
        let entry = entry.expect("crates can be listed");
        let name = entry.file_name().to_string_lossy().into_owned();
        for circle in circles(&entry.path().join("src")) {
            found.insert((name.clone(), circle[0].clone(), circle.len()), circle);
        }
    }
    let owned = |(name, first, files): &(&str, &str, usize)| {
        ((*name).to_owned(), (*first).to_owned(), *files)
    };
    let listed: BTreeSet<(String, String, usize)> = CIRCLES.iter().map(owned).collect();
    let new = found.iter().filter(|(circle, _)| !listed.contains(circle));
    let new: Vec<String> = new.map(|found| format!("{found:?}")).collect();
    let gone: Vec<_> = listed
        .iter()
        .filter(|circle| !found.contains_key(circle))
        .collect();
    assert!(
        new.is_empty() && gone.is_empty(),
        "circles that are not in the list, with their modules: {new:#?}\nand in the list only: {gone:#?}"
    );
}
