//! Derives the intent of a question from its words alone.

use std::collections::HashSet;

use super::vocabulary::words;

/// Aggregate that a question asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Aggregate {
    /// Row count.
    Count,
    /// Sum.
    Total,
    /// Their average.
    Average,
    /// Maximum.
    Greatest,
    /// Minimum.
    Least,
}

/// Parsed intent of a question.
#[derive(Debug, Default)]
pub(super) struct Intent {
    /// The aggregate, if the question asks for one.
    pub(super) sum: Option<Aggregate>,
    /// Words of the grouping: `by city`, `每个城市`.
    pub(super) by: HashSet<String>,
    /// All other words.
    pub(super) words: HashSet<String>,
    /// `true` for descending order, `false` for ascending order, if the question specifies one.
    pub(super) greatest_first: Option<bool>,
    /// Requested number of rows, if the question specifies one.
    pub(super) most: Option<u64>,
    /// Quoted texts, and capitalized words in the middle of a sentence.
    pub(super) values: Vec<String>,
    /// Whether the question is written in Chinese.
    pub(super) is_chinese: bool,
}

const SUMS: [(Aggregate, &[&str]); 5] = [
    (Aggregate::Average, &["average", "mean ", "avg", "平均"]),
    (Aggregate::Greatest, &["maximum", " max ", "最大值"]),
    (Aggregate::Least, &["minimum", " min ", "最小值"]),
    (
        Aggregate::Count,
        &[
            "how many",
            "number of",
            "count",
            "多少个",
            "多少家",
            "多少位",
            "多少名",
            "多少人",
            "多少条",
            "多少件",
            "多少笔",
            "多少种",
            "多少张",
            "多少款",
            "几个",
            "几家",
            "几位",
            "几种",
            "有多少",
            "个数",
        ],
    ),
    (
        Aggregate::Total,
        &["total", "sum ", "overall", "总", "合计"],
    ),
];
const GREATEST: [&str; 17] = [
    "most ",
    "highest",
    "largest",
    "biggest",
    "greatest",
    "best",
    "top ",
    "latest",
    "newest",
    "expensive",
    "最高",
    "最多",
    "最大",
    "最贵",
    "最新",
    "最好",
    "前",
];
const LEAST: [&str; 13] = [
    "least",
    "lowest",
    "smallest",
    "fewest",
    "cheapest",
    "worst",
    "oldest",
    "earliest",
    "最低",
    "最少",
    "最小",
    "最便宜",
    "最早",
];
/// Words that imply a measure without naming it.
const MEANT: [(&[&str], &str); 2] = [
    (&["expensive", "cheap", "贵", "便宜"], "price 单价 价格"),
    (
        &["latest", "newest", "oldest", "earliest", "最新", "最早"],
        "date time day 日期 时间",
    ),
];
/// Words before a grouping.
const BY: [&str; 8] = [" by ", " per ", "each ", "every ", "每一", "每", "各", "按"];
/// Words after a grouping.
const ENDS: [&str; 37] = [
    ",", ".", "?", "!", ";", " in ", " with ", " and ", " have", " has ", " is ", " are ", " do ",
    " does ", " did ", " where ", " for ", " from ", " ordered", " sorted", " we ", " of ",
    " order ", "的", "有", "是", "分组", "，", "。", "？", "、", "统计", "排", "一共", "共", "卖",
    "下",
];

impl Intent {
    /// Parses a question.
    pub(super) fn of(question: &str) -> Self {
        let text = format!("{} ", question.to_lowercase());
        let says = |said: &&str| text.contains(*said);
        let is_any = |list: &[&str]| list.iter().any(&says);
        let greatest_first = match () {
            () if is_any(&LEAST) => Some(false),
            () if is_any(&GREATEST) => Some(true),
            () => None,
        };
        let phrase = by(&text).unwrap_or_default();
        let rest = text.replacen(phrase, " ", usize::from(!phrase.is_empty()));
        let mut asked = words(&rest);
        for (said, meant) in MEANT {
            if is_any(said) {
                asked.extend(words(meant));
            }
        }
        Intent {
            sum: SUMS
                .iter()
                .find(|(_, said)| is_any(said))
                .map(|(sum, _)| *sum),
            by: words(phrase),
            words: asked,
            greatest_first,
            most: greatest_first.map(|_| number(&text).unwrap_or(10)),
            values: values(question),
            is_chinese: !question.is_ascii()
                && question
                    .chars()
                    .any(|c| ('\u{4e00}'..='\u{9fff}').contains(&c)),
        }
    }
}

