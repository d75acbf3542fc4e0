//! Letter case by words. The rules are those of the two Go libraries that Sprig uses: xstrings 1.5
//! for snake, kebab and camel case, and goutils for the other functions.
//!
//! Texts are sequences of characters. `initials` and `nospace` reproduce Go's behavior of treating
//! every byte as a character. Otherwise prompts would differ from those of a Go host.

/// Class of a text for the word splitter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CharClass {
    /// A space, `_` or `-`.
    Connector,
    Punctuation,
    /// A word that begins with an upper-case letter.
    Upper,
    /// Letters of alphabets, which do not include Chinese characters.
    Letters,
    Number,
    Other,
    End,
}

/// Converts `FirstName` to `first_name`.
pub(super) fn snake(text: &str) -> String {
    lower_words(text, '_')
}

/// Converts `FirstName` to `first-name`.
pub(super) fn kebab(text: &str) -> String {
    lower_words(text, '-')
}

/// Converts `first_name` to `FirstName`. Leading connectors stay, and one of each pair of adjacent
/// connectors stays too. If the text consists only of connectors, the last one is doubled, because
/// xstrings also treats it as a letter.
pub(super) fn camel(text: &str) -> String {
    let body = text.trim_start_matches(is_connector);
    let mut out = text[..text.len() - body.len()].to_owned();
    let mut chars = body.chars();
    let Some(first) = chars.next() else {
        out.extend(text.chars().next_back());
        return out;
    };
    let mut shouting = first.is_uppercase();
    let mut last = upper(first);
    for mut current in chars {
        if is_connector(last) {
            if is_connector(current) {
                out.push(std::mem::replace(&mut last, current));
                continue;
            }
            shouting = current.is_uppercase();
            current = upper(current);
        } else {
            if shouting && current.is_uppercase() {
                current = lower(current);
            } else {
                shouting = false;
            }
            out.push(last);
        }
        last = current;
    }
    out.push(last);
    out
}

/// Converts every letter that follows a non-letter to title case.
pub(super) fn title(text: &str) -> String {
    let mut after_word = false;
    text.chars()
        .map(|c| {
            let begins = !after_word;
            after_word = !separates(c);
            if begins { title_case(c) } else { c }
        })
        .collect()
}

/// Converts every letter that follows white space to lower case.
pub(super) fn untitle(text: &str) -> String {
    let mut after_space = true;
    text.chars()
        .map(|c| {
            let begins = std::mem::replace(&mut after_space, c.is_whitespace());
            if begins { lower(c) } else { c }
        })
        .collect()
}

/// Swaps upper and lower case.
pub(super) fn swap_case(text: &str) -> String {
    let swap = |c: char| match c {
        c if c.is_uppercase() => lower(c),
        c if c.is_lowercase() => upper(c),
        c => c,
    };
    text.chars().map(swap).collect()
}

/// Returns the first byte of every word as a Latin-1 character, like goutils.
pub(super) fn initials(text: &[u8]) -> String {
    let mut after_space = true;
    text.iter()
        .map(|&byte| char::from(byte))
        .filter(|c| {
            let begins = std::mem::replace(&mut after_space, c.is_whitespace());
            begins && !c.is_whitespace()
        })
        .collect()
}

/// Removes white space. Like goutils, it converts the remaining bytes to Latin-1 characters if it
/// removes anything.
pub(super) fn without_space(text: &[u8]) -> Vec<u8> {
    let kept: Vec<char> = text
        .iter()
        .map(|&byte| char::from(byte))
        .filter(|c| !c.is_whitespace())
        .collect();
    if kept.len() == text.len() {
        return text.to_vec();
    }
    kept.iter().collect::<String>().into_bytes()
}

/// State of the splitter: the current word and the remaining text.
struct WordSplitter<'a> {
    kind: CharClass,
    word: &'a str,
    rest: &'a str,
    connector: char,
    out: String,
}

fn lower_words(text: &str, connector: char) -> String {
    let mut words = WordSplitter {
        kind: CharClass::End,
        word: "",
        rest: text,
        connector,
        out: String::with_capacity(text.len() + 8),
    };
    words.advance();
    while !words.rest.is_empty() {
        words.turn();
    }
    words.push(words.kind, words.word);
    words.out
}

