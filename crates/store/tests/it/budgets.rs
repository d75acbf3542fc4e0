//! Contract tests of budget usage in memory, SQLite and Redis. Two connections stand for two
//! processes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use proptest::prelude::*;
use quillet_core::budget::{
    Account, AccountUsage, Amount, BudgetLimit, BudgetUnit, Budgets, Reservation, ReserveResult,
};
use quillet_core::store::Health;
use quillet_store::{MemoryBudgets, SqliteBudgets, StoreOptions, open_budgets};
use quillet_test_support::{Cluster, RedisServer, TempDir, free_port};

use crate::support::patient;

const HOUR: Duration = Duration::from_secs(3600);
const DAY_MS: u64 = 86_400_000;

fn options(prefix: &str) -> StoreOptions {
    StoreOptions {
        prefix: Some(prefix.to_owned()),
        ..patient()
    }
}

fn open(address: &str, prefix: &str) -> Arc<dyn Budgets> {
    open_budgets(address, &options(prefix), false).unwrap()
}

fn account(name: &str, tokens: u64) -> Account {
    Account {
        name: name.into(),
        limit: BudgetLimit {
            tokens: Some(tokens),
            nano_usd: None,
        },
    }
}

fn tokens(tokens: u64) -> Amount {
    Amount {
        tokens,
        nano_usd: tokens * 10,
    }
}

fn held(reserved: ReserveResult) -> Reservation {
    match reserved {
        ReserveResult::Held { hold, .. } => hold,
        ReserveResult::Over { .. } => panic!("{reserved:?}"),
    }
}

async fn used(books: &Arc<dyn Budgets>, name: &str) -> (u64, u64) {
    let (used, left) = books.used(&[name.into()]).await.unwrap();
    assert!(left <= Duration::from_millis(DAY_MS) && !left.is_zero());
    (used[0].spent.tokens, used[0].held.tokens)
}

async fn all_accounts_hold_or_none(one: &Arc<dyn Budgets>, two: &Arc<dyn Budgets>) {
    let both = [account("all", 100), account("key:ci", 30)];
    let first = one.reserve("1", &both, tokens(20), HOUR).await.unwrap();
    let first = held(first);
    let over = two.reserve("2", &both, tokens(11), HOUR).await.unwrap();
    match over {
        ReserveResult::Over {
            account,
            unit,
            used,
            left,
        } => {
            assert_eq!((account, unit), (1, BudgetUnit::Tokens));
            assert_eq!((used.spent, used.held), (Amount::default(), tokens(20)));
            assert!(left <= Duration::from_millis(DAY_MS));
        }
        ReserveResult::Held { .. } => panic!("{over:?}"),
    }
    assert_eq!(used(one, "all").await, (0, 20));
    // Another process settles a higher amount than was reserved.
    two.settle(&first, tokens(25)).await.unwrap();
    assert_eq!(used(one, "all").await, (25, 0));
    assert_eq!(used(one, "key:ci").await, (25, 0));
    let second = one.reserve("3", &both, tokens(5), HOUR).await.unwrap();
    match &second {
        ReserveResult::Held { seen, .. } => assert_eq!(seen[0].spent, tokens(25)),
        ReserveResult::Over { .. } => panic!("{second:?}"),
    }
    two.settle(&held(second), Amount::default()).await.unwrap();
    // A limit of 0 rejects every call, even a call whose cost is unknown.
    let none = [account("none", 0)];
    let refused = one.reserve("4", &none, tokens(1), HOUR).await.unwrap();
    assert!(matches!(refused, ReserveResult::Over { .. }));
}

