use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use secrecy::SecretString;
use tokio::time::Instant;

use super::TokenAnswer;
use super::expiry::stale_from;
use crate::cloud::CloudError;

/// An access token.
#[derive(Debug)]
pub(in crate::cloud) struct AccessToken {
    pub(in crate::cloud) secret: SecretString,
    stale_from: Timestamp,
    fetched: Instant,
}

impl AccessToken {
    /// What the token endpoint has just given.
    pub(in crate::cloud) fn new(answer: TokenAnswer) -> Self {
        let TokenAnswer { token, ends } = answer;
        Self { secret: token, stale_from: stale_from(Timestamp::now(), ends), fetched: Instant::now() }
    }

    /// Whether it will live long enough to be used.
    pub(in crate::cloud) fn is_fresh(&self) -> bool {
        Timestamp::now() < self.stale_from
    }
}

/// The token of one key, fetched by one caller at a time.
#[derive(Debug, Default)]
pub(in crate::cloud) struct TokenCache {
    current: Mutex<Option<Arc<AccessToken>>>,
    /// Held by who fetches. What went wrong last, and when.
    flight: tokio::sync::Mutex<Option<(Instant, CloudError)>>,
}

impl TokenCache {
    /// The token, from `fetch` when there is none or it ends. All who ask meanwhile get what comes of that one `fetch`, its
    /// failure included; should its caller stop waiting, the next one fetches.
    pub(in crate::cloud) async fn get(
        &self,
        fetch: impl Future<Output = Result<AccessToken, CloudError>>,
    ) -> Result<Arc<AccessToken>, CloudError> {
        if let Some(token) = self.current().clone().filter(|token| token.is_fresh()) {
            return Ok(token);
        }
        let asked = Instant::now();
        let mut failed = self.flight.lock().await;
        // One that came since then is taken even if it ends at once: there is no better one.
        if let Some(token) = self.current().clone().filter(|token| token.fetched >= asked || token.is_fresh()) {
            return Ok(token);
        }
        if let Some((at, error)) = &*failed
            && *at >= asked
        {
            return Err(error.clone());
        }
        match fetch.await {
            Ok(token) => {
                let token = Arc::new(token);
                *self.current() = Some(Arc::clone(&token));
                *failed = None;
                Ok(token)
            }
            Err(error) => {
                *failed = Some((Instant::now(), error.clone()));
                Err(error)
            }
        }
    }

    /// Forgets a token that was refused, unless another one has taken its place.
    pub(in crate::cloud) fn forget(&self, refused: &Arc<AccessToken>) {
        let mut current = self.current();
        if current.as_ref().is_some_and(|token| Arc::ptr_eq(token, refused)) {
            *current = None;
        }
    }

    fn current(&self) -> MutexGuard<'_, Option<Arc<AccessToken>>> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use futures::FutureExt as _;
    use futures::future::join_all;
    use mcm_migration_core::domain::ProjectId;
    use secrecy::ExposeSecret;
    use tokio::task::yield_now;

    use super::*;
    use crate::cloud::judge::Target;
    use crate::cloud::{Operation, token::Ends};

    fn error() -> CloudError {
        let project = ProjectId::parse("3b0f8c0e-0000-4000-8000-000000000001").unwrap();
        CloudError::Key(Target { operation: Operation::GetToken, project, server: None }.failure(1, "no"))
    }

    fn token(number: u32, lifetime: f64) -> AccessToken {
        let ends = Ends { exp: None, expires_in: Some(lifetime) };
        AccessToken::new(TokenAnswer { token: number.to_string().into(), ends })
    }

    /// Asks 50 times at once; how often was fetched, and what came.
    async fn fifty(cache: &TokenCache, fetched: &AtomicU32, lifetime: Option<f64>) -> Vec<Result<String, CloudError>> {
        join_all((0..50).map(async |_| {
            let token = cache.get(async {
                let number = fetched.fetch_add(1, Ordering::SeqCst);
                yield_now().await;
                lifetime.map(|lifetime| token(number, lifetime)).ok_or_else(error)
            });
            token.await.map(|token| token.secret.expose_secret().to_owned())
        }))
        .await
    }

    #[tokio::test]
    async fn many_at_once_fetch_once() {
        let (cache, fetched) = (TokenCache::default(), AtomicU32::new(0));
        for _ in 0..2 {
            assert!(fifty(&cache, &fetched, Some(600.0)).await.iter().all(|token| token.as_deref() == Ok("0")));
        }
        assert_eq!(fetched.load(Ordering::SeqCst), 1);
    }

    #[tokio::test]
    async fn a_token_that_ends_at_once_serves_those_who_waited_for_it() {
        let (cache, fetched) = (TokenCache::default(), AtomicU32::new(0));
        for number in ["0", "1"] {
            assert!(fifty(&cache, &fetched, Some(1.0)).await.iter().all(|token| token.as_deref() == Ok(number)));
        }
        assert_eq!(fetched.load(Ordering::SeqCst), 2);
    }

    #[tokio::test]
    async fn a_failure_is_shared_and_not_kept() {
        let (cache, fetched) = (TokenCache::default(), AtomicU32::new(0));
        assert!(fifty(&cache, &fetched, None).await.iter().all(|token| token == &Err(error())));
        assert_eq!(fetched.load(Ordering::SeqCst), 1);
        assert!(fifty(&cache, &fetched, Some(600.0)).await.iter().all(Result::is_ok));
        assert_eq!(fetched.load(Ordering::SeqCst), 2);
    }

    #[tokio::test]
    async fn who_stops_waiting_holds_nobody_up() {
        let cache = TokenCache::default();
        let mut first = Box::pin(cache.get(std::future::pending()));
        assert!((&mut first).now_or_never().is_none());
        let mut second = Box::pin(cache.get(async { Ok(token(7, 600.0)) }));
        assert!((&mut second).now_or_never().is_none());
        drop(first);
        assert_eq!(second.await.unwrap().secret.expose_secret(), "7");
    }

    #[tokio::test]
    async fn only_the_refused_token_is_forgotten() {
        let cache = TokenCache::default();
        let one = cache.get(async { Ok(token(1, 600.0)) }).await.unwrap();
        cache.forget(&one);
        let two = cache.get(async { Ok(token(2, 600.0)) }).await.unwrap();
        cache.forget(&one);
        assert!(Arc::ptr_eq(&two, &cache.get(async { Err(error()) }).await.unwrap()));
    }
}
