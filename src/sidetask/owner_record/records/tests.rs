use super::*;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use tokio::sync::Semaphore;

const SHOOT: ShootNames<'_> = ShootNames { namespace: "shoot--dev--blue", name: "blue", project: "dev" };

/// Answers with what it was told, as often as it may.
struct Fake {
    answer: std::sync::Mutex<Result<Vec<String>, LookupError>>,
    calls: AtomicUsize,
    may: Semaphore,
    seconds: AtomicU64,
}

impl Fake {
    fn new(values: &[&str]) -> Arc<Self> {
        let values = values.iter().map(|&value| value.to_owned()).collect();
        let may = Semaphore::new(1000);
        let (calls, seconds) = (AtomicUsize::default(), AtomicU64::default());
        Arc::new(Self { answer: std::sync::Mutex::new(Ok(values)), calls, may, seconds })
    }

    fn calls(&self) -> usize {
        self.calls.load(Ordering::SeqCst)
    }

    fn pass(&self, seconds: u64) {
        self.seconds.fetch_add(seconds, Ordering::SeqCst);
    }
}

impl TxtResolver for Arc<Fake> {
    async fn values(&self, _name: &str) -> Result<Vec<String>, LookupError> {
        self.calls.fetch_add(1, Ordering::SeqCst);
        self.may.acquire().await.unwrap().forget();
        self.answer.lock().unwrap().clone()
    }
}

fn records_at_rate(fake: &Arc<Fake>, rate: u32) -> OwnerRecords<Arc<Fake>> {
    let template = NameTemplate::parse("owner.{name}.{project}.org").unwrap();
    let (start, clock) = (Instant::now(), Arc::clone(fake));
    OwnerRecords::new(template, "seed-1", Duration::from_secs(30), NonZeroU32::new(rate).unwrap(), Arc::clone(fake))
        .unwrap()
        .with_clock(move || start + Duration::from_secs(clock.seconds.load(Ordering::SeqCst)))
}

fn records(fake: &Arc<Fake>) -> OwnerRecords<Arc<Fake>> {
    records_at_rate(fake, 1000)
}

#[tokio::test]
async fn asks_once_an_interval() {
    let fake = Fake::new(&["seed-1"]);
    let records = records(&fake);
    records.owns(SHOOT).await.unwrap();
    fake.pass(29);
    *fake.answer.lock().unwrap() = Ok(vec!["seed-2".to_owned()]);
    records.owns(SHOOT).await.unwrap();
    assert_eq!(fake.calls(), 1);
    fake.pass(1);
    assert!(matches!(records.owns(SHOOT).await, Err(OwnerRecordError::Foreign { .. })));
    assert_eq!(fake.calls(), 2);
}

#[tokio::test]
async fn a_failure_is_not_the_owner_and_is_kept_as_long() {
    let fake = Fake::new(&["seed-1"]);
    let records = records(&fake);
    records.owns(SHOOT).await.unwrap();
    fake.pass(30);
    *fake.answer.lock().unwrap() = Err(LookupError("SERVFAIL".to_owned()));
    for _ in 0..3 {
        let error = records.owns(SHOOT).await.unwrap_err();
        assert!(matches!(error, OwnerRecordError::Unknown { .. }));
        assert!(error.to_string().contains("SERVFAIL"));
    }
    assert_eq!(fake.calls(), 2);
    *fake.answer.lock().unwrap() = Ok(vec!["seed-1".to_owned()]);
    fake.pass(30);
    records.owns(SHOOT).await.unwrap();
}

#[tokio::test]
async fn an_answer_is_as_old_as_its_question() {
    let fake = Fake::new(&["seed-1"]);
    fake.may.forget_permits(1000);
    let records = Arc::new(records(&fake));
    let asking = tokio::spawn({
        let records = Arc::clone(&records);
        async move { records.owns(SHOOT).await }
    });
    while fake.calls() == 0 {
        tokio::task::yield_now().await;
    }
    fake.pass(30);
    fake.may.add_permits(2);
    asking.await.unwrap().unwrap();
    records.owns(SHOOT).await.unwrap();
    assert_eq!(fake.calls(), 2);
}

#[tokio::test]
async fn many_that_ask_for_one_name_make_one_look_up_also_when_the_first_gives_up() {
    let fake = Fake::new(&["seed-1"]);
    fake.may.forget_permits(1000);
    let records = Arc::new(records(&fake));
    let ask = || {
        let records = Arc::clone(&records);
        tokio::spawn(async move { records.owns(SHOOT).await })
    };
    let first = ask();
    while fake.calls() == 0 {
        tokio::task::yield_now().await;
    }
    let others: Vec<_> = (0..10).map(|_| ask()).collect();
    tokio::task::yield_now().await;
    assert_eq!(fake.calls(), 1);
    first.abort();
    fake.may.add_permits(1);
    for other in others {
        other.await.unwrap().unwrap();
    }
    assert_eq!(fake.calls(), 2);
}

#[tokio::test]
async fn one_name_does_not_wait_for_another_and_old_answers_go() {
    let fake = Fake::new(&["seed-1"]);
    let records = records(&fake);
    for name in ["a", "b", "c"] {
        records.owns(ShootNames { name, ..SHOOT }).await.unwrap();
    }
    assert_eq!((fake.calls(), records.slots.lock().unwrap().len()), (3, 3));
    fake.pass(30);
    records.owns(ShootNames { name: "d", ..SHOOT }).await.unwrap();
    assert_eq!(records.slots.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn look_ups_beyond_the_rate_wait_for_their_turn() {
    let fake = Fake::new(&["seed-1"]);
    let records = records_at_rate(&fake, 10);
    let start = Instant::now();
    let names: Vec<String> = (0..15).map(|number| format!("shoot-{number}")).collect();
    let all = names.iter().map(|name| records.owns(ShootNames { name, ..SHOOT }));
    assert!(futures::future::join_all(all).await.iter().all(Result::is_ok));
    // Ten at once, five more at ten a second.
    assert!(start.elapsed() >= Duration::from_millis(400), "{:?}", start.elapsed());
    assert_eq!(fake.calls(), 15);
}

#[test]
fn refuses_what_cannot_be_meant() {
    let fake = Fake::new(&[]);
    let template = NameTemplate::parse("{namespace}.org").unwrap();
    let new = |owner: &str, seconds| {
        let interval = Duration::from_secs(seconds);
        OwnerRecords::new(template.clone(), owner, interval, NonZeroU32::MIN, Arc::clone(&fake)).err()
    };
    assert_eq!(new("", 30), Some(OwnerConfigError::NoOwner));
    assert!(matches!(new("seed-1", 0), Some(OwnerConfigError::Interval(_))));
    assert!(matches!(new("seed-1", 601), Some(OwnerConfigError::Interval(_))));
}
