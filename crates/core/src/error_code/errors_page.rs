//! Checks that the tables of `docs/errors.md` match the code. `WRITE=1 cargo test -p quillet-core
//! --lib errors_page` regenerates them.

use std::path::Path;

use super::ErrorCode;

const BEGIN: &str = "<!-- from here on: cargo test -p quillet-core --lib errors_page -->\n";

#[test]
fn the_page_has_the_table_of_the_code() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/errors.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let (head, tables) = page.split_once(BEGIN).unwrap();
    let written = written();
    if std::env::var_os("WRITE").is_some() {
        std::fs::write(&path, [head, BEGIN, &written].concat()).unwrap();
    } else {
        assert!(
            tables == written,
            "docs/errors.md is out of date: run this test with WRITE=1"
        );
    }
}

fn written() -> String {
    let mut out = String::new();
    let mut page = "";
    for code in ErrorCode::ALL {
        if code.page() != page {
            page = code.page();
            out.push_str(&format!("\n## [{page}]({page})\n\n"));
            out.push_str("| code | meaning | fix | status | exit | retry | OpenAI |\n");
            out.push_str("|---|---|---|---|---|---|---|\n");
        }
        out.push_str(&row(*code));
    }
    out
}

fn row(code: ErrorCode) -> String {
    let status_of = code.status();
    let is_answered = code.row().status.is_some();
    let status = match (is_answered, code.sql_status()) {
        (false, _) => String::new(),
        (true, sql) if sql != status_of => format!("{status_of} ({sql})"),
        _ => status_of.to_string(),
    };
    let exit = code.row().exit.map(|exit| (exit as u8).to_string());
    let openai = code.openai();
    let is_same = openai.status == status_of && openai.code == Some(code.as_str());
    let openai = if is_same || !is_answered {
        String::new()
    } else {
        let own = openai.code.map(|code| format!("`{code}`"));
        let own = own.unwrap_or("the provider's".to_owned());
        format!("{} `{}` {own}", openai.status, openai.kind)
    };
    let cells = [
        format!("`{code}`"),
        code.meaning().trim_end_matches('.').to_owned(),
        code.help().to_owned(),
        status,
        exit.unwrap_or_default(),
        if code.retryable() { "yes" } else { "" }.to_owned(),
        openai,
    ];
    let cells = cells.map(|cell| {
        if cell.is_empty() {
            " |".to_owned()
        } else {
            format!(" {cell} |")
        }
    });
    format!("|{}\n", cells.concat())
}
