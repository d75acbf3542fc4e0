//! Privileges of a role beyond reading, from `SHOW GRANTS`.

/// Privileges that only allow reading, or nothing at all.
const READING: [&str; 9] = [
    "BINLOG MONITOR",
    "PROCESS",
    "REFERENCES",
    "REPLICATION CLIENT",
    "SELECT",
    "SHOW DATABASES",
    "SHOW VIEW",
    "SLAVE MONITOR",
    "USAGE",
];

/// Returns a sentence for each privilege beyond reading in `SHOW GRANTS`. Never repeats the text
/// after the object, which contains names and password hashes.
pub(super) fn warnings(grants: &[String]) -> Vec<String> {
    let mut warnings: Vec<String> = Vec::new();
    for warning in grants.iter().flat_map(|line| of_line(line)) {
        if !warnings.contains(&warning) {
            warnings.push(warning);
        }
    }
    warnings
}

/// Returns privileges in `SHOW GRANTS` that reach beyond databases: files and the server.
pub(super) fn powers(grants: &[String]) -> Vec<&'static str> {
    const POWERS: [&str; 2] = ["FILE", "SUPER"];
    let mut found = Vec::new();
    for line in grants {
        let Some((rights, rest)) = parts(line) else {
            continue;
        };
        // ALL PRIVILEGES on one database does not include global privileges such as FILE.
        let everywhere = rest.starts_with("*.*");
        for right in names(rights) {
            let all = right == "ALL PRIVILEGES" && everywhere;
            let powers = POWERS.iter().filter(|power| all || **power == right);
            found.extend(powers.copied());
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// Returns statements that create a role with read access to these databases only.
pub(super) fn reader(schemas: &[String]) -> String {
    let mut text = "CREATE USER quillet_reader@'%' IDENTIFIED BY 'choose a password';".to_owned();
    for schema in schemas {
        let name = crate::chain::quoted(schema, crate::SqlDialect::MySql);
        text.push_str(&format!(
            "\nGRANT SELECT, SHOW VIEW ON {name}.* TO quillet_reader@'%';"
        ));
    }
    text
}

fn of_line(line: &str) -> Vec<String> {
    // A granted role has no ON clause; its privileges have lines of their own.
    let Some((rights, rest)) = parts(line) else {
        return Vec::new();
    };
    let (object, rest) = rest.split_once(" TO ").unwrap_or((rest, ""));
    let mut warnings = Vec::new();
    let mut writing: Vec<&str> = Vec::new();
    for right in names(rights) {
        match right {
            "FILE" => warnings.push(
                "the role may read and write files of the server (FILE)".to_owned(),
            ),
            "ALL PRIVILEGES" => warnings.push(format!("the role may do everything on {object}")),
            "EXECUTE" => warnings.push(format!(
                "the role may call functions and procedures, which may have more privileges than the role (EXECUTE on {object})"
            )),
            "PROXY" => warnings.push("the role may act as another user (PROXY)".to_owned()),
            right if READING.contains(&right) => {}
            right => writing.push(right),
        }
    }
    if !writing.is_empty() {
        warnings.push(format!("the role may {} on {object}", writing.join(", ")));
    }
    if rest.contains("WITH GRANT OPTION") {
        warnings.push(format!(
            "the role may grant its privileges on {object} to others (GRANT OPTION)"
        ));
    }
    warnings
}

/// Splits a line into its privileges and the text after ON.
fn parts(line: &str) -> Option<(&str, &str)> {
    line.strip_prefix("GRANT ")?.split_once(" ON ")
}

/// Returns the privilege names in upper case as the server prints them, without column lists.
fn names(rights: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    let pieces = rights.split(|c| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    });
    pieces
        .map(|piece| piece.split('(').next().unwrap_or(piece).trim())
        .filter(|name| !name.is_empty())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_are_what_reaches_outside() {
        for (line, expected) in [
            ("GRANT SELECT ON `shop`.* TO `r`@`%`", &[][..]),
            ("GRANT ALL PRIVILEGES ON `shop`.* TO `r`@`%`", &[]),
            (
                "GRANT ALL PRIVILEGES ON *.* TO `r`@`%` WITH GRANT OPTION",
                &["FILE", "SUPER"],
            ),
            ("GRANT SELECT, FILE ON *.* TO `r`@`%`", &["FILE"]),
            ("GRANT PROCESS, SUPER ON *.* TO `r`@`%`", &["SUPER"]),
        ] {
            assert_eq!(powers(&[line.to_owned()]), expected, "{line}");
        }
    }

    #[test]
    fn grants_become_sentences_without_secrets() {
        for (line, expected) in [
            (
                "GRANT USAGE ON *.* TO `r`@`%` IDENTIFIED BY PASSWORD '*6BB4837E'",
                &[][..],
            ),
            ("GRANT SELECT, SHOW VIEW ON `shop`.* TO `r`@`%`", &[]),
            (
                "GRANT SELECT (`id`, `name`) ON `shop`.`users` TO `r`@`%`",
                &[],
            ),
            ("GRANT `readers` TO `r`@`%`", &[]),
            (
                "GRANT SELECT, INSERT (`a`, `b`), DELETE ON `shop`.`t` TO `r`@`%`",
                &["the role may INSERT, DELETE on `shop`.`t`"],
            ),
            (
                "GRANT ALL PRIVILEGES ON *.* TO `root`@`%` IDENTIFIED BY PASSWORD '*6BB' WITH GRANT OPTION",
                &[
                    "the role may do everything on *.*",
                    "the role may grant its privileges on *.* to others (GRANT OPTION)",
                ],
            ),
            (
                "GRANT FILE, SUPER ON *.* TO `r`@`%`",
                &[
                    "the role may read and write files of the server (FILE)",
                    "the role may SUPER on *.*",
                ],
            ),
            (
                "GRANT EXECUTE ON PROCEDURE `d`.`p` TO `r`@`%`",
                &[
                    "the role may call functions and procedures, which may have more privileges than the role (EXECUTE on PROCEDURE `d`.`p`)",
                ],
            ),
            (
                "GRANT PROXY ON ''@'%' TO 'root'@'localhost' WITH GRANT OPTION",
                &[
                    "the role may act as another user (PROXY)",
                    "the role may grant its privileges on ''@'%' to others (GRANT OPTION)",
                ],
            ),
        ] {
            assert_eq!(warnings(&[line.to_owned()]), expected, "{line}");
        }
    }
}
