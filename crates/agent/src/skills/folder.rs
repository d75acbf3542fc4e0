//! Skills in a folder, each in a subfolder with a `SKILL.md`.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use quillet_core::{Diagnostic, Severity, Span};

use super::definition::{self, SkillDefinition};
use super::front_matter::{self, FrontMatter};

/// Name of the file that makes a folder a skill.
const FILE: &str = "SKILL.md";
/// Maximum bytes of a `SKILL.md`. A longer one would fill the window of most models.
const MOST_BYTES: u64 = 256 * 1024;
/// Maximum number of entries. Further entries are skipped.
const MOST_ENTRIES: usize = 1_000;

/// Returns all skills of a folder, in the order of their folder names, and all diagnostics. An
/// invalid skill does not affect the others. Folders without a `SKILL.md` are ignored, and symbolic
/// links that lead out of the folder are rejected. If `folder` itself has a `SKILL.md`, it counts
/// as a single skill.
#[must_use]
pub fn read_folder(folder: &Path) -> (Vec<SkillDefinition>, Vec<Diagnostic>) {
    let mut reader = SkillReader {
        skills: Vec::new(),
        found: Vec::new(),
    };
    let source = folder.display().to_string();
    match fs::canonicalize(folder) {
        Err(error) => {
            let message = format!("cannot read the skills folder: {error}");
            reader
                .found
                .push(Diagnostic::error("skill.folder", &source, message));
        }
        Ok(root) if root.join(FILE).is_file() => reader.skill(&root, &root, folder),
        Ok(root) => reader.folder(&root, folder),
    }
    (reader.skills, reader.found)
}

struct SkillReader {
    skills: Vec<SkillDefinition>,
    found: Vec<Diagnostic>,
}

impl SkillReader {
    fn wrong(&mut self, path: &Path, message: impl Into<String>) {
        let source = path.display().to_string();
        self.found
            .push(Diagnostic::error("skill.file", &source, message));
    }

    /// Reads one skill. `root` is the canonical path of the folder, and `shown` its name in
    /// messages.
    fn folder(&mut self, root: &Path, shown: &Path) {
        let entries = match fs::read_dir(root) {
            Ok(entries) => entries,
            Err(error) => return self.wrong(shown, format!("cannot read the folder: {error}")),
        };
        let mut names: Vec<_> = entries.flatten().map(|entry| entry.file_name()).collect();
        // Sorted before truncation, because the order of `read_dir` is arbitrary.
        names.sort();
        if names.len() > MOST_ENTRIES {
            self.wrong(
                shown,
                format!("has more than {MOST_ENTRIES} entries: the rest is skipped"),
            );
            names.truncate(MOST_ENTRIES);
        }
        for name in names {
            let shown = shown.join(&name);
            match name.to_str() {
                // Hidden folders, such as `.git`, belong to other programs.
                Some(name) if name.starts_with('.') => {}
                Some(name) => self.entry(root, &root.join(name), &shown),
                None => self.wrong(&shown, "the name of the folder is not UTF-8"),
            }
        }
    }

    fn entry(&mut self, root: &Path, path: &Path, shown: &Path) {
        // Dangling links are ignored, and so is everything without a skill file.
        let Ok(real) = fs::canonicalize(path) else {
            return;
        };
        if !real.join(FILE).exists() {
            return;
        }
        if real.starts_with(root) {
            self.skill(root, &real, shown)
        } else {
            self.wrong(shown, "is a symbolic link that leaves the skills folder")
        }
    }

    fn skill(&mut self, root: &Path, folder: &Path, shown: &Path) {
        let shown_file = shown.join(FILE);
        let text = match read_file(root, &folder.join(FILE)) {
            Ok(text) => text,
            Err(message) => return self.wrong(&shown_file, message),
        };
        let name = shown.file_name().and_then(|name| name.to_str());
        let source = shown_file.display().to_string();
        let (read, found) = parse(&source, name.unwrap_or_default(), &text);
        self.found.extend(found);
        if let Some(skill) = read {
            self.keep(skill, folder, &shown_file);
        }
    }

    fn keep(&mut self, mut skill: SkillDefinition, folder: &Path, shown: &Path) {
        let same = |other: &&SkillDefinition| other.name == skill.name;
        if let Some(other) = self.skills.iter().find(same) {
            let place: PathBuf = other
                .folder
                .as_deref()
                .map(Path::to_owned)
                .unwrap_or_default();
            let message = format!(
                "the skill {:?} is already in {}",
                skill.name,
                place.display()
            );
            return self.wrong(shown, message);
        }
        skill.folder = Some(Arc::from(folder));
        self.skills.push(skill);
    }
}

/// Reads a file inside a folder.
fn read_file(root: &Path, path: &Path) -> Result<String, String> {
    let real = fs::canonicalize(path).map_err(|error| format!("cannot be read: {error}"))?;
    if !real.starts_with(root) {
        return Err("is a symbolic link that leaves the skills folder".to_owned());
    }
    // Checked before opening, because opening a pipe blocks until a writer appears.
    if !real.is_file() {
        return Err("is not a file".to_owned());
    }
    let file = File::open(&real).map_err(|error| format!("cannot be read: {error}"))?;
    let mut bytes = Vec::new();
    // One byte beyond the limit shows that the file is too long.
    let read = file.take(MOST_BYTES + 1).read_to_end(&mut bytes);
    read.map_err(|error| format!("cannot be read: {error}"))?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(format!(
            "is longer than {MOST_BYTES} bytes: move details into separate files next to it"
        ));
    }
    String::from_utf8(bytes).map_err(|error| {
        format!(
            "has invalid UTF-8 at byte offset {}",
            error.utf8_error().valid_up_to()
        )
    })
}

/// Parses a `SKILL.md`. `source` is its name in messages. `folder` is the name of the skill if the
/// front matter has none.
///
/// ```
/// use quillet_agent::skills::parse;
///
/// let text = "---\ndescription: How to refund\n---\nAsk for the order number.";
/// let (skill, diagnostics) = parse("refunds/SKILL.md", "refunds", text);
/// let skill = skill.unwrap();
/// assert!(diagnostics.is_empty());
/// assert_eq!(skill.name, "refunds");
/// assert_eq!(skill.prompt, "Ask for the order number.");
/// ```
#[must_use]
pub fn parse(source: &str, folder: &str, text: &str) -> (Option<SkillDefinition>, Vec<Diagnostic>) {
    let point = |at: usize| Span { start: at, end: at };
    let wrong = |at: usize, message: String| {
        Diagnostic::error("skill.field", source, message).at(text, point(at))
    };
    let (front, body) = match front_matter::divide(text) {
        Ok(divided) => divided,
        Err(at) => {
            let found = wrong(at, "the front matter has no end".to_owned());
            return (None, vec![found.help("end it with the line `---`")]);
        }
    };
    let front = match front.map(|range| front_matter::read(source, text, range)) {
        None => FrontMatter::default(),
        Some(Ok(front)) => front,
        Some(Err(found)) => return (None, found),
    };
    let body = text.get(body..).unwrap_or_default().trim().to_owned();
    let skill = match SkillDefinition::read(&front, folder, body) {
        Ok(skill) => skill,
        Err((at, message)) => return (None, vec![wrong(at, message)]),
    };
    let doubts = definition::doubts(&front, &skill).into_iter();
    let found = doubts.map(|(at, message, help)| Diagnostic {
        severity: Severity::Warning,
        help,
        ..wrong(at, message)
    });
    let found = found.collect();
    (Some(skill), found)
}
