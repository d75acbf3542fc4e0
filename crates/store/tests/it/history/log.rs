//! Audit log.

use quillet_core::history::{Action, LogEntry, LogFilter};

use super::{Bench, history};

pub(super) async fn hold(bench: &Bench) {
    is_read_newest_first(bench).await;
    loses_no_line_of_two_writers(bench).await;
}

fn line(who: &str, id: &str, at_ms: u64) -> LogEntry {
    LogEntry {
        number: 0,
        at_ms,
        who: who.into(),
        from: "127.0.0.1 «测试»".into(),
        action: Action::Write,
        kind: "prompt".into(),
        id: id.into(),
        version: Some(at_ms),
        label: None,
        message: "line\nbreak".into(),
    }
}

fn of(who: Option<&str>, id: Option<&str>, kind: Option<&str>) -> LogFilter {
    LogFilter {
        kind: kind.map(Into::into),
        id: id.map(Into::into),
        who: who.map(Into::into),
    }
}

async fn is_read_newest_first(bench: &Bench) {
    assert_eq!(
        history(&bench.store)
            .log(&LogFilter::default(), None, 9)
            .await
            .unwrap(),
        []
    );
    for at in 1..=6 {
        let entry = LogEntry {
            action: Action::ALL[at as usize - 1],
            label: (at == 3).then(|| "production".into()),
            ..line(
                ["ada", "joe"][at as usize % 2],
                ["x.a", "x.b"][at as usize / 4],
                at,
            )
        };
        history(&bench.store).note(&entry).await.unwrap();
    }
    let all = LogFilter::default();
    let log = history(&bench.other).log(&all, None, 9).await.unwrap();
    let times = |lines: &[LogEntry]| -> Vec<u64> { lines.iter().map(|it| it.at_ms).collect() };
    assert_eq!(times(&log), [6, 5, 4, 3, 2, 1]);
    assert!(log.windows(2).all(|two| two[0].number > two[1].number));
    let third = LogEntry {
        number: log[3].number,
        action: Action::Label,
        label: Some("production".into()),
        ..line("joe", "x.a", 3)
    };
    assert_eq!(log[3], third);
    for (filter, expected) in [
        (of(Some("ada"), None, None), vec![6, 4, 2]),
        (of(None, Some("x.b"), None), vec![6, 5, 4]),
        (of(Some("joe"), Some("x.a"), Some("prompt")), vec![3, 1]),
        (of(None, None, Some("tool")), vec![]),
        (of(Some("nobody"), None, None), vec![]),
    ] {
        let lines = history(&bench.other).log(&filter, None, 9).await.unwrap();
        assert_eq!(times(&lines), expected, "{filter:?}");
        // The log is read in pages of one entry.
        let (mut before, mut paged) = (None, Vec::new());
        loop {
            let page = history(&bench.store).log(&filter, before, 1).await.unwrap();
            let Some(line) = page.first() else { break };
            assert_eq!(page.len(), 1);
            before = Some(line.number);
            paged.push(line.at_ms);
        }
        assert_eq!(paged, expected, "{filter:?}");
    }
}

async fn loses_no_line_of_two_writers(bench: &Bench) {
    let writers = [("w1", &bench.store), ("w2", &bench.other)].map(|(who, store)| {
        let store = store.clone();
        tokio::spawn(async move {
            for at in 0..50 {
                history(&store).note(&line(who, "race", at)).await.unwrap();
            }
        })
    });
    for writer in writers {
        writer.await.unwrap();
    }
    for who in ["w1", "w2"] {
        let filter = of(Some(who), Some("race"), None);
        let lines = history(&bench.store).log(&filter, None, 999).await.unwrap();
        let times: Vec<u64> = lines.iter().map(|line| line.at_ms).collect();
        let expected: Vec<u64> = (0..50).rev().collect();
        assert_eq!(times, expected, "{who}");
        assert!(lines.windows(2).all(|two| two[0].number > two[1].number));
    }
}
