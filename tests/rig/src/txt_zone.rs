//! A DNS server on loopback that holds TXT records, such as the owner records of shoots.

use std::collections::HashMap;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context as _, Result};

/// How soon it notices that it is to end.
const LOOK: Duration = Duration::from_millis(200);
/// Response codes of RFC 1035, section 4.1.1.
const NAME_ERROR: u8 = 3;

/// The server. It answers a name that it does not know with NXDOMAIN. Dropping it ends it.
#[derive(Debug)]
pub struct TxtZone {
    address: SocketAddr,
    values: Arc<Mutex<HashMap<String, String>>>,
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl TxtZone {
    /// Listens on a loopback port, UDP only.
    pub fn start() -> Result<Self> {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).context("no loopback port for the DNS server")?;
        socket.set_read_timeout(Some(LOOK)).context("cannot set up the DNS server's socket")?;
        let address = socket.local_addr().context("the DNS server has no address")?;
        let (values, ended) = (Arc::<Mutex<HashMap<String, String>>>::default(), Arc::<AtomicBool>::default());
        let (known, over) = (Arc::clone(&values), Arc::clone(&ended));
        let thread = std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while !over.load(Ordering::Relaxed) {
                let Ok((length, from)) = socket.recv_from(&mut buffer) else { continue };
                if let Some(answer) = buffer.get(..length).and_then(|question| answer(question, &locked(&known))) {
                    // Whoever asked asks again.
                    let _ = socket.send_to(&answer, from);
                }
            }
        });
        Ok(Self { address, values, ended, thread: Some(thread) })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Gives a name its one value, of 255 bytes at most. The name has no dot at its end.
    pub fn set(&self, name: &str, value: &str) {
        locked(&self.values).insert(name.to_owned(), value.to_owned());
    }
}

impl Drop for TxtZone {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// RFC 1035, section 4: the header, the question as it came, and the answer. None for what is no question.
fn answer(question: &[u8], values: &HashMap<String, String>) -> Option<Vec<u8>> {
    let (mut labels, mut at) = (Vec::new(), 12);
    loop {
        let length = usize::from(*question.get(at)?);
        at += 1;
        if length == 0 {
            break;
        }
        labels.push(std::str::from_utf8(question.get(at..at + length)?).ok()?);
        at += length;
    }
    let asked = question.get(12..at + 4)?;
    let value = values.get(&labels.join(".")).and_then(|value| Some((u8::try_from(value.len()).ok()?, value)));
    let (code, count) = if value.is_some() { (0, 1) } else { (NAME_ERROR, 0) };
    let mut bytes = vec![*question.first()?, *question.get(1)?, 0x81, 0x80 | code, 0, 1, 0, count, 0, 0, 0, 0];
    bytes.extend(asked);
    if let Some((length, value)) = value {
        // A pointer to the name in the question; TXT, IN, a TTL of a minute, the length of the data, one string.
        bytes.extend([0xc0, 12, 0, 16, 0, 1, 0, 0, 0, 60]);
        bytes.extend((u16::from(length) + 1).to_be_bytes());
        bytes.push(length);
        bytes.extend(value.bytes());
    }
    Some(bytes)
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
