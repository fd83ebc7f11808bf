//! Writes that go through a restart of the API server, and tell a refusal from an API server that is away.

use std::time::{Duration, Instant};

use crate::side_task_support::LONG;

const AGAIN: Duration = Duration::from_millis(100);

/// What the API server said to a write.
#[derive(Debug)]
pub enum Answer<T> {
    Done(T),
    /// With its code and message.
    Refused(u16, String),
}

impl<T> Answer<T> {
    /// The write was let in.
    pub fn done(self, what: &str) -> anyhow::Result<T> {
        match self {
            Self::Done(done) => Ok(done),
            Self::Refused(code, why) => anyhow::bail!("{what} was refused: {code} {why}"),
        }
    }
}

/// Writes again until the API server answers. Whoever creates or deletes may have done it the first time already.
pub async fn write<T>(attempt: impl AsyncFn() -> anyhow::Result<T>) -> anyhow::Result<Answer<T>> {
    let start = Instant::now();
    loop {
        let error = match attempt().await {
            Ok(done) => return Ok(Answer::Done(done)),
            Err(error) => error,
        };
        if let Some((code, message)) = refusal(&error) {
            return Ok(Answer::Refused(code, message));
        }
        anyhow::ensure!(start.elapsed() < LONG, "the API server is away for too long: {error:#}");
        tokio::time::sleep(AGAIN).await;
    }
}

/// What the API server has decided. Being overloaded, starting or without etcd is no decision.
fn refusal(error: &anyhow::Error) -> Option<(u16, String)> {
    let status = error.chain().find_map(|cause| match cause.downcast_ref::<kube::Error>() {
        Some(kube::Error::Api(status)) => Some(status),
        _ => None,
    })?;
    let away = match status.code {
        429 | 503 | 504 => true,
        500 => status.message.contains("etcd"),
        // An API server whose admission plugins have not read everything yet forbids what they would have to look at.
        403 => status.message.contains("not yet ready to handle request"),
        _ => false,
    };
    (!away).then(|| (status.code, status.message.clone()))
}
