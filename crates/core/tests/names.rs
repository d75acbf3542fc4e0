//! Checks type names: none is a single weak word or a word shared by unrelated types, and
//! `docs/glossary.md` lists every public type of the library.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// One-word names that any number of types may have, because each is private to its format or
/// module. They are the usual names for the parts of a compiler.
const COMPILER_WORDS: &str = "
    Block Compilation Error Evaluator Expr Frame Kind Lexer Node Parser Program Reader Scope
    State Token Value Visitor Walk Writer
";

/// Maximum number of types that may share any other one-word name.
const MOST_SHARED: usize = 2;

/// Words that are meaningless as the full name of a type: participles, prepositions, adverbs,
/// pronouns, verbs, metaphors and quantities. Regular participles are recognized by their ending,
/// `ed`.
const WEAK: &str = "
    Begun Bound Bought Bred Broken Brought Built Caught Chosen Come Cut Done Drawn Fallen
    Felt Forgotten Found Given Gone Grown Heard Held Hidden Kept Known Laid Led Left Lent
    Let Lost Made Meant Met Outgone Overlaid Paid Put Read Risen Run Said Seen Sent Set
    Shown Shut Sold Sought Spent Split Spoken Sprung Stood Struck Swept Taken Taught Thought
    Thrown Told Torn Understood Undone Unknown Unmade Unread Unseen Unsent Unstored Woken
    Won Worn Written
    Above After Around At Before Behind Below Beside Between By From Here How In Inside
    Later Near Next Now Of On Only Outside Same Such Then There Through To What When Where
    Whether Which Whither Who Whose Why With Without
    Ask Doing Find Give Go Hold Keep Know Knowing Lend Looking Make Need Say Take Tell
    Telling Use Wait Waiting Want Wish Wording Asking
    Beginning Beginnings Bits Board Book Course Ear Echo Ending Few Ground Grounds Half
    Holder Keeper Ladder Lane Law Least Less Lot Manner Many Medium More Most Pace Pages
    Part Parts Patience Piece Reach Rest Shelf Shop Stock Story Stuff Surroundings Tale Talk
    Teller Thing Things Tour Trap Way Ways Word Words World
";

/// Nouns that end in `ed`.
const NOUNS_IN_ED: &[&str] = &["Embed", "Feed", "Need", "Seed", "Shed", "Speed"];

/// Known weak names with their files. The list may only get shorter.
const WEAK_TODAY: &[(&str, &str)] = &[];

struct TypeName {
    name: String,
    file: String,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Collects the Rust files below `folder` that are part of a product, that is, in a `src` folder.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for entry in entries {
        let path = entry.expect("a readable folder").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.is_dir() {
            if !matches!(
                &*name,
                "target" | "tests" | "benches" | "examples" | "node_modules"
            ) {
                sources(&path, found);
            }
        } else if name.ends_with(".rs") && path.components().any(|part| part.as_os_str() == "src") {
            found.push(path);
        }
    }
}

/// Returns the name of the type that a line declares. Skips associated types, which are indented
/// `type` lines.
fn declared(line: &str) -> Option<&str> {
    let mut rest = line.trim_start();
    let is_indented = rest.len() < line.len();
    if let Some(after) = rest.strip_prefix("pub") {
        let after = match after.strip_prefix('(') {
            Some(scope) => scope.split_once(')')?.1,
            None => after,
        };
        rest = after.strip_prefix(' ')?;
    } else if is_indented && rest.starts_with("type ") {
        return None;
    }
    rest = rest.strip_prefix("unsafe ").unwrap_or(rest);
    let name = ["struct ", "enum ", "trait ", "type "]
        .iter()
        .find_map(|keyword| rest.strip_prefix(keyword))?;
    let end = name
        .find(|c: char| !c.is_ascii_alphanumeric())
        .unwrap_or(name.len());
    let name = &name[..end];
    name.starts_with(|c: char| c.is_ascii_uppercase())
        .then_some(name)
}

