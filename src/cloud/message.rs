//! What the other side says about a failure, made fit for logs, Events and status fields.

use serde_json::Value;

/// The most that is kept of a message, in bytes.
const LONGEST: usize = 500;
/// What stands for a part that was left out.
const LEFT_OUT: &str = "[left out]";

/// The body of an answer that is no success.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ErrorBody {
    /// What it says, made fit by [`clean`].
    pub(super) message: Box<str>,
    /// The `code` of the IaaS API's own error format, `{"code": …, "msg": …}`; none for every other body.
    pub(super) own_code: Option<i64>,
}

/// Reads the body of an error, which may repeat the `secret` that was sent. Every service words errors in its own way,
/// and proxies answer in plain text or HTML, so nothing here fails.
pub(super) fn read_error(body: &[u8], secret: Option<&str>) -> ErrorBody {
    let mut text = String::from_utf8_lossy(body);
    if let Some(secret) = secret.filter(|secret| !secret.is_empty() && text.contains(secret)) {
        text = text.replace(secret, LEFT_OUT).into();
    }
    let Ok(json) = serde_json::from_str::<Value>(&text) else {
        let text = text.trim();
        let message = match text.get(..1) {
            None => "without a word".into(),
            Some("<") => format!("a page of HTML or XML, so not the API itself: {}", without_tags(text)),
            Some(_) => text.to_owned(),
        };
        return ErrorBody { message: clean(&message), own_code: None };
    };
    let own_code = json.get("msg").and(json.get("code")).and_then(Value::as_i64);
    let said = ["/msg", "/message", "/error/message", "/error_description", "/error"]
        .iter()
        .find_map(|path| json.pointer(path).and_then(Value::as_str))
        .filter(|text| !text.trim().is_empty());
    let message = said.map_or_else(|| json.to_string(), str::to_owned);
    ErrorBody { message: clean(&message), own_code }
}

/// One line without control characters, without what looks like a token, at most [`LONGEST`] bytes.
pub(super) fn clean(text: &str) -> Box<str> {
    let text: String = text.chars().map(|c| if c.is_control() || c.is_whitespace() { ' ' } else { c }).collect();
    let mut kept = String::with_capacity(text.len().min(LONGEST));
    let mut rest = text.as_str();
    let mut secret_follows = false;
    while let Some(next) = rest.chars().next() {
        if rest.starts_with("-----BEGIN") {
            kept.push_str(LEFT_OUT);
            break;
        }
        let ends = |c| if secret_follows { matches!(c, ' ' | '"' | '\'' | '&' | ',') } else { !in_word(c) };
        let length = if in_word(next) { rest.find(ends).unwrap_or(rest.len()) } else { 0 };
        if length == 0 {
            // `Bearer` is followed by a blank, the name of a member by a quotation mark, a colon or an equals sign.
            secret_follows &= matches!(next, ' ' | '"' | '\'' | ':' | '=');
            if !(next == ' ' && kept.ends_with(' ')) {
                kept.push(next);
            }
            rest = &rest[next.len_utf8()..];
            continue;
        }
        let (word, after) = rest.split_at(length);
        if secret_follows || looks_secret(word) {
            kept.push_str(LEFT_OUT);
        } else {
            kept.push_str(word);
        }
        secret_follows = announces(word, after);
        rest = after;
    }
    cut(kept.trim()).into()
}

fn in_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '+' | '~')
}

/// Names and IDs of Kubernetes and of the cloud are at most 63 characters of one case; tokens are longer or mixed.
fn looks_secret(word: &str) -> bool {
    let has = |class: fn(&char) -> bool| word.chars().any(|c| class(&c));
    let mixed = has(char::is_ascii_lowercase) && has(char::is_ascii_uppercase) && has(char::is_ascii_digit);
    word.contains("eyJ") || word.len() > 80 || (mixed && word.len() >= 24)
}

/// Whether the next word is a credential by the word before it.
fn announces(word: &str, after: &str) -> bool {
    const NAMES: [&str; 8] =
        ["token", "access_token", "refresh_token", "assertion", "client_assertion", "secret", "password", "privateKey"];
    word.eq_ignore_ascii_case("bearer")
        || (NAMES.iter().any(|name| word.eq_ignore_ascii_case(name))
            && matches!(after.trim_start_matches(['"', '\'']).as_bytes().first(), Some(b'=' | b':')))
}