/// Returns the part of the question that names the grouping.
fn by(text: &str) -> Option<&str> {
    let starts = BY
        .iter()
        .filter_map(|mark| Some(text.find(mark)? + mark.len()));
    let rest = text.get(starts.min()?..)?;
    let rest = rest
        .strip_prefix(['个', '种', '家', '位', '一'])
        .unwrap_or(rest);
    let end = ENDS.iter().filter_map(|mark| rest.find(mark)).min();
    rest.get(..end.unwrap_or(rest.len()))
}

/// Returns the requested number of rows: `top 5`, `前5`, `前五`.
fn number(text: &str) -> Option<u64> {
    const DIGITS: [&str; 10] = ["一", "二", "三", "四", "五", "六", "七", "八", "九", "十"];
    if let Some(rest) = text.split('前').nth(1)
        && let Some(place) = DIGITS.iter().position(|digit| rest.starts_with(digit))
    {
        return Some(place as u64 + 1);
    }
    let runs = text.split(|c: char| !c.is_ascii_digit());
    // A year is not a number of rows.
    runs.filter_map(|run| run.parse().ok())
        .find(|number| (1..=1000).contains(number))
}

/// Returns quoted texts or, if there are none, capitalized words in the middle of a sentence.
fn values(question: &str) -> Vec<String> {
    for (open, close) in [('"', '"'), ('“', '”'), ('「', '」'), ('\'', '\'')] {
        let quoted = question
            .split_once(open)
            .and_then(|(_, rest)| rest.split_once(close));
        if let Some((quoted, _)) = quoted.filter(|(quoted, _)| !quoted.trim().is_empty()) {
            return vec![quoted.to_owned()];
        }
    }
    let named = question.split_whitespace().skip(1);
    let named = named.map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()));
    let proper = |word: &&str| {
        let mut letters = word.chars();
        letters.next().is_some_and(char::is_uppercase)
            && letters.next().is_some_and(char::is_lowercase)
    };
    named.filter(proper).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted(words: &HashSet<String>) -> String {
        let mut words: Vec<&str> = words.iter().map(String::as_str).collect();
        words.sort_unstable();
        words.join(" ")
    }

    #[test]
    fn questions_are_read() {
        for (question, sum, by, first, most) in [
            (
                "How many customers are there?",
                Some(Aggregate::Count),
                "",
                None,
                None,
            ),
            (
                "Average salary per department",
                Some(Aggregate::Average),
                "department",
                None,
                None,
            ),
            (
                "top 5 products by price",
                None,
                "price",
                Some(true),
                Some(5),
            ),
            (
                "每个城市有多少客户？",
                Some(Aggregate::Count),
                "城市",
                None,
                None,
            ),
            (
                "各仓库的库存总量",
                Some(Aggregate::Total),
                "仓库",
                None,
                None,
            ),
            ("按付款方式统计付款金额", None, "付款 方式 款方", None, None),
            ("最便宜的三个商品", None, "", Some(false), Some(10)),
            ("价格前三的商品", None, "", Some(true), Some(3)),
        ] {
            let intent = Intent::of(question);
            let found = (
                intent.sum,
                sorted(&intent.by),
                intent.greatest_first,
                intent.most,
            );
            assert_eq!(found, (sum, by.to_owned(), first, most), "{question}");
        }
        assert_eq!(Intent::of("orders from London").values, ["London"]);
        assert_eq!(Intent::of("城市是“上海”的客户").values, ["上海"]);
    }
}
