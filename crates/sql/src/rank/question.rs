//! A question as terms of a schema: what each of its words may mean there.

use foldhash::{HashSet, HashSetExt};

use super::postings::{Postings, Term};
use super::split::{Piece, bigrams, pieces};
use super::terms::{Terms, base};
use super::words::ENGLISH;

/// Most words of a question that count: the first ones.
const MOST_WORDS: usize = 48;
/// A word that is near in meaning counts for this much of one that is the same.
const RELATED: f32 = 0.6;
/// And for this much where the schema has the word itself.
const RELATED_BESIDE: f32 = 0.25;
/// An abbreviation counts for this much (notes 3.2).
const SHORTENED: f32 = 0.4;

/// Words that ask and say nothing about what is asked for.
const EMPTY: &str = "a about above after all also am an and any are as at be been being below \
    between both but by can could did do does each either every for from had has have having he \
    her his how i if in into is it its many me more most much my of on or our per please she \
    should some than that the their them then there these they this those to under us was we were \
    what when where whether which while who whom whose why will with would you your not no \
    s t d ll re ve find show list give get tell return display want let see know";

/// Chinese words that ask and say nothing about what is asked for, longer ones first.
const ASKING: &[&str] = &[
    "有哪些",
    "是什么",
    "是多少",
    "查询",
    "统计",
    "列出",
    "找出",
    "所有",
    "每个",
    "多少",
    "哪些",
    "哪个",
    "什么",
    "请问",
    "显示",
    "查看",
    "分别",
    "一共",
    "以及",
    "按照",
    "各个",
    "最近",
    "之前",
    "之后",
    "的",
    "了",
    "吗",
    "呢",
];

/// A word of the question with the terms that it may stand for.
#[derive(Debug)]
pub(super) struct Asked {
    /// The word as people see it.
    pub(super) word: String,
    /// Terms of the schema, with how surely each is meant: up to 1.
    pub(super) meant: Vec<(Term, f32)>,
}

/// What a question asks for.
pub(super) fn read(question: &str, terms: &Terms, postings: &Postings) -> Vec<Asked> {
    let mut reader = Reader {
        terms,
        postings,
        seen: HashSet::new(),
        asked: Vec::new(),
    };
    let mut before: Option<String> = None;
    for piece in pieces(question) {
        match piece {
            Piece::Number(digits) => reader.number(&digits),
            Piece::Characters(run) => reader.characters(&run),
            Piece::Word(word) => {
                if let Some(before) = before.replace(word.clone()) {
                    reader.together(&before, &word);
                }
                if !EMPTY.split(' ').any(|empty| empty == word) {
                    reader.word(&word);
                }
            }
        }
        if reader.asked.len() >= MOST_WORDS {
            break;
        }
    }
    reader.asked
}

struct Reader<'a> {
    terms: &'a Terms,
    postings: &'a Postings,
    seen: HashSet<String>,
    asked: Vec<Asked>,
}

impl Reader<'_> {
    fn put(&mut self, word: &str, meant: Vec<(Term, f32)>) {
        if !meant.is_empty() && self.seen.insert(word.to_owned()) {
            self.asked.push(Asked {
                word: word.to_owned(),
                meant,
            });
        }
    }

    fn number(&mut self, digits: &str) {
        let meant = self.postings.find(digits).map(|term| (term, 0.5));
        self.put(digits, meant.into_iter().collect());
    }

    /// `zip code` may be `zipcode` in the schema.
    fn together(&mut self, first: &str, second: &str) {
        let whole = base(&format!("{first}{second}"));
        let meant = self.postings.find(&whole).map(|term| (term, 1.0));
        self.put(&whole, meant.into_iter().collect());
    }

    fn word(&mut self, word: &str) {
        let term = base(word);
        if self.seen.contains(&term) {
            return;
        }
        for part in self.terms.cut(word).iter().filter(|part| *part != word) {
            self.word(part);
        }
        let direct = self.postings.find(&term);
        let mut meant: Vec<(Term, f32)> = direct.map(|t| (t, 1.0)).into_iter().collect();
        let share = if direct.is_some() {
            RELATED_BESIDE
        } else {
            RELATED
        };
        self.related(&term, share, &mut meant);
        if word != term {
            self.related(word, share, &mut meant);
        }
        if meant.is_empty() {
            self.shortened(&term, &mut meant);
        }
        self.put(&term, meant);
    }

    fn related(&self, word: &str, share: f32, meant: &mut Vec<(Term, f32)>) {
        let Some(number) = ENGLISH.find(word) else {
            return;
        };
        for (other, near) in ENGLISH.related(number) {
            if let Some(term) = self.postings.find(&base(other)) {
                meant.push((term, share * near.sqrt()));
            }
        }
    }

    /// Terms that are the beginning or the consonants of a word: `dept`, `qty`.
    fn shortened(&self, word: &str, meant: &mut Vec<(Term, f32)>) {
        let mut letters = word.chars();
        let first: String = letters.by_ref().take(1).collect();
        let consonants = letters.filter(|c| !"aeiou".contains(*c));
        let skeleton: String = first.chars().chain(consonants).collect();
        for whole in [word, skeleton.as_str()] {
            for length in 3..=5 {
                let Some(short) = whole.get(..length) else {
                    break;
                };
                meant.extend(self.postings.find(short).map(|term| (term, SHORTENED)));
            }
        }
    }

    fn characters(&mut self, run: &[char]) {
        let text: String = run.iter().collect();
        for part in without_asking(&text) {
            let chars: Vec<char> = part.chars().collect();
            for pair in bigrams(&chars) {
                let meant = self.postings.find(&pair).map(|term| (term, 1.0));
                self.put(&pair, meant.into_iter().collect());
            }
        }
    }
}

fn without_asking(text: &str) -> Vec<String> {
    let mut parts = vec![text.to_owned()];
    for asking in ASKING {
        let cut = parts.iter().flat_map(|part| part.split(asking));
        parts = cut
            .filter(|part| !part.is_empty())
            .map(str::to_owned)
            .collect();
    }
    parts
}
