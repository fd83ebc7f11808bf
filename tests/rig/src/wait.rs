//! Awaiting a condition with a deadline instead of sleeping.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};

/// How often a condition is looked at.
const INTERVAL: Duration = Duration::from_millis(50);

/// Calls `probe` until it gives `Ok(Some(value))`. Errors count as "not yet"; the last one is in the error after `deadline`.
pub async fn until<T, F, Fut>(what: &str, deadline: Duration, mut probe: F) -> Result<T>
where
    F: FnMut() -> Fut,
    Fut: Future<Output = Result<Option<T>>>,
{
    let start = Instant::now();
    loop {
        let last = match probe().await {
            Ok(Some(value)) => return Ok(value),
            Ok(None) => None,
            Err(error) => Some(error),
        };
        if start.elapsed() >= deadline {
            match last {
                Some(error) => bail!("{what}: not within {deadline:?}; the last error: {error:#}"),
                None => bail!("{what}: not within {deadline:?}"),
            }
        }
        tokio::time::sleep(INTERVAL).await;
    }
}
