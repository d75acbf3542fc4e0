use quillet_test_support::MariaDb;

#[test]
fn a_server_starts_takes_scripts_and_goes() {
    let server = MariaDb::start();
    server.execute(
        "CREATE TABLE t (a int, n text COMMENT '名字');\nINSERT INTO t VALUES (1, '订单'), (2, '😀');\n\
         DELIMITER //\nCREATE PROCEDURE p() BEGIN SELECT 1; END //\nDELIMITER ;\n",
    );
    let seen = server.look("test", "SELECT sum(a), group_concat(n) FROM t");
    assert_eq!(seen, "3\t订单,😀");
    let folder = server.folder().to_owned();
    assert!(folder.exists());
    drop(server);
    assert!(!folder.exists());
}

#[test]
fn servers_know_nothing_of_one_another() {
    let (one, two) = (MariaDb::start(), MariaDb::start());
    one.create_database("shop");
    one.create_role("reader");
    let databases = "SELECT count(*) FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = 'shop'";
    assert_eq!(one.look("test", databases), "1");
    assert_eq!(two.look("test", databases), "0");
    assert_ne!(one.url(), two.url());
}

#[test]
fn a_script_that_fails_says_where() {
    let server = MariaDb::start();
    let failed = std::panic::catch_unwind(|| server.execute("SELECT 1;\nSELECT nothing;"));
    let message = failed.unwrap_err().downcast::<String>().unwrap();
    assert!(message.contains("'nothing'"), "{message}");
}