fn without_tags(text: &str) -> String {
    let mut inside = false;
    text.chars()
        .map(|c| match c {
            '<' => {
                inside = true;
                ' '
            }
            '>' => {
                inside = false;
                ' '
            }
            _ if inside => ' ',
            c => c,
        })
        .collect()
}

fn cut(text: &str) -> &str {
    let mut end = text.len().min(LONGEST);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn says(body: &str) -> String {
        read_error(body.as_bytes(), None).message.into()
    }

    #[test]
    fn every_wording_of_an_error_is_read() {
        assert_eq!(says(r#"{"code":404,"msg":"server not found"}"#), "server not found");
        assert_eq!(says(r#"{"status":401,"message":"Unauthenticated token"}"#), "Unauthenticated token");
        assert_eq!(says(r#"{"error":{"code":403,"status":"x","message":"no"}}"#), "no");
        assert_eq!(says(r#"{"error":"invalid_grant","error_description":"too old"}"#), "too old");
        assert_eq!(says(r#"{"error":"invalid_grant"}"#), "invalid_grant");
        assert_eq!(says(r#"{"what":1}"#), r#"{"what":1}"#);
        assert_eq!(says("upstream connect error or\n disconnect"), "upstream connect error or disconnect");
        assert_eq!(says("  \n"), "without a word");
        assert_eq!(says("<html><b>Not Found</b></html>"), "a page of HTML or XML, so not the API itself: Not Found");
        assert_eq!(read_error(&[0xff, 0xfe], None).own_code, None);
    }

    #[test]
    fn only_the_own_format_has_a_code() {
        for (body, code) in [
            (r#"{"code":404,"msg":"server not found"}"#, Some(404)),
            (r#"{"code":"404","msg":"server not found"}"#, None),
            (r#"{"code":404}"#, None),
            (r#"{"status":404,"message":"no"}"#, None),
            (r#"[{"code":404,"msg":"x"}]"#, None),
            ("404", None),
        ] {
            assert_eq!(read_error(body.as_bytes(), None).own_code, code, "{body}");
        }
    }

    #[test]
    fn what_looks_like_a_token_is_left_out() {
        for text in [
            "bad token eyJhbGciOiJSUzUxMiJ9.eyJzdWIiOiJhIn0.c2ln here",
            "Authorization: Bearer hunter2/hush=",
            r#"{"access_token":"hush-hush","x":1}"#,
            "assertion=hush&grant_type=x",
            "key -----BEGIN PRIVATE KEY----- hush",
            &format!("long {}hush", "a".repeat(90)),
        ] {
            let kept = clean(text);
            assert!(kept.contains(LEFT_OUT) && !kept.contains("hush") && !kept.contains("eyJ"), "{kept}");
        }
    }

    #[test]
    fn what_was_sent_is_left_out_whatever_it_looks_like() {
        for body in ["no hush for you", r#"{"code":400,"msg":"no hush for you"}"#] {
            assert_eq!(&*read_error(body.as_bytes(), Some("hush")).message, "no [left out] for you");
        }
    }

    #[test]
    fn names_and_ids_stay() {
        for text in [
            "does not match regex ^(-|_|[a-z0-9]){0,63}$: value /opt/mstr",
            "req-0123456789abcdef0123456789abcdef",
            "server 3b0f8c0e-0000-4000-8000-000000000001 of shoot--foo--bar-worker-abc12-z1-5f6d7-x8k2p not found",
            "Jwks doesn't have key to match kid or alg from Jwt",
            "Unauthenticated token",
        ] {
            assert_eq!(&*clean(text), text);
        }
        let name = "a".repeat(63);
        assert_eq!(&*clean(&name), name);
    }

    proptest! {
        #[test]
        fn any_body_gives_one_short_line(body: Vec<u8>) {
            let message = read_error(&body, None).message;
            prop_assert!(message.len() <= LONGEST && !message.contains(char::is_control));
        }

        #[test]
        fn a_jwt_never_comes_through(
            before in "[ -~]{0,20}",
            (payload, signature) in ("[A-Za-z0-9_-]{10,900}", "[A-Za-z0-9_-]{20,400}"),
            after in "[ -~]{0,20}",
        ) {
            let kept = clean(&format!("{before} eyJhbGciOiJSUzUxMiJ9.{payload}.{signature} {after}"));
            prop_assert!(!kept.contains(&payload) && !kept.contains(&signature));
        }
    }
}