/// The reservation of a dead process expires. If its cost is still reported, it counts.
async fn who_dies_lets_go(one: &Arc<dyn Budgets>, two: &Arc<dyn Budgets>) {
    let only = [account("dead", 10)];
    let short = Duration::from_millis(300);
    let dead = one.reserve("1", &only, tokens(10), short).await.unwrap();
    let dead = held(dead);
    let refused = two.reserve("2", &only, tokens(1), HOUR).await.unwrap();
    assert!(matches!(refused, ReserveResult::Over { .. }));
    let next = loop {
        let next = two.reserve("3", &only, tokens(10), HOUR).await.unwrap();
        if let ReserveResult::Held { hold, .. } = next {
            break hold;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    assert_eq!(used(one, "dead").await, (0, 10));
    one.settle(&dead, tokens(4)).await.unwrap();
    two.settle(&next, tokens(3)).await.unwrap();
    assert_eq!(used(one, "dead").await, (7, 0));
}

/// Concurrent reservations succeed only as long as the budget is sufficient.
async fn none_is_overdrawn(one: &Arc<dyn Budgets>, two: &Arc<dyn Budgets>) {
    let mut asking = tokio::task::JoinSet::new();
    for number in 0..200 {
        let books = if number % 2 == 0 { one } else { two }.clone();
        asking.spawn(async move {
            let only = [account("rush", 70)];
            let id = format!("rush-{number}");
            let reserved = books.reserve(&id, &only, tokens(7), HOUR).await.unwrap();
            match reserved {
                ReserveResult::Held { hold, .. } => {
                    books.settle(&hold, tokens(7)).await.unwrap();
                    1
                }
                ReserveResult::Over { .. } => 0,
            }
        });
    }
    let through: u64 = asking.join_all().await.into_iter().sum();
    assert_eq!(through, 10);
    assert_eq!(used(one, "rush").await, (70, 0));
}

async fn all(one: &Arc<dyn Budgets>, two: &Arc<dyn Budgets>) {
    all_accounts_hold_or_none(one, two).await;
    who_dies_lets_go(one, two).await;
    none_is_overdrawn(one, two).await;
}

#[tokio::test]
async fn memory_keeps_them() {
    let books = open("memory:", "");
    all(&books, &books).await;
}

#[tokio::test]
async fn sqlite_keeps_them_for_the_processes_of_a_machine() {
    let folder = TempDir::new();
    let address = format!("sqlite:{}", folder.path().join("books.db").display());
    all(&open(&address, ""), &open(&address, "")).await;
}

#[tokio::test]
async fn redis_keeps_them_for_all_replicas() {
    let server = RedisServer::start();
    let url = server.url();
    all(&open(&url, "a:"), &open(&url, "a:")).await;
    // All keys expire.
    let books = open(&url, "a:");
    let only = [account("x", 1)];
    held(books.reserve("dead", &only, tokens(1), HOUR).await.unwrap());
    for key in ["a:budgets:{day}", "a:budgets:{day}:held"] {
        let left = server.cli(&["PTTL", key]);
        let left: i64 = left.trim().parse().unwrap();
        assert!((1..=2 * DAY_MS as i64).contains(&left), "{key}: {left}");
    }
}

#[tokio::test]
async fn a_cluster_keeps_them_in_one_slot() {
    let cluster = Cluster::start();
    let url = cluster.url();
    let one = open(&url, "c:");
    all_accounts_hold_or_none(&one, &open(&url, "c:")).await;
}

static CLOCK: AtomicU64 = AtomicU64::new(20_000 * DAY_MS + 1);

fn clock() -> u64 {
    CLOCK.load(Ordering::Relaxed)
}

/// Usage starts at zero on the next day. A call that began on the day before counts on neither day.
async fn a_day_begins(books: &Arc<dyn Budgets>, next_day: impl AsyncFn()) {
    let only = [account("all", 10)];
    let spent = books.reserve("1", &only, tokens(6), HOUR).await.unwrap();
    books.settle(&held(spent), tokens(6)).await.unwrap();
    let over_midnight = books.reserve("2", &only, tokens(4), HOUR).await.unwrap();
    let over_midnight = held(over_midnight);
    let refused = books.reserve("3", &only, tokens(1), HOUR).await.unwrap();
    assert!(matches!(refused, ReserveResult::Over { .. }));
    next_day().await;
    assert_eq!(used(books, "all").await, (0, 0));
    let new = books.reserve("4", &only, tokens(10), HOUR).await.unwrap();
    books.settle(&over_midnight, tokens(4)).await.unwrap();
    assert_eq!(used(books, "all").await, (0, 10));
    books.settle(&held(new), tokens(9)).await.unwrap();
    assert_eq!(used(books, "all").await, (9, 0));
}

#[tokio::test]
async fn days_are_those_of_utc() {
    let tomorrow = async || {
        CLOCK.fetch_add(DAY_MS, Ordering::Relaxed);
    };
    let memory: Arc<dyn Budgets> = Arc::new(MemoryBudgets::at(clock));
    a_day_begins(&memory, tomorrow).await;
    let folder = TempDir::new();
    let file = folder.path().join("books.db");
    let sqlite: Arc<dyn Budgets> = Arc::new(SqliteBudgets::at(&file, clock));
    a_day_begins(&sqlite, tomorrow).await;
    // Redis uses its own clock, so its data is changed to be a day older.
    let server = RedisServer::start();
    let books = open(&server.url(), "d:");
    let only = [account("all", 10)];
    let spent = books.reserve("1", &only, tokens(6), HOUR).await.unwrap();
    let spent = held(spent);
    let (_, left) = books.used(&["all".into()]).await.unwrap();
    // A settled amount counts on the day of its reservation.
    let old = Reservation {
        day: spent.day - 1,
        ..spent.clone()
    };
    books.settle(&old, tokens(6)).await.unwrap();
    assert_eq!(used(&books, "all").await, (0, 6));
    server.cli(&["HINCRBY", "d:budgets:{day}", "day", "-1"]);
    assert_eq!(used(&books, "all").await, (0, 0));
    assert!(left <= Duration::from_millis(DAY_MS));
}

/// While Redis is unavailable, each process continues from the usage that Redis last reported, and
/// adds its costs to Redis afterwards.
#[tokio::test]
async fn while_redis_is_away_each_keeps_its_own_books() {
    let port = free_port();
    let server = RedisServer::start_at(port, &[]);
    let url = server.url();
    let (one, two) = (open(&url, "w:"), open(&url, "w:"));
    let alone = open_budgets(&url, &options("w:"), true).unwrap();
    let only = [account("all", 100)];
    let others = one.reserve("1", &only, tokens(40), HOUR).await.unwrap();
    one.settle(&held(others), tokens(40)).await.unwrap();
    let known = alone.reserve("2", &only, tokens(10), HOUR).await.unwrap();
    alone.settle(&held(known), tokens(10)).await.unwrap();
    drop(server);
    let error = two.reserve("3", &only, tokens(1), HOUR).await.unwrap_err();
    assert!(!error.to_string().is_empty());
    let under_way = alone.reserve("4", &only, tokens(5), HOUR).await.unwrap();
    assert!(matches!(alone.health(), Health::Away { .. }));
    // Of the limit of 100, this process knows of 40 used by the other processes, 10 used by itself,
    // and 5 that are reserved.
    let over = alone.reserve("5", &only, tokens(46), HOUR).await.unwrap();
    assert!(matches!(over, ReserveResult::Over { .. }), "{over:?}");
    alone.settle(&held(under_way), tokens(5)).await.unwrap();
    let server = RedisServer::start_at(port, &[]);
    // Redis is empty after its restart, and the first request records the missing cost.
    loop {
        alone.used(&["all".into()]).await.unwrap();
        if alone.health() == Health::Ready {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(used(&open(&server.url(), "w:"), "all").await, (5, 0));
}

/// An operation by one of two processes.
#[derive(Clone, Debug)]
enum Done {
    Reserve { of: usize, amount: u64 },
    Settle { which: usize, amount: u64 },
}

fn done() -> impl Strategy<Value = Vec<Done>> {
    let one = prop_oneof![
        3 => (0..3usize, 0..40u64).prop_map(|(of, amount)| Done::Reserve { of, amount }),
        2 => (0..8usize, 0..50u64).prop_map(|(which, amount)| Done::Settle { which, amount }),
    ];
    prop::collection::vec(one, 1..30)
}

/// Reference implementation that adds up all reservations and their costs each time.
#[derive(Default)]
struct ReservationLog(Vec<(Reservation, Option<u64>)>);

impl ReservationLog {
    fn of(&self, name: &str) -> (u64, u64) {
        let of =
            |(hold, _): &&(Reservation, Option<u64>)| hold.accounts.iter().any(|it| &**it == name);
        let spent = self
            .0
            .iter()
            .filter(of)
            .filter_map(|(_, spent)| *spent)
            .sum();
        let open = self
            .0
            .iter()
            .filter(of)
            .filter(|(_, spent)| spent.is_none());
        (spent, open.map(|(hold, _)| hold.amount.tokens).sum())
    }
}

async fn books_are_right(one: Arc<dyn Budgets>, two: Arc<dyn Budgets>, all: &[Done]) {
    let sets = [
        vec![account("all", 200)],
        vec![account("all", 200), account("key:a", 60)],
        vec![account("all", 200), account("key:b", 90)],
    ];
    let mut reckoned = ReservationLog::default();
    for (number, done) in all.iter().enumerate() {
        let books = if number % 2 == 0 { &one } else { &two };
        match done {
            Done::Reserve { of, amount } => {
                let accounts = &sets[*of];
                let fits = accounts.iter().all(|account| {
                    let (spent, held) = reckoned.of(&account.name);
                    spent + held + amount <= account.limit.tokens.unwrap()
                });
                let id = format!("{number}");
                let reserved = books.reserve(&id, accounts, tokens(*amount), HOUR).await;
                match reserved.unwrap() {
                    ReserveResult::Held { hold, .. } => {
                        assert!(fits, "{done:?}");
                        reckoned.0.push((hold, None));
                    }
                    ReserveResult::Over { .. } => assert!(!fits, "{done:?}"),
                }
            }
            Done::Settle { which, amount } => {
                let mut open = reckoned.0.iter_mut().filter(|(_, spent)| spent.is_none());
                if let Some((hold, spent)) = open.nth(*which) {
                    books.settle(hold, tokens(*amount)).await.unwrap();
                    *spent = Some(*amount);
                }
            }
        }
        let names = ["all", "key:a", "key:b"];
        let asked: Vec<Arc<str>> = names.iter().map(|name| (*name).into()).collect();
        let (seen, _) = two.used(&asked).await.unwrap();
        for (name, seen) in names.iter().zip(seen) {
            let (spent, held) = reckoned.of(name);
            let expected = AccountUsage {
                spent: tokens(spent),
                held: tokens(held),
            };
            assert_eq!(seen, expected, "{name} after {done:?}");
        }
    }
}

#[test]
fn the_books_are_those_that_one_reckons_by_hand() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let server = RedisServer::start();
    let folder = TempDir::new();
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig::with_cases(40));
    let cases = AtomicU64::new(0);
    let tried = runner.run(&done(), |all| {
        let case = cases.fetch_add(1, Ordering::Relaxed);
        runtime.block_on(async {
            let memory = open("memory:", "");
            books_are_right(memory.clone(), memory, &all).await;
            let file = folder.path().join(format!("{case}.db"));
            let address = format!("sqlite:{}", file.display());
            books_are_right(open(&address, ""), open(&address, ""), &all).await;
            let prefix = format!("p{case}:");
            let url = server.url();
            books_are_right(open(&url, &prefix), open(&url, &prefix), &all).await;
        });
        Ok(())
    });

    tried.unwrap();
}
