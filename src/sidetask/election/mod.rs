//! Leader election by a Lease, by the rules of client-go's `leaderelection`.
