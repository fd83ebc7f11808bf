//! A faithful simulator of the STACKIT APIs that the product speaks to: tokens, servers, network interfaces, volumes.
