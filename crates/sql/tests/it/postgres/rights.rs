//! What a role may do besides reading is said when its connection is put in.

use quillet_real_servers::Postgres;

use super::database;

async fn warnings(url: &str) -> Vec<String> {
    database(url).check().await.unwrap().warnings
}

#[tokio::test]
async fn a_role_that_can_only_read_has_no_warnings() {
    let server = Postgres::start();
    let reader = server.create_role("reader");
    server.execute("CREATE TABLE t (a int); CREATE SEQUENCE s; GRANT SELECT ON t, s TO reader");
    let checked = database(&reader).check().await.unwrap();
    assert_eq!(checked.warnings, [""; 0]);
    assert!(checked.version.starts_with(|c: char| c.is_ascii_digit()));
}

#[tokio::test]
async fn each_right_too_many_is_named() {
    let server = Postgres::start();
    server.execute(
        "CREATE TABLE t (a int); CREATE TABLE u (a int); CREATE SEQUENCE s; CREATE SCHEMA x",
    );
    for (i, (grant, needed)) in [
        ("ALTER ROLE who CREATEROLE", "may create roles"),
        ("ALTER ROLE who CREATEDB", "may create databases"),
        ("ALTER ROLE who REPLICATION", "may replicate"),
        ("ALTER ROLE who BYPASSRLS", "row security"),
        (
            "GRANT pg_read_server_files TO who",
            "has the rights of pg_read_server_files",
        ),
        (
            "GRANT pg_execute_server_program TO who",
            "pg_execute_server_program",
        ),
        ("GRANT CREATE ON DATABASE postgres TO who", "create schemas"),
        (
            "GRANT CREATE ON SCHEMA x TO who",
            "create tables in the schemas x",
        ),
        ("ALTER TABLE t OWNER TO who", "owns public.t"),
        ("GRANT INSERT ON u TO who", "may change the tables public.u"),
        (
            "GRANT UPDATE (a) ON u TO who",
            "may change the tables public.u",
        ),
        (
            "GRANT TRUNCATE ON u TO who",
            "may change the tables public.u",
        ),
        (
            "GRANT USAGE ON SEQUENCE s TO who",
            "may advance the sequences public.s",
        ),
        (
            "CREATE ROLE grp; GRANT DELETE ON u TO grp; GRANT grp TO who",
            "may change the tables public.u",
        ),
    ]
    .into_iter()
    .enumerate()
    {
        let role = format!("role_{i}");
        let url = server.create_role(&role);
        server.execute(&grant.replace("who", &role));
        let warnings = warnings(&url).await;
        assert_eq!(warnings.len(), 1, "{grant}: {warnings:?}");
        assert!(warnings[0].contains(needed), "{grant}: {warnings:?}");
    }
    let owner = warnings(&server.url()).await;
    assert_eq!(owner.len(), 1);
    assert!(owner[0].contains("superuser"), "{owner:?}");
}

#[tokio::test]
async fn long_lists_are_cut() {
    let server = Postgres::start();
    let url = server.create_role("writer");
    server.execute(
        "CREATE TABLE a (x int); CREATE TABLE b (x int); CREATE TABLE \"C c\" (x int); CREATE TABLE d (x int);
         GRANT UPDATE ON ALL TABLES IN SCHEMA public TO writer; CREATE EXTENSION dblink;",
    );
    let warnings = warnings(&url).await;
    assert_eq!(
        warnings,
        [
            "the role may change the tables public.\"C c\", public.a, public.b and more",
            "functions that reach files or other servers are installed: dblink",
        ]
    );
}
