use std::net::SocketAddr;

/// Reads an address to listen on: `127.0.0.1:8443`, `[::]:8443`.
///
/// # Errors
/// A sentence that says what to write instead.
pub(super) fn parse(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| {
        format!("`{text}` is not an IP address with a port; write for example 127.0.0.1:8443 or [::]:8443")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_an_ip_address_with_a_port_and_nothing_else() {
        for text in ["127.0.0.1:0", "[::]:8443", "[::1]:65535"] {
            assert!(parse(text).is_ok(), "{text}");
        }
        for text in ["", "8443", ":8443", "localhost:8443", "127.0.0.1", "::1:8443x", "127.0.0.1:65536"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
