//! Detects whether a question asks for a file, and in which format. table-chat calls this the
//! export intent.

/// Words that ask for a file.
const VERBS: [&str; 12] = [
    "export",
    "download",
    "save as",
    "save to",
    "save it as",
    "as a file",
    "导出",
    "下载",
    "另存为",
    "保存为",
    "存成",
    "生成文件",
];

/// Words for file formats, with the format of each.
const KINDS: [(&str, &str); 9] = [
    ("csv", "csv"),
    ("excel", "xlsx"),
    ("xlsx", "xlsx"),
    ("spreadsheet", "xlsx"),
    ("表格文件", "xlsx"),
    ("parquet", "parquet"),
    ("ndjson", "ndjson"),
    ("json", "json"),
    ("arrow", "arrow"),
];

/// Returns the file format that a question asks for, or `csv` if it asks for a file without naming
/// a format.
pub(super) fn export_format(question: &str) -> Option<&'static str> {
    let text = question.to_lowercase();
    if !VERBS.iter().any(|verb| text.contains(verb)) {
        return None;
    }
    let named = KINDS.iter().find(|(word, _)| text.contains(word));
    Some(named.map_or("csv", |(_, kind)| kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_wished_for_in_words() {
        for (question, kind) in [
            ("export all orders as JSON", Some("json")),
            ("导出订单为 Excel", Some("xlsx")),
            ("download the customers", Some("csv")),
            ("how many json columns are there?", None),
            ("下载每月销售额", Some("csv")),
        ] {
            assert_eq!(export_format(question), kind, "{question}");
        }
    }
}
