//! Listeners, TLS, certificates, shutdown, the admin listener, metrics.