impl WordSplitter<'_> {
    fn advance(&mut self) {
        let (kind, length) = first_word(self.rest);
        self.kind = kind;
        (self.word, self.rest) = self.rest.split_at(length);
    }

    /// Writes the current word, and the separator before the next word.
    fn turn(&mut self) {
        let (kind, word) = (self.kind, self.word);
        if kind != CharClass::Connector {
            self.push(kind, word);
        }
        self.advance();
        match kind {
            CharClass::Number => self.after_number(),
            CharClass::Connector => self.push(kind, word),
            CharClass::Punctuation => {}
            _ if self.kind != CharClass::Number => self.separate(),
            _ if !self.rest.is_empty() => self.number_after_word(),
            _ => {}
        }
    }

    /// Splits `20xOK` as `20x_ok`, because letters belong to the number before them.
    fn after_number(&mut self) {
        while matches!(self.kind, CharClass::Letters | CharClass::Number) {
            self.push(self.kind, self.word);
            self.advance();
        }
        self.separate();
    }

    /// Splits `Bld4Floor` as `bld4_floor`, but `http2xx` as `http_2xx`.
    fn number_after_word(&mut self) {
        let number = self.word;
        self.advance();
        if self.kind != CharClass::Letters {
            self.out.push_str(number);
            self.separate();
            return;
        }
        self.out.push(self.connector);
        self.out.push_str(number);
        self.after_number();
    }

    fn separate(&mut self) {
        if !matches!(
            self.kind,
            CharClass::End | CharClass::Connector | CharClass::Punctuation
        ) {
            self.out.push(self.connector);
        }
    }

    fn push(&mut self, kind: CharClass, word: &str) {
        if !matches!(kind, CharClass::Upper | CharClass::Connector) {
            self.out.push_str(word);
            return;
        }
        let connector = self.connector;
        let lowered = word.chars().map(|c| match c {
            c if is_connector(c) => connector,
            c if c.is_uppercase() => lower(c),
            c => c,
        });
        self.out.extend(lowered);
    }
}

fn first_word(text: &str) -> (CharClass, usize) {
    let Some(first) = text.chars().next() else {
        return (CharClass::End, 0);
    };
    let kind = kind_of(first);
    let length = match kind {
        CharClass::Upper => upper_word(text),
        CharClass::Number => run(text, char::is_numeric),
        CharClass::Connector => run(text, is_connector),
        CharClass::Letters => run(text, |c| is_letter(c) && !c.is_uppercase()),
        _ => run(text, |c| kind_of(c) == kind),
    };
    (kind, length)
}

/// Returns the length of a capitalized word: `Name`, or `HTTP` in `HTTPStatus`.
fn upper_word(text: &str) -> usize {
    let capitals = run(text, char::is_uppercase);
    let mut chars = text[capitals..].chars();
    let followed = chars.next().is_some_and(is_letter);
    let last = text[..capitals].chars().next_back();
    match last.map_or(0, char::len_utf8) {
        last if followed && last < capitals => capitals - last,
        _ if followed => capitals + run(&text[capitals..], |c| is_letter(c) && !c.is_uppercase()),
        _ => capitals,
    }
}

/// Returns the length of the prefix of `text` whose characters all match.
fn run(text: &str, matches: impl Fn(char) -> bool) -> usize {
    text.find(|c| !matches(c)).unwrap_or(text.len())
}

fn kind_of(c: char) -> CharClass {
    match c {
        c if is_connector(c) => CharClass::Connector,
        c if is_punctuation(c) => CharClass::Punctuation,
        c if c.is_uppercase() => CharClass::Upper,
        c if is_letter(c) => CharClass::Letters,
        c if c.is_numeric() => CharClass::Number,
        _ => CharClass::Other,
    }
}

fn is_connector(c: char) -> bool {
    c == '-' || c == '_' || c.is_whitespace()
}

/// Whether a character is a letter of an alphabet. Chinese characters have no case, so Chinese text
/// is not split.
fn is_letter(c: char) -> bool {
    c.is_alphabetic()
        && !matches!(c, '\u{3400}'..='\u{4D85}' | '\u{4E00}'..='\u{9FCC}' | '\u{20000}'..='\u{2B81D}')
}

/// Whether a character is punctuation (Unicode category P). Only common blocks are covered: ASCII,
/// general punctuation, Chinese and full-width punctuation.
fn is_punctuation(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_punctuation() && !"$+<=>^`|~".contains(c);
    }
    matches!(c, '¡' | '§' | '«' | '¶' | '·' | '»' | '¿')
        || matches!(c, '\u{2010}'..='\u{2027}' | '\u{2030}'..='\u{2043}' | '\u{2045}'..='\u{2051}' | '\u{2053}'..='\u{205E}')
        || matches!(c, '\u{3001}'..='\u{3003}' | '\u{3008}'..='\u{3011}' | '\u{3014}'..='\u{301F}' | '\u{30FB}')
        || matches!(c, '！'..='＃' | '％'..='＊' | '，'..='／' | '：' | '；' | '？' | '＠' | '［'..='］' | '＿' | '｛' | '｝' | '｟'..='･')
}

/// Whether a character separates words for `title` (Go's `strings.Title`). In ASCII these are all
/// characters except letters, digits and the underscore, otherwise only white space.
fn separates(c: char) -> bool {
    match c {
        '_' => false,
        c if c.is_ascii() => !c.is_ascii_alphanumeric(),
        c if c.is_alphabetic() || c.is_numeric() => false,
        c => c.is_whitespace(),
    }
}

