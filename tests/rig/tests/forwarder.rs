//! The forwarder learns late, spreads new connections, and keeps established ones.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rig::forwarder::{Forwarder, LATE};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

const SOON: Duration = Duration::from_secs(60);

/// A replica that answers every byte with its own letter, and is ready or not.
struct Replica {
    admission: SocketAddr,
    admin: SocketAddr,
    ready: Arc<AtomicBool>,
}

impl Replica {
    async fn start(letter: u8) -> Self {
        let admission = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let admin = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let ready = Arc::new(AtomicBool::new(true));
        let replica = Self {
            admission: admission.local_addr().unwrap(),
            admin: admin.local_addr().unwrap(),
            ready: ready.clone(),
        };
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = admission.accept().await {
                tokio::spawn(async move {
                    while stream.read_u8().await.is_ok() && stream.write_u8(letter).await.is_ok() {}
                });
            }
        });
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = admin.accept().await {
                let mut buffer = [0; 1024];
                let _ = stream.read(&mut buffer).await;
                let status = if ready.load(Ordering::Relaxed) { "200 OK" } else { "503 Service Unavailable" };
                let answer = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
                let _ = stream.write_all(answer.as_bytes()).await;
            }
        });
        replica
    }
}

/// Which replica answers on a connection; `None` if it is closed.
async fn ask(stream: &mut TcpStream) -> Option<char> {
    stream.write_u8(0).await.ok()?;
    stream.read_u8().await.ok().map(char::from)
}

async fn connect(forwarder: &Forwarder) -> TcpStream {
    TcpStream::connect(forwarder.address()).await.unwrap()
}

#[tokio::test]
async fn new_connections_go_round_and_established_ones_stay() {
    let (a, b) = (Replica::start(b'a').await, Replica::start(b'b').await);
    let forwarder = Forwarder::start().unwrap();
    let a_id = forwarder.add(a.admission, a.admin).unwrap();
    let b_id = forwarder.add(b.admission, b.admin).unwrap();
    forwarder.await_ready(2, SOON).await.unwrap();

    let mut connections = Vec::new();
    for _ in 0..4 {
        connections.push(connect(&forwarder).await);
    }
    let mut answers = Vec::new();
    for connection in &mut connections {
        answers.push(ask(connection).await.unwrap());
    }
    assert_eq!(answers.iter().filter(|answer| **answer == 'a').count(), 2, "{answers:?}");
    assert_eq!((forwarder.opened(a_id), forwarder.opened(b_id)), (2, 2));

    b.ready.store(false, Ordering::Relaxed);
    forwarder.await_ready(1, SOON).await.unwrap();

    for (connection, answer) in connections.iter_mut().zip(answers) {
        assert_eq!(ask(connection).await, Some(answer), "an established connection stays");
    }
    for _ in 0..3 {
        assert_eq!(ask(&mut connect(&forwarder).await).await, Some('a'));
    }
    drop(connections);
    rig::until("the connections are closed", SOON, || async {
        Ok((forwarder.open(a_id) == 0 && forwarder.open(b_id) == 0).then_some(()))
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn a_change_arrives_two_seconds_late() {
    let replica = Replica::start(b'a').await;
    let forwarder = Forwarder::start().unwrap();
    assert_eq!(ask(&mut connect(&forwarder).await).await, None, "nobody is there");

    let added = Instant::now();
    let id = forwarder.add(replica.admission, replica.admin).unwrap();
    forwarder.await_ready(1, SOON).await.unwrap();
    assert!(added.elapsed() >= LATE, "{:?}", added.elapsed());

    let changed = Instant::now();
    replica.ready.store(false, Ordering::Relaxed);
    while forwarder.ready_replicas() == 1 {
        assert_eq!(ask(&mut connect(&forwarder).await).await, Some('a'), "it still gets connections");
        assert!(changed.elapsed() < SOON);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(changed.elapsed() >= LATE, "{:?}", changed.elapsed());

    replica.ready.store(true, Ordering::Relaxed);
    forwarder.await_ready(1, SOON).await.unwrap();
    let removed = Instant::now();
    forwarder.remove(id);
    forwarder.await_ready(0, SOON).await.unwrap();
    assert!(removed.elapsed() >= LATE, "{:?}", removed.elapsed());
}
