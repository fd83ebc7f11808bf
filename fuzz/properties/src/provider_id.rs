use mcm_migration_core::domain::{LegacyProviderId, ProviderId, StackitProviderId};

/// A provider ID of either kind: what is taken is written again byte for byte, what is taken is what the plain words of the
/// format say, and an ID is never of two kinds.
pub fn provider_id(text: &[u8]) {
    let Ok(text) = std::str::from_utf8(text) else { return };
    let legacy = LegacyProviderId::parse(text);
    let stackit = StackitProviderId::parse(text);
    assert_eq!(legacy.is_some(), is_legacy(text), "legacy: {text:?}");
    assert_eq!(stackit.is_ok(), is_stackit(text), "stackit: {text:?}");
    if let Some(id) = legacy {
        assert_eq!(id.to_string(), text);
    }
    if let Ok(id) = stackit {
        assert_eq!(id.to_string(), text);
    }
    match ProviderId::of(text) {
        ProviderId::None => assert!(text.is_empty()),
        ProviderId::Legacy(id) => assert_eq!(Some(id), legacy),
        ProviderId::MalformedLegacy(_) => assert!(text.starts_with("openstack:") && legacy.is_none()),
        ProviderId::Stackit(_) => assert!(text.starts_with("stackit:")),
        ProviderId::Foreign(_) => assert!(legacy.is_none() && stackit.is_err()),
    }
}

/// `openstack:///<region>/<server>` in plain words, without the regular expression.
fn is_legacy(text: &str) -> bool {
    let Some((region, server)) = text.strip_prefix("openstack:///").and_then(|parts| parts.split_once('/')) else {
        return false;
    };
    let plain = |c: char| c.is_ascii_alphanumeric();
    (1..=63).contains(&region.len())
        && region.chars().all(|c| plain(c) || matches!(c, '.' | '_' | '-'))
        && region.starts_with(plain)
        && region.ends_with(plain)
        && is_uuid(server)
}

fn is_stackit(text: &str) -> bool {
    text.strip_prefix("stackit://")
        .and_then(|parts| parts.split_once('/'))
        .is_some_and(|(project, server)| is_uuid(project) && is_uuid(server))
}

fn is_uuid(text: &str) -> bool {
    let lengths: Vec<usize> = text.split('-').map(str::len).collect();
    lengths == [8, 4, 4, 4, 12] && text.chars().all(|c| matches!(c, '-' | '0'..='9' | 'a'..='f'))
}
