use tracing_subscriber::EnvFilter;

/// Writes logs to standard output, one JSON object a line. Values are escaped, so a record is always one line.
///
/// # Errors
/// A sentence when `filter` is no filter.
pub(super) fn start(filter: &str) -> Result<(), String> {
    let filter = EnvFilter::try_new(filter)
        .map_err(|error| format!("cannot use --log `{filter}`: {error}; write for example info or info,audit=debug"))?;
    // The client logs an answer that it cannot read as a whole, and that may be a Secret.
    let filter = match "kube_client=off".parse() {
        Ok(silence) => filter.add_directive(silence),
        Err(error) => return Err(format!("cannot silence the client's log: {error}")),
    };
    // A subscriber that is there already (a test's) stays.
    drop(
        tracing_subscriber::fmt()
            .json()
            .flatten_event(true)
            .with_current_span(false)
            .with_span_list(false)
            .with_env_filter(filter)
            .try_init(),
    );
    Ok(())
}
