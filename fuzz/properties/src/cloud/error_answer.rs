use super::message::{clean, read_error};

/// What was sent, and must not come back in a message.
const SENT: &str = "hush-5d3e0fd2-1f0e";
/// As much is kept of a message, in bytes.
const LONGEST: usize = 500;

/// The body of an answer that is no success: its message is one short line, and what was sent is not in it, wherever the other
/// side repeats it.
pub fn error_answer(body: &[u8]) {
    let middle = body.len() / 2;
    let repeated = [&body[..middle], SENT.as_bytes(), &body[middle..]].concat();
    for message in [read_error(body, None).message, read_error(&repeated, Some(SENT)).message] {
        assert!(message.len() <= LONGEST, "{} bytes", message.len());
        assert!(!message.chars().any(char::is_control), "{message:?}");
        if !body.windows(SENT.len()).any(|text| text == SENT.as_bytes()) {
            assert!(!message.contains(SENT), "{message:?}");
        }
        assert_eq!(clean(&message), message, "what is clean stays as it is");
    }
}
