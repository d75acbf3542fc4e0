//! Maps the words of a question to terms of the schema.

use foldhash::{HashMap, HashMapExt, HashSet, HashSetExt};

use super::dictionary::ENGLISH;
use super::postings::{Postings, Term};
use super::split::{TextRun, bigrams, pieces};
use super::terms::{Terms, base, is_known};
use super::thesaurus::{Synonym, Thesaurus};

/// Maximum number of words; further ones are ignored.
const MOST_WORDS: usize = 48;
/// Weight of a related word, compared with the same word.
const RELATED: f32 = 0.7;
/// Weight of a related word if the schema also contains the word itself.
const RELATED_BESIDE: f32 = 0.25;
/// Weight of a word with the same root: `distraction` for `distracted`.
const FAMILY: f32 = 0.7;
/// Weight of a word with the same root if the schema also contains the word itself.
const FAMILY_BESIDE: f32 = 0.15;
/// Weight of an abbreviation if the schema does not contain the word itself.
const SHORTENED: f32 = 0.4;
/// Weights of initials of three or more words, and of two words.
const INITIALS: f32 = 0.8;
const TWO_INITIALS: f32 = 0.4;
/// Maximum number of words that form initials.
const LONGEST_INITIALS: usize = 5;
/// Weight of a number, because most numbers are values.
const NUMBER: f32 = 0.5;
/// Weight of a single character if no pair with it matches.
const CHARACTER: f32 = 0.3;
/// Suffixes that ask for a count or ratio: `订单数` asks for `订单`, but table names do not contain the
/// suffix.
const COUNTERS: [char; 4] = ['数', '量', '率', '额'];
/// Maximum number of terms that contain a character for it to count.
const MOST_HOLDERS: usize = 12;

/// English stop words.
const EMPTY: &str = "a about above after all also am an and any are as at be been being below \
    between both but by can could did do does each either every for from had has have having he \
    her his how i if in into is it its many me more most much my of on or our per please she \
    should some than that the their them then there these they this those to under us was we were \
    what when where whether which while who whom whose why will with would you your not no \
    s t d ll re ve find show list give get tell return display want let see know";

/// Chinese stop words, longer ones first.
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

/// A word of the question with its candidate terms.
#[derive(Debug)]
pub(super) struct QueryTerm {
    /// The word in readable form.
    pub(super) word: String,
    /// Terms of the schema with weights of up to 1.
    pub(super) meant: Vec<(Term, f32)>,
}

impl QueryTerm {
    fn add(&mut self, term: Term, sure: f32) {
        match self.meant.iter_mut().find(|(known, _)| *known == term) {
            Some((_, known)) => *known = known.max(sure),
            None => self.meant.push((term, sure)),
        }
    }
}

/// Parses a question into query terms.
pub(super) fn read(
    question: &str,
    terms: &Terms,
    thesaurus: &Thesaurus,
    postings: &Postings,
) -> Vec<QueryTerm> {
    let mut reader = QuestionReader {
        terms,
        thesaurus,
        postings,
        read: HashSet::new(),
        seen: HashMap::new(),
        asked: Vec::new(),
    };
    let pieces = pieces(question);
    for run in pieces.chunk_by(|a, b| is_word(a) && is_word(b)) {
        match run {
            [TextRun::Number(digits)] => reader.number(digits),
            [TextRun::Characters(run)] => reader.characters(run),
            words => reader.words(words),
        }
        if reader.asked.len() >= MOST_WORDS {
            reader.asked.truncate(MOST_WORDS);
            break;
        }
    }
    reader.asked
}

/// Returns whether a word is a stop word.
pub(crate) fn is_stop_word(word: &str) -> bool {
    EMPTY.split(' ').any(|empty| empty == word)
}

