use super::*;
use std::collections::HashMap;
use std::net::Ipv4Addr;
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use crate::sidetask::owner_record::{NameTemplate, OwnerRecordError, OwnerRecords, ShootNames};
use tokio::net::UdpSocket;

/// What the server does when it is asked for a name.
#[derive(Clone)]
enum Zone {
    /// Each value as the strings of one TXT record.
    Txt(Vec<Vec<&'static str>>),
    /// An answer with this code and no record.
    Code(u8),
    Silence,
}

/// A name server on loopback. Answers last for a day, by their TTL.
struct Server {
    address: SocketAddr,
    zones: Arc<Mutex<HashMap<String, Zone>>>,
    asked: Arc<AtomicUsize>,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Server {
    async fn start() -> Self {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = socket.local_addr().unwrap();
        let zones: Arc<Mutex<HashMap<String, Zone>>> = Arc::default();
        let asked: Arc<AtomicUsize> = Arc::default();
        let task = tokio::spawn({
            let (zones, asked) = (Arc::clone(&zones), Arc::clone(&asked));
            async move {
                let mut buffer = [0; 4096];
                while let Ok((length, from)) = socket.recv_from(&mut buffer).await {
                    asked.fetch_add(1, Ordering::SeqCst);
                    let answer = answer(&buffer[..length], &zones.lock().unwrap());
                    if let Some(answer) = answer {
                        socket.send_to(&answer, from).await.unwrap();
                    }
                }
            }
        });
        Self { address, zones, asked, task }
    }

    fn set(&self, name: &str, zone: Zone) {
        self.zones.lock().unwrap().insert(name.to_owned(), zone);
    }

    async fn values(&self, name: &str) -> Result<Vec<String>, LookupError> {
        DnsResolver::at(self.address).unwrap().values(name).await
    }
}

/// RFC 1035, section 4: the header, the question as it came, and the answers.
fn answer(question: &[u8], zones: &HashMap<String, Zone>) -> Option<Vec<u8>> {
    let mut name = String::new();
    let mut at = 12;
    while question[at] != 0 {
        let label = &question[at + 1..=at + usize::from(question[at])];
        name.push_str(std::str::from_utf8(label).unwrap());
        name.push('.');
        at += 1 + label.len();
    }
    let question_end = at + 5;
    assert_eq!(question[at + 1..question_end], [0, 16, 0, 1], "TXT, IN");
    let (code, records) = match zones.get(&name).cloned().unwrap_or(Zone::Code(3)) {
        Zone::Txt(records) => (0, records),
        Zone::Code(code) => (code, Vec::new()),
        Zone::Silence => return None,
    };
    let count = u8::try_from(records.len()).unwrap();
    let mut bytes = vec![question[0], question[1], 0x81, 0x80 | code, 0, 1, 0, count, 0, 0, 0, 0];
    bytes.extend(&question[12..question_end]);
    for strings in records {
        let data: Vec<u8> = strings
            .iter()
            .flat_map(|string| std::iter::once(u8::try_from(string.len()).unwrap()).chain(string.bytes()))
            .collect();
        // A pointer to the name in the question; TXT, IN, a TTL of a day, the length.
        bytes.extend([0xc0, 12, 0, 16, 0, 1]);
        bytes.extend(86_400_u32.to_be_bytes());
        bytes.extend(u16::try_from(data.len()).unwrap().to_be_bytes());
        bytes.extend(data);
    }
    Some(bytes)
}

#[tokio::test]
async fn reads_all_values_and_puts_the_strings_of_each_together() {
    let server = Server::start().await;
    server.set("owner.org.", Zone::Txt(vec![vec!["seed", "-1"], vec!["seed-2"]]));
    let mut values = server.values("owner.org.").await.unwrap();
    values.sort();
    assert_eq!(values, ["seed-1", "seed-2"]);
}

#[tokio::test]
async fn no_record_and_no_answer_are_errors() {
    let server = Server::start().await;
    for code in [0, 2, 3, 5] {
        server.set("owner.org.", Zone::Code(code));
        assert!(server.values("owner.org.").await.is_err(), "{code}");
    }
    server.set("owner.org.", Zone::Silence);
    assert!(server.values("owner.org.").await.is_err());
    assert!(server.asked.load(Ordering::SeqCst) >= 5);
}

#[tokio::test]
async fn keeps_no_answer_for_its_ttl() {
    let server = Server::start().await;
    let resolver = DnsResolver::at(server.address).unwrap();
    for value in ["seed-1", "seed-2"] {
        server.set("owner.org.", Zone::Txt(vec![vec![value]]));
        assert_eq!(resolver.values("owner.org.").await.unwrap(), [value]);
    }
    server.set("owner.org.", Zone::Code(3));
    assert!(resolver.values("owner.org.").await.is_err());
    server.set("owner.org.", Zone::Txt(vec![vec!["seed-1"]]));
    assert_eq!(resolver.values("owner.org.").await.unwrap(), ["seed-1"]);
}

#[tokio::test]
async fn tells_own_shoots_from_those_of_another_seed() {
    let server = Server::start().await;
    server.set("owner.blue.dev.org.", Zone::Txt(vec![vec!["seed-1"]]));
    server.set("owner.green.dev.org.", Zone::Txt(vec![vec!["seed-2"]]));
    let template = NameTemplate::parse("owner.{name}.{project}.org").unwrap();
    let resolver = DnsResolver::at(server.address).unwrap();
    let rate = NonZeroU32::new(10).unwrap();
    let records = OwnerRecords::new(template, "seed-1", Duration::from_secs(30), rate, resolver).unwrap();
    let ask = async |namespace: &str| records.owns(ShootNames::of_namespace(namespace).unwrap()).await;
    assert_eq!(ask("shoot--dev--blue").await, Ok(()));
    assert!(matches!(ask("shoot--dev--green").await, Err(OwnerRecordError::Foreign { .. })));
    assert!(matches!(ask("shoot--dev--red").await, Err(OwnerRecordError::Unknown { .. })));
    let asked = server.asked.load(Ordering::SeqCst);
    assert_eq!(ask("shoot--dev--blue").await, Ok(()));
    assert_eq!(server.asked.load(Ordering::SeqCst), asked);
}
