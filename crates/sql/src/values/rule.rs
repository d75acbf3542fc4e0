//! Rules for the columns to sample: short texts that categorize a row. They must not identify the
//! row or a person, or grant access to anything.
//!
//! The rules use types and names, because no rows have been read yet. In doubt a column is
//! excluded. `docs/sql/safety.md` describes the rules for data owners.

use foldhash::{HashMap, HashMapExt};

use super::ValuesConfig;
use crate::SqlDialect;
use crate::catalogue::{Catalogue, DatabaseTable, TableColumn, TableType};
use crate::rank::Terms;

/// Words in names of columns that are never read: secrets and personal data. They are compared in
/// base form, so that plurals match too.
const PRIVATE: &[&str] = &[
    "address",
    "auth",
    "bank",
    "bic",
    "birth",
    "birthday",
    "biography",
    "card",
    "cellphone",
    "cookie",
    "credential",
    "credentials",
    "cvc",
    "cvv",
    "dob",
    "email",
    "fax",
    "firstname",
    "fullname",
    "hash",
    "iban",
    "ip",
    "key",
    "lastname",
    "lat",
    "latitude",
    "license",
    "login",
    "longitude",
    "mail",
    "mobile",
    "nonce",
    "otp",
    "pass",
    "passcode",
    "passphrase",
    "passport",
    "passwd",
    "password",
    "phone",
    "pin",
    "plate",
    "private",
    "pwd",
    "salt",
    "secret",
    "session",
    "signature",
    "ssn",
    "street",
    "surname",
    "swift",
    "tax",
    "telephone",
    "tel",
    "token",
    "username",
    "vat",
    "zip",
    "zipcode",
    "postcode",
];
/// Pairs of adjacent words with the same effect.
const PRIVATE_TOGETHER: &[[&str; 2]] = &[
    ["account", "number"],
    ["first", "name"],
    ["family", "name"],
    ["full", "name"],
    ["given", "name"],
    ["last", "name"],
    ["maiden", "name"],
    ["middle", "name"],
    ["nick", "name"],
    ["user", "name"],
    ["post", "code"],
    ["postal", "code"],
    ["medical", "record"],
];
/// Words for identifiers, file paths and long texts, which do not categorize rows.
const NAMELESS: &[&str] = &[
    "body",
    "checksum",
    "comment",
    "content",
    "description",
    "digest",
    "etag",
    "file",
    "guid",
    "html",
    "id",
    "json",
    "markdown",
    "message",
    "note",
    "path",
    "payload",
    "query",
    "remark",
    "sha",
    "sql",
    "text",
    "uid",
    "uri",
    "url",
    "uuid",
    "xml",
];
/// The same words in Chinese, in names and comments.
const PRIVATE_CHINESE: &[&str] = &[
    "密码",
    "口令",
    "密钥",
    "令牌",
    "验证码",
    "邮箱",
    "邮件",
    "电话",
    "手机",
    "身份证",
    "证件",
    "护照",
    "地址",
    "住址",
    "姓名",
    "卡号",
    "账号",
    "帐号",
    "银行",
    "签名",
    "生日",
    "出生",
    "微信",
    "车牌",
    "税号",
    "病历",
];

/// Columns of one table to sample.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SampleRequest {
    /// Index of the table in the catalogue.
    pub(crate) table: usize,
    /// Indexes of its columns.
    pub(crate) columns: Vec<usize>,
}

/// Returns the columns to sample, those of the most connected tables first, then those of the
/// largest; and the number of columns omitted because of the limit.
pub(crate) fn select_columns(
    catalogue: &Catalogue,
    config: &ValuesConfig,
) -> (Vec<SampleRequest>, usize) {
    let degrees = degrees(catalogue);
    let mut order: Vec<usize> = (0..catalogue.tables.len()).collect();
    order.sort_by_key(|i| {
        let rows = catalogue.tables[*i].row_count;
        (std::cmp::Reverse((degrees[*i], rows)), *i)
    });
    let (mut found, mut left, mut omitted) = (Vec::new(), config.columns, 0);
    for table in order {
        let mut columns = columns(&catalogue.tables[table], catalogue.dialect);
        // The omitted columns are counted for the log, so that operators notice the limit.
        omitted += columns.len().saturating_sub(left);
        columns.truncate(left);
        left -= columns.len();
        if !columns.is_empty() {
            found.push(SampleRequest { table, columns });
        }
    }
    (found, omitted)
}

/// Returns the number of foreign keys from or to each table.
fn degrees(catalogue: &Catalogue) -> Vec<usize> {
    let mut by_name: HashMap<(&str, &str), usize> = HashMap::new();
    for (i, table) in catalogue.tables.iter().enumerate() {
        by_name.insert((&table.schema_name, &table.table_name), i);
    }
    let mut degrees = vec![0; catalogue.tables.len()];
    for (i, table) in catalogue.tables.iter().enumerate() {
        degrees[i] += table.foreign_keys.len();
        for key in &table.foreign_keys {
            if let Some(other) = by_name.get(&(key.ref_schema.as_str(), key.ref_table.as_str())) {
                degrees[*other] += 1;
            }
        }
    }
    degrees
}