/// Returns the content words of a question in base form; Chinese text is split into pairs of
/// characters.
pub(crate) fn content_words(question: &str) -> Vec<String> {
    let mut words = Vec::new();
    for piece in pieces(question) {
        match piece {
            TextRun::Word(word) if is_stop_word(&word) => {}
            TextRun::Word(word) => words.push(base(&word)),
            TextRun::Number(digits) => words.push(digits),
            TextRun::Characters(run) => {
                for part in without_asking(&run.iter().collect::<String>()) {
                    words.extend(bigrams(&part.chars().collect::<Vec<char>>()));
                }
            }
        }
        if words.len() >= MOST_WORDS {
            break;
        }
    }
    words
}

fn is_word(piece: &TextRun) -> bool {
    matches!(piece, TextRun::Word(_))
}

struct QuestionReader<'a> {
    terms: &'a Terms,
    thesaurus: &'a Thesaurus,
    postings: &'a Postings,
    /// Words processed so far.
    read: HashSet<String>,
    /// Words with their index in `asked`; `None` if a word has no meaning here.
    seen: HashMap<String, Option<usize>>,
    asked: Vec<QueryTerm>,
}

impl QuestionReader<'_> {
    /// Adds meanings of a word to those known so far.
    fn add_term(&mut self, word: &str, meant: Vec<(Term, f32)>) {
        if let Some(Some(place)) = self.seen.get(word) {
            for (term, sure) in meant {
                self.asked[*place].add(term, sure);
            }
            return;
        }
        let place = (!meant.is_empty()).then_some(self.asked.len());
        self.seen.insert(word.to_owned(), place);
        if place.is_some() {
            self.asked.push(QueryTerm {
                word: word.to_owned(),
                meant,
            });
        }
    }

    fn number(&mut self, digits: &str) {
        let meant = self.postings.find(digits).map(|term| (term, NUMBER));
        self.add_term(digits, meant.into_iter().collect());
    }

    fn words(&mut self, run: &[TextRun]) {
        let words: Vec<&str> = run
            .iter()
            .filter_map(|piece| match piece {
                TextRun::Word(word) => Some(word.as_str()),
                _ => None,
            })
            .collect();
        self.initials(&words);
        let bases: Vec<String> = words.iter().map(|word| base(word)).collect();
        for (i, word) in words.iter().enumerate().take(4 * MOST_WORDS) {
            if let Some((_, key, others)) = self.thesaurus.of_words(&bases[i..]) {
                self.others(&key, others, self.postings.find(&key).is_some());
            }
            if let Some(next) = words.get(i + 1) {
                self.together(word, next);
            }
            if !is_stop_word(word) {
                self.word(word);
            }
        }
    }

    /// Matches initials: `high school` may be `HS` in the schema. Requires that the schema lacks at
    /// least one of the words. Two initials are ambiguous, so for them the schema must lack both
    /// words.
    fn initials(&mut self, words: &[&str]) {
        let full: Vec<&str> = words
            .iter()
            .copied()
            .filter(|word| !is_stop_word(word))
            .collect();
        for start in 0..full.len().min(4 * MOST_WORDS) {
            let mut short = String::new();
            for word in full[start..].iter().take(LONGEST_INITIALS) {
                short.extend(word.chars().next());
                let sure = if short.len() < 3 {
                    TWO_INITIALS
                } else {
                    INITIALS
                };
                if !self.may_be_initials(&short, &full[start..]) {
                    continue;
                }
                let term = self.postings.find(&short);
                self.add_term(&short, term.map(|term| (term, sure)).into_iter().collect());
            }
        }
    }

    fn may_be_initials(&self, short: &str, words: &[&str]) -> bool {
        if short.len() < 2 || is_known(short) {
            return false;
        }
        let words = words.iter().take(short.chars().count());
        let (mut found, mut all) = (0, 0);
        for word in words {
            found += usize::from(self.postings.find(&base(word)).is_some());
            all += 1;
        }
        found == 0 || (all > 2 && found < all)
    }

    /// Matches joined words: `zip code` may be `zipcode` in the schema.
    fn together(&mut self, first: &str, second: &str) {
        let whole = base(&format!("{first}{second}"));
        let meant = self.postings.find(&whole).map(|term| (term, 1.0));
        self.add_term(&whole, meant.into_iter().collect());
    }

    /// Adds synonyms from a glossary. An entry of several terms counts if the schema contains all
    /// of them.
    fn others(&mut self, word: &str, others: &[Synonym], is_direct: bool) {
        for other in others {
            let sure = match (other.is_given, is_direct) {
                (true, _) => 1.0,
                (false, false) => RELATED,
                (false, true) => RELATED_BESIDE,
            };
            let terms: Option<Vec<Term>> = other
                .parts
                .iter()
                .map(|part| self.postings.find(part))
                .collect();
            for (i, term) in terms.into_iter().flatten().enumerate() {
                let place = if i == 0 {
                    word.to_owned()
                } else {
                    format!("{word} {}", i + 1)
                };
                self.add_term(&place, vec![(term, sure)]);
            }
        }
    }

    fn word(&mut self, word: &str) {
        let term = base(word);
        if !self.read.insert(term.clone()) {
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
        let sure = if direct.is_some() {
            FAMILY_BESIDE
        } else {
            FAMILY
        };
        let family = self.postings.family(&term).iter();
        meant.extend(family.filter(|t| Some(**t) != direct).map(|t| (*t, sure)));
        if direct.is_none() {
            self.shortened(&term, &mut meant);
        }
        self.add_term(&term, meant);
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

    /// Adds terms that may abbreviate a word.
    fn shortened(&self, word: &str, meant: &mut Vec<(Term, f32)>) {
        if word.len() < 4 || !word.is_ascii() {
            return;
        }
        let share = |part: usize, whole: usize| (part as f32 / whole as f32).sqrt();
        for (short, term) in self
            .postings
            .short_for(word)
            .filter(|(short, _)| short.len() > 2)
        {
            meant.push((term, SHORTENED * share(short.len(), word.len())));
        }
    }

    fn characters(&mut self, run: &[char]) {
        let text: String = run.iter().collect();
        for part in without_asking(&text) {
            let chars: Vec<char> = part.chars().collect();
            let mut is_found = vec![false; chars.len()];
            self.pairs(&chars, &mut is_found);
            self.entries(&chars, &mut is_found);
            self.single(&chars, &is_found);
        }
    }

    fn pairs(&mut self, chars: &[char], is_found: &mut [bool]) {
        for (i, pair) in bigrams(chars).into_iter().enumerate() {
            if let Some(term) = self.postings.find(&pair) {
                let is_count = is_found[i] && COUNTERS.iter().any(|c| pair.ends_with(*c));
                let sure = if is_count { CHARACTER } else { 1.0 };
                self.add_term(&pair, vec![(term, sure)]);
                is_found
                    .iter_mut()
                    .skip(i)
                    .take(2)
                    .for_each(|found| *found = true);
            }
        }
    }

    /// Matches glossary entries, the longest first from left to right.
    fn entries(&mut self, chars: &[char], is_found: &mut [bool]) {
        let mut at = 0;
        while at < chars.len() {
            let Some((length, key, others)) = self.thesaurus.of_characters(&chars[at..]) else {
                at += 1;
                continue;
            };
            let is_direct = is_found[at..at + length].iter().all(|found| *found);
            let before = self.asked.len();
            self.others(&key, others, is_direct);
            if self.asked.len() > before {
                is_found[at..at + length].fill(true);
            }
            at += length;
        }
    }

    /// Matches single characters without a matching pair, if few terms contain them.
    fn single(&mut self, chars: &[char], is_found: &[bool]) {
        for c in chars
            .iter()
            .zip(is_found)
            .filter(|(_, found)| !**found)
            .map(|(c, _)| *c)
        {
            let holders = self.postings.holders(c);
            if holders.len() <= MOST_HOLDERS {
                let meant = holders.iter().map(|term| (*term, CHARACTER)).collect();
                self.add_term(&c.to_string(), meant);
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