/// Returns the upper-case form. If it is not a single character, as for `ß`, the character stays
/// unchanged, as in Go.
pub(super) fn upper(c: char) -> char {
    single(c.to_uppercase(), c)
}

/// Returns the title-case form. For a digraph character, only the first letter becomes upper case.
fn title_case(c: char) -> char {
    match c {
        'Ǆ'..='ǆ' => 'ǅ',
        'Ǉ'..='ǉ' => 'ǈ',
        'Ǌ'..='ǌ' => 'ǋ',
        'Ǳ'..='ǳ' => 'ǲ',
        c => upper(c),
    }
}

/// Returns the lower-case form, if it is a single character.
pub(super) fn lower(c: char) -> char {
    // This is the only letter whose lower-case form has two characters.
    if c == 'İ' {
        return 'i';
    }
    single(c.to_lowercase(), c)
}

fn single(mut forms: impl Iterator<Item = char>, original: char) -> char {
    match (forms.next(), forms.next()) {
        (Some(form), None) => form,
        _ => original,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_split_as_xstrings_does() {
        // Examples from the documentation of xstrings, and its special cases for numbers.
        let cases = [
            ("FirstName", "first_name"),
            ("HTTPServer", "http_server"),
            ("NoHTTPS", "no_https"),
            ("GO_PATH", "go_path"),
            ("GO PATH", "go_path"),
            ("GO-PATH", "go_path"),
            ("http2xx", "http_2xx"),
            ("HTTP20xOK", "http_20x_ok"),
            ("Duration2m3s", "duration_2m3s"),
            ("Bld4Floor3rd", "bld4_floor_3rd"),
            ("  pad  ", "__pad__"),
            ("src/pkg/main.go", "src/pkg/main.go"),
            ("helloWorldHTTPServer", "hello_world_http_server"),
            ("héllo 世界", "héllo_世界"),
            ("", ""),
        ];
        for (text, wanted) in cases {
            assert_eq!(snake(text), wanted, "{text}");
            assert_eq!(kebab(text), wanted.replace('_', "-"), "{text}");
        }
    }

    #[test]
    fn camel_case_keeps_connectors_at_the_ends() {
        let cases = [
            ("some_words", "SomeWords"),
            ("_complex__case_", "_Complex_Case_"),
            ("GOLANG_IS_GREAT", "GolangIsGreat"),
            ("  pad  ", "  Pad  "),
            ("helloWorldHTTPServer", "HelloWorldHTTPServer"),
            ("x", "X"),
            ("a_", "A_"),
            ("_", "__"),
            ("__", "___"),
            (" ", "  "),
            ("", ""),
        ];
        for (text, wanted) in cases {
            assert_eq!(camel(text), wanted, "{text}");
        }
    }

    /// Sprig after 3.3.0, with xstrings 1.5. Sprig 3.2 with xstrings 1.4 keeps every capital (`ABC`
    /// as `ABC`, `GOLANG_IS_GREAT` as `GOLANGISGREAT`).
    #[test]
    fn capitals_in_a_row_are_one_word() {
        let cases = [
            ("ABC", "Abc", "abc"),
            ("aBC", "ABC", "a_bc"),
            ("ABc", "Abc", "a_bc"),
            ("ABC_DEF", "AbcDef", "abc_def"),
            ("FooBar", "FooBar", "foo_bar"),
            ("foo_BAR", "FooBar", "foo_bar"),
            ("fooBAR", "FooBAR", "foo_bar"),
            ("HTTPServer", "Httpserver", "http_server"),
            ("JSONData_v3", "JsondataV3", "json_data_v3"),
            ("API2Key", "Api2Key", "api2_key"),
            ("URL-to HTML", "UrlToHtml", "url_to_html"),
            ("éCole_ÉTÉ", "ÉColeÉté", "é_cole_été"),
            ("a__b--C", "A_B-C", "a__b__c"),
            ("v2Beta10", "V2Beta10", "v2_beta10"),
            ("X_1y", "X1y", "x_1y"),
            ("a1B", "A1B", "a1_b"),
            ("A", "A", "a"),
        ];
        for (text, camels, snakes) in cases {
            assert_eq!(camel(text), camels, "{text}");
            assert_eq!(snake(text), snakes, "{text}");
            assert_eq!(kebab(text), snakes.replace('_', "-"), "{text}");
        }
    }

    #[test]
    fn bytes_are_taken_for_characters_where_goutils_does() {
        assert_eq!(initials("héllo 世界".as_bytes()), "hä");
        assert_eq!(without_space("ab c".as_bytes()), b"abc");
        assert_eq!(without_space("é".as_bytes()), "é".as_bytes());
        assert_eq!(without_space("é x".as_bytes()), "Ã©x".as_bytes());
    }
}