/// Returns the columns of a table to sample. Views may be expensive, and foreign tables belong to
/// another server, so both are excluded.
fn columns(table: &DatabaseTable, dialect: SqlDialect) -> Vec<usize> {
    if !matches!(
        table.table_type,
        TableType::Table | TableType::MaterializedView
    ) {
        return Vec::new();
    }
    let keys = table.columns.iter().filter(|column| column.is_primary_key);
    let has_long_key = keys.count() > 1;
    let is_wanted = |column: &TableColumn| {
        let in_key = |name: &String| *name == column.name;
        let is_foreign = || {
            table
                .foreign_keys
                .iter()
                .any(|key| key.columns.iter().any(in_key))
        };
        column.values.is_empty()
            && (has_long_key || !column.is_primary_key)
            && is_short_text(column, dialect)
            && !is_private(column)
            && !is_foreign()
    };
    let all = table.columns.iter().enumerate();
    all.filter(|(_, column)| is_wanted(column))
        .map(|(i, _)| i)
        .collect()
}

/// Returns whether it is a text column of any declared length; long values are detected when they
/// are read. Binary types are excluded.
fn is_short_text(column: &TableColumn, dialect: SqlDialect) -> bool {
    let domain = column
        .extra
        .as_deref()
        .and_then(|extra| extra.strip_prefix("domain of "));
    let kind = domain.unwrap_or(&column.data_type).to_ascii_lowercase();
    if kind.ends_with(']') {
        return false;
    }
    let name = kind.split('(').next().unwrap_or_default().trim();
    match dialect {
        SqlDialect::PostgreSql => matches!(
            name,
            "character varying" | "character" | "text" | "citext" | "varchar" | "bpchar"
        ),
        SqlDialect::MySql => matches!(
            name,
            "varchar" | "char" | "tinytext" | "text" | "mediumtext" | "longtext"
        ),
        // These are SQLite's own rules for declared types.
        SqlDialect::Sqlite => ["char", "clob", "text"]
            .iter()
            .any(|part| kind.contains(part)),
    }
}

fn is_private(column: &TableColumn) -> bool {
    let named = parts(&column.name);
    let has = |list: &[&str]| named.iter().any(|word| list.contains(&word.as_str()));
    let together = named.windows(2).any(|pair| {
        let mut known = PRIVATE_TOGETHER.iter();
        known.any(|[first, second]| pair[0] == *first && pair[1] == *second)
    });
    let comment = column.comment.as_deref().unwrap_or_default();
    let chinese = |text: &str| PRIVATE_CHINESE.iter().any(|word| text.contains(word));
    let told = parts(comment);
    // In comments, words such as `key` or `address` are ambiguous, so only these words count.
    let is_told = ["password", "secret", "email", "phone", "ssn", "passport"]
        .iter()
        .any(|word| told.iter().any(|said| said == word));
    has(PRIVATE)
        || has(NAMELESS)
        || together
        || is_told
        || chinese(&column.name)
        || chinese(comment)
}

/// Returns the words of a name, with compounds split.
fn parts(text: &str) -> Vec<String> {
    let mut parts = Vec::new();
    Terms::default().of(text, |part| parts.push(part));
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(name: &str, data_type: &str) -> TableColumn {
        TableColumn {
            name: name.to_owned(),
            data_type: data_type.to_owned(),
            ..TableColumn::default()
        }
    }

    fn taken(columns_of: Vec<TableColumn>) -> Vec<String> {
        let table = DatabaseTable {
            columns: columns_of,
            ..DatabaseTable::default()
        };
        let places = columns(&table, SqlDialect::PostgreSql);
        places
            .into_iter()
            .map(|i| table.columns[i].name.clone())
            .collect()
    }

    #[test]
    fn secrets_persons_and_identifiers_are_left_out() {
        for name in [
            "password",
            "PasswordHash",
            "api_key",
            "apiKeys",
            "access_token",
            "email",
            "EMail",
            "e_mail",
            "phone_number",
            "phones",
            "first_name",
            "lastName",
            "user_name",
            "username",
            "home_address",
            "street",
            "iban",
            "credit_card",
            "client_secret",
            "ssn",
            "birth_date",
            "session",
            "url",
            "order_uuid",
            "id",
            "客户姓名",
            "登录密码",
            "手机号",
            "notes",
            "ip_address",
            "userpassword",
            "accesstokens",
            "zip_code",
            "postal_code",
            "card_numbers",
        ] {
            assert_eq!(taken(vec![column(name, "text")]), [""; 0], "{name}");
        }
        for name in [
            "status",
            "city",
            "country",
            "name",
            "product_name",
            "category",
            "payment_method",
            "订单状态",
            "城市",
            "type",
            "department",
            "title",
            "brand",
            "level",
            "currency",
        ] {
            assert_eq!(taken(vec![column(name, "text")]), [name], "{name}");
        }
        let told = TableColumn {
            comment: Some("登录密码".to_owned()),
            ..column("mm", "text")
        };
        assert_eq!(taken(vec![told]), [""; 0]);
    }

    #[test]
    fn only_texts_are_taken() {
        for (kind, dialect, is_text) in [
            ("character varying(20)", SqlDialect::PostgreSql, true),
            ("text", SqlDialect::PostgreSql, true),
            ("text[]", SqlDialect::PostgreSql, false),
            ("bytea", SqlDialect::PostgreSql, false),
            ("uuid", SqlDialect::PostgreSql, false),
            ("jsonb", SqlDialect::PostgreSql, false),
            ("varchar(20)", SqlDialect::MySql, true),
            ("varbinary(20)", SqlDialect::MySql, false),
            ("blob", SqlDialect::MySql, false),
            ("VARCHAR(20)", SqlDialect::Sqlite, true),
            ("NVARCHAR", SqlDialect::Sqlite, true),
            ("INTEGER", SqlDialect::Sqlite, false),
            ("BLOB", SqlDialect::Sqlite, false),
            ("", SqlDialect::Sqlite, false),
        ] {
            let found = is_short_text(&column("status", kind), dialect);
            assert_eq!(found, is_text, "{dialect} {kind}");
        }
    }
}
