//! The STACKIT client: keys and tokens, calls, limits.
