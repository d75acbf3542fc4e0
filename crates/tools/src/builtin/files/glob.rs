//! Glob patterns for paths: `*` and `?` within a name, `[a-z]` and `[!a-z]`, and `**` for any
//! number of folders. Matching proceeds name by name during the walk, so that only folders with
//! possible matches are entered, and never backtracks over folders.

/// Pattern, split into segments.
#[derive(Debug)]
pub(super) struct Glob(Vec<GlobSegment>);

#[derive(Debug)]
enum GlobSegment {
    /// `**`: any number of folders, including none.
    Folders,
    Name(Vec<char>),
}

/// Positions in the pattern that the next name may match: the state that a walk keeps for a folder.
pub(super) type GlobPositions = Vec<usize>;

/// Maximum pattern length. The time of a match grows with the product of pattern and name length.
const MOST_CHARACTERS: usize = 500;

impl Glob {
    /// Parses a pattern; the error describes the problem.
    pub(super) fn read(pattern: &str) -> Result<Self, String> {
        if pattern.chars().count() > MOST_CHARACTERS {
            return Err(format!("it is longer than {MOST_CHARACTERS} characters"));
        }
        if pattern.starts_with('/') {
            return Err("it is absolute (patterns are relative to the directory)".to_owned());
        }
        let mut segments = Vec::new();
        for part in pattern.split('/').filter(|part| !matches!(*part, "" | ".")) {
            match part {
                ".." => return Err("it leaves the directory through `..`".to_owned()),
                "**" => segments.push(GlobSegment::Folders),
                name => segments.push(GlobSegment::Name(name.chars().collect())),
            }
        }
        if segments.is_empty() {
            Err("it is empty".to_owned())
        } else {
            Ok(Glob(segments))
        }
    }

    /// Initial state of a walk.
    pub(super) fn start(&self) -> GlobPositions {
        self.closed(vec![0])
    }

    /// Advances by an entry of this name: returns whether the entry matches, and the state inside
    /// it.
    pub(super) fn step(&self, places: &GlobPositions, name: &str) -> (bool, GlobPositions) {
        let name: Vec<char> = name.chars().collect();
        let mut next = Vec::new();
        for &place in places {
            match self.0.get(place) {
                Some(GlobSegment::Folders) => next.push(place),
                Some(GlobSegment::Name(pattern)) if matches(pattern, &name) => next.push(place + 1),
                _ => {}
            }
        }
        let next = self.closed(next);
        let whole = next.contains(&self.0.len());
        let within: GlobPositions = next
            .into_iter()
            .filter(|place| *place < self.0.len())
            .collect();
        (whole, within)
    }

    /// Adds the positions after each `**`, because `**` also matches no folder. A final `**`
    /// matches everything below its folder.
    fn closed(&self, mut places: GlobPositions) -> GlobPositions {
        let mut at = 0;
        while let Some(&place) = places.get(at) {
            if matches!(self.0.get(place), Some(GlobSegment::Folders)) {
                places.push(place + 1);
            }
            at += 1;
        }
        places.sort_unstable();
        places.dedup();
        places
    }
}

/// Whether a name matches one segment. Takes at most quadratic time.
fn matches(pattern: &[char], name: &[char]) -> bool {
    let (mut p, mut n) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        if pattern.get(p) == Some(&'*') {
            star = Some((p, n));
            p += 1;
        } else if let Some(length) = one(&pattern[p..], name[n]) {
            p += length;
            n += 1;
        } else if let Some((at, from)) = star {
            // Backtracking to the last star is enough, which keeps the time quadratic.
            star = Some((at, from + 1));
            (p, n) = (at + 1, from + 1);
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|c| *c == '*')
}

/// Returns the pattern length that matches this character, if the start of the pattern matches it.
fn one(pattern: &[char], c: char) -> Option<usize> {
    match pattern.first()? {
        '?' => Some(1),
        '[' => match class(pattern, c) {
            Some((length, fits)) => fits.then_some(length),
            // An unclosed bracket matches itself.
            None => (c == '[').then_some(1),
        },
        plain => (*plain == c).then_some(1),
    }
}

/// Returns the length of a class `[…]`, and whether it contains the character. `None` if the class
/// is not closed.
fn class(pattern: &[char], c: char) -> Option<(usize, bool)> {
    let negated = matches!(pattern.get(1), Some('!' | '^'));
    let first = if negated { 2 } else { 1 };
    // A closing bracket in first position is a member of the class.
    let close = pattern.iter().skip(first + 1).position(|c| *c == ']')? + first + 1;
    let members = &pattern[first..close];
    let (mut at, mut has) = (0, false);
    while let Some(&low) = members.get(at) {
        match (members.get(at + 1), members.get(at + 2)) {
            (Some('-'), Some(&high)) => {
                has |= (low..=high).contains(&c);
                at += 3;
            }
            _ => {
                has |= low == c;
                at += 1;
            }
        }
    }
    Some((close + 1, has != negated))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fits(pattern: &str, path: &str) -> bool {
        let glob = Glob::read(pattern).unwrap();
        let (mut places, mut whole) = (glob.start(), false);
        for name in path.split('/') {
            (whole, places) = glob.step(&places, name);
        }
        whole
    }

    #[test]
    fn patterns() {
        let cases = [
            ("*.md", "a.md", true),
            ("*.md", "a/b.md", false),
            ("./a/*.md", "a/b.md", true),
            ("**/*.md", "b.md", true),
            ("**/*.md", "a/b/c.md", true),
            ("a/**", "a/b/c", true),
            ("a/**", "b/c", false),
            ("**/b/**/d", "a/b/c/d", true),
            ("**/b/**/d", "b/d", true),
            ("**/b/**/d", "b/c", false),
            ("a?c", "aßc", true),
            ("*a*b*", "xxaxxbxx", true),
            ("*a*b*", "xxbxxaxx", false),
            ("[a-cx].txt", "b.txt", true),
            ("[!a-c].txt", "b.txt", false),
            ("[]].txt", "].txt", true),
            ("[a.txt", "[a.txt", true),
            ("日*", "日本", true),
            ("line\nbreak*", "line\nbreak.md", true),
            ("***.md", "a.md", true),
        ];
        for (pattern, path, expected) in cases {
            assert_eq!(fits(pattern, path), expected, "{pattern} {path}");
        }
    }

    #[test]
    fn wrong_patterns_are_told() {
        for (pattern, said) in [
            ("../x", ".."),
            ("a/../../x", ".."),
            ("/etc/*", "absolute"),
            ("", "empty"),
            ("./", "empty"),
            (&"a".repeat(501), "500"),
        ] {
            assert!(Glob::read(pattern).unwrap_err().contains(said), "{pattern}");
        }
    }

    #[test]
    fn folders_that_cannot_match_are_not_entered() {
        let glob = Glob::read("src/*.rs").unwrap();
        let (_, within) = glob.step(&glob.start(), "docs");
        assert!(within.is_empty());
        let (whole, within) = glob.step(&glob.start(), "src");
        assert!(!whole && !within.is_empty());
    }

    #[test]
    fn hostile_patterns_end() {
        let name = "a".repeat(255);
        assert!(!fits(&format!("{}b", "*a".repeat(200)), &name));
        let path = vec!["a"; 60].join("/");
        assert!(!fits(&format!("{}b", "**/a/".repeat(60)), &path));
    }
}
