//! Lists. "Absent" is concluded from them, so what is not whole and readable is no list.

use std::collections::BTreeMap;

use serde_json::Value;
use serde_json::value::RawValue;

use super::message::clean;
use super::wire::{Flaw, Item};

/// Why a list is of no use.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum ListFault {
    #[error("the answer is no list: it is no JSON object with an array \"items\"")]
    NoList,
    #[error("the answer seems to be a part of the list only: it also has {0:?}")]
    Part(Box<str>),
    #[error("item {index} of the list{} {flaw}", name.as_deref().map(|n| format!(" ({n})")).unwrap_or_default())]
    Item { index: usize, name: Option<Box<str>>, flaw: Flaw },
}

/// Reads all items of a list; one that cannot be read spoils it.
pub(super) fn read_list<T: Item>(body: &[u8]) -> Result<Vec<T>, ListFault> {
    let members: BTreeMap<String, &RawValue> = serde_json::from_slice(body).map_err(|_| ListFault::NoList)?;
    let items = members.get("items").ok_or(ListFault::NoList)?;
    let items: Vec<&RawValue> = serde_json::from_str(items.get()).map_err(|_| ListFault::NoList)?;
    // The API has no pages yet; a list that was cut would look as if the rest were gone.
    if let Some((name, _)) =
        members.iter().find(|(name, value)| name.as_str() != "items" && tells_of_more(name, value, items.len()))
    {
        return Err(ListFault::Part(clean(name)));
    }
    items
        .into_iter()
        .enumerate()
        .map(|(index, item)| {
            T::read(item.get()).map_err(|flaw| ListFault::Item { index, name: name_of(item.get()), flaw })
        })
        .collect()
}

/// Whether a member beside `items` says, or may say, that there is more than these items.
fn tells_of_more(name: &str, value: &RawValue, items: usize) -> bool {
    const MORE: [&str; 10] =
        ["page", "next", "token", "cursor", "continu", "more", "offset", "link", "truncat", "remain"];
    let name = name.to_ascii_lowercase();
    let value: Value = serde_json::from_str(value.get()).unwrap_or(Value::Bool(true));
    if (name.contains("total") || name.contains("count"))
        && let Some(count) = value.as_u64()
    {
        return count != items as u64;
    }
    MORE.iter().any(|word| name.contains(word)) && !is_nothing(&value)
}

fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Bool(true) => false,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(values) => values.iter().all(is_nothing),
        Value::Object(members) => members.values().all(is_nothing),
    }
}

/// What an item that cannot be read is called: its `id`, its `volumeId` or its `name`.
fn name_of(item: &str) -> Option<Box<str>> {
    let item: Value = serde_json::from_str(item).ok()?;
    ["id", "volumeId", "name"].iter().find_map(|member| {
        let text = item.get(member)?.as_str()?;
        Some(clean(&format!("{member} {}", text.chars().take(80).collect::<String>())))
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use mcm_migration_core::domain::Server;
    use proptest::prelude::*;

    use super::*;

    const ID: &str = "3b0f8c0e-0000-4000-8000-000000000001";

    fn read(body: &str) -> Result<Vec<Server>, String> {
        read_list(body.as_bytes()).map_err(|fault| fault.to_string())
    }

    #[test]
    fn a_whole_list_is_read() {
        assert_eq!(read(r#"{"items":[]}"#), Ok(vec![]));
        let servers =
            read(&format!(r#"{{"items":[{{"id":"{ID}","name":"a","machineType":"t","new":[1]}}],"more":""}}"#));
        assert_eq!(servers.unwrap()[0].id.as_str(), ID);
    }

    #[test]
    fn what_is_no_list_is_none() {
        for body in ["", "null", "[]", "{}", r#"{"items":null}"#, r#"{"items":{}}"#, r#"{"items":[}"#, "<html>"] {
            assert_eq!(read(body).unwrap_err(), ListFault::NoList.to_string(), "{body}");
        }
    }

    #[test]
    fn a_sign_of_further_pages_spoils_the_list() {
        for sibling in [
            r#""nextPageToken":"x""#,
            r#""page":{"size":100}"#,
            r#""_links":{"next":"https://x"}"#,
            r#""hasMore":true"#,
            r#""totalCount":2"#,
            r#""cursor":7"#,
            r#""continue":"x""#,
        ] {
            let fault = read(&format!(r#"{{"items":[],{sibling}}}"#)).unwrap_err();
            assert!(fault.contains("part of the list"), "{sibling}: {fault}");
        }
        for sibling in [
            r#""nextPageToken":"""#,
            r#""next":null"#,
            r#""_links":{}"#,
            r#""total":0"#,
            r#""hasMore":false"#,
            r#""kind":"x""#,
        ] {
            assert_eq!(read(&format!(r#"{{"items":[],{sibling}}}"#)), Ok(vec![]), "{sibling}");
        }
    }

    #[test]
    fn an_item_that_cannot_be_read_is_named_and_spoils_the_list() {
        let good = format!(r#"{{"id":"{ID}","name":"a"}}"#);
        for (bad, says) in [
            (r#"{"id":"no","name":"b"}"#, r#"item 1 of the list (id no) has an "id" that is no plain lower-case UUID"#),
            (r#"{"name":"b"}"#, r#"item 1 of the list (name b) has no "id""#),
            ("7", "item 1 of the list is no JSON object"),
        ] {
            assert_eq!(read(&format!(r#"{{"items":[{good},{bad}]}}"#)).unwrap_err(), says);
        }
    }

    proptest! {
        #[test]
        fn no_body_panics(body: Vec<u8>, text in r#"[\[\]{}",:a-z0-9]{0,60}"#) {
            let _ = read_list::<Server>(&body);
            let _ = read_list::<Server>(text.as_bytes());
        }
    }
}