fn types() -> Vec<TypeName> {
    let root = root();
    let mut files = Vec::new();
    for folder in ["crates", "temporal", "bindings"] {
        sources(&root.join(folder), &mut files);
    }
    files.sort();
    let mut types = Vec::new();
    for path in files {
        let text = fs::read_to_string(&path).expect("a readable file");
        let file = path.strip_prefix(&root).unwrap_or(&path);
        let file = file.to_string_lossy().replace('\\', "/");
        types.extend(text.lines().filter_map(declared).map(|name| TypeName {
            name: name.to_owned(),
            file: file.clone(),
        }));
    }
    types
}

fn has_word(words: &str, name: &str) -> bool {
    words.split_whitespace().any(|word| word == name)
}

fn is_one_word(name: &str) -> bool {
    name.chars().filter(char::is_ascii_uppercase).count() == 1
}

fn is_weak(name: &str) -> bool {
    let is_participle = name.ends_with("ed") && !NOUNS_IN_ED.contains(&name);
    is_one_word(name) && (is_participle || has_word(WEAK, name))
}

#[test]
fn no_type_name_is_a_weak_word() {
    let types = types();
    assert!(types.len() > 2_000, "only {} types were found", types.len());
    let weak: Vec<(&str, &str)> = types
        .iter()
        .filter(|ty| is_weak(&ty.name))
        .map(|ty| (ty.name.as_str(), ty.file.as_str()))
        .collect();
    let new: Vec<_> = weak.iter().filter(|ty| !WEAK_TODAY.contains(ty)).collect();
    assert!(
        new.is_empty(),
        "name the noun these types stand for, in two words: {new:#?}"
    );
    let gone: Vec<_> = WEAK_TODAY.iter().filter(|ty| !weak.contains(ty)).collect();
    assert!(gone.is_empty(), "remove these from WEAK_TODAY: {gone:#?}");
}

#[test]
fn one_word_names_are_not_shared() {
    let mut files: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for ty in types() {
        if is_one_word(&ty.name) && !has_word(COMPILER_WORDS, &ty.name) {
            files.entry(ty.name).or_default().push(ty.file);
        }
    }
    files.retain(|_, files| files.len() > MOST_SHARED);
    assert!(
        files.is_empty(),
        "add the word that tells these types apart: {files:#?}"
    );
}

#[test]
fn glossary_has_every_public_type_of_the_library() {
    let glossary = fs::read_to_string(root().join("docs/glossary.md")).expect("docs/glossary.md");
    let mut files = Vec::new();
    sources(&root().join("crates/quillet/src"), &mut files);
    let mut missing = Vec::new();
    for file in files {
        let text = fs::read_to_string(file).expect("a readable file");
        let public = text.lines().filter(|line| line.starts_with("pub "));
        missing.extend(
            public
                .filter_map(declared)
                .filter(|name| !glossary.contains(&format!("`{name}`")))
                .map(str::to_owned),
        );
    }
    missing.sort();
    missing.dedup();
    assert!(missing.is_empty(), "add to docs/glossary.md: {missing:?}");
}

#[test]
fn declarations_are_recognised() {
    for (line, name) in [
        ("pub struct RunJournal {", Some("RunJournal")),
        ("pub(crate) enum Kept<T> {", Some("Kept")),
        ("    struct Inner;", Some("Inner")),
        ("unsafe trait Marker {}", Some("Marker")),
        ("pub type Result<T> = X;", Some("Result")),
        ("    type Output = T;", None),
        ("let structure = 1;", None),
        ("/// A struct Foo", None),
    ] {
        assert_eq!(declared(line), name, "{line}");
    }
    assert!(is_weak("Kept") && is_weak("Denied") && is_weak("Why"));
    assert!(!is_weak("Feed") && !is_weak("RunJournal") && !is_weak("KeptRows"));
}
