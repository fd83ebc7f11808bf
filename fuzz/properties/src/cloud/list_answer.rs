use std::fmt::Debug;

use mcm_migration_core::domain::{Part, PartId, Server};
use serde_json::{Map, Value};

use super::list::{ListFault, read_list};
use super::wire::{AttachedNic, BootVolume, Item, NicPart, ServerAttachment, Volume, VolumePart};

/// A list of any kind: "absent" is concluded from it, so one that is taken has every item of the answer, and one that is cut,
/// has further pages or an item that cannot be read is none.
pub fn list_answer(body: &[u8]) {
    whole_or_none::<Server>(body, |server| ("id", server.id.to_string()));
    whole_or_none::<BootVolume>(body, |boot| ("id", boot.server.to_string()));
    whole_or_none::<AttachedNic>(body, |nic| ("id", nic.nic.id.to_string()));
    whole_or_none::<ServerAttachment>(body, |it| ("volumeId", it.attachment.volume.to_string()));
    whole_or_none::<Volume>(body, |volume| ("id", volume.id.to_string()));
    whole_or_none::<NicPart>(body, |nic| id_of_part(&nic.0));
    whole_or_none::<VolumePart>(body, |volume| id_of_part(&volume.0));
    parts_keep_what_protects_them(body);
}

fn id_of_part(part: &Part) -> (&'static str, String) {
    match part.id {
        PartId::Nic { nic, .. } => ("id", nic.to_string()),
        PartId::Volume(volume) => ("id", volume.to_string()),
    }
}

/// What says that a network interface or a volume is in use is never lost: it is deleted only when nothing does.
fn parts_keep_what_protects_them(body: &[u8]) {
    let Ok(answer) = serde_json::from_slice::<Value>(body) else { return };
    let items = answer.get("items").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let text = |item: &Value, member: &str| item.get(member).and_then(Value::as_str).unwrap_or_default().to_owned();
    for (nic, item) in read_list::<NicPart>(body).unwrap_or_default().iter().zip(items) {
        assert_eq!(nic.0.server.map(|server| server.to_string()).unwrap_or_default(), text(item, "device"));
        assert_eq!(nic.0.idle, text(item, "status") == "DOWN");
        let type_ = item.get("type").is_some_and(|type_| !type_.is_null()).then(|| text(item, "type"));
        assert_eq!(nic.0.of_network, !matches!(type_.as_deref(), None | Some("server" | "none")));
    }
    for (volume, item) in read_list::<VolumePart>(body).unwrap_or_default().iter().zip(items) {
        assert_eq!(volume.0.server.map(|server| server.to_string()).unwrap_or_default(), text(item, "serverId"));
        assert_eq!(volume.0.idle, text(item, "status") == "AVAILABLE");
        assert_eq!(volume.0.bootable, item.get("bootable") == Some(&Value::Bool(true)));
    }
}

fn whole_or_none<T: Item + PartialEq + Debug>(body: &[u8], id_of: fn(&T) -> (&'static str, String)) {
    let list = match read_list::<T>(body) {
        Ok(list) => list,
        Err(fault) => return is_one_short_line(&fault),
    };
    let cut = body.trim_ascii_end();
    assert_eq!(read_list::<T>(&cut[..cut.len() - 1]), Err(ListFault::NoList), "the last byte is missing");

    // What serde_json skips it does not look at so closely as what it keeps.
    let Ok(Value::Object(answer)) = serde_json::from_slice::<Value>(body) else { return };
    let items = answer.get("items").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    assert_eq!(list.len(), items.len());
    for (read, item) in list.iter().zip(items) {
        let (member, id) = id_of(read);
        assert_eq!(item.get(member).and_then(Value::as_str), Some(&*id));
    }

    let page = changed(&answer, |answer| drop(answer.insert("nextPageToken".to_owned(), "x".into())));
    assert!(matches!(read_list::<T>(&page), Err(ListFault::Part(_))), "there are further pages");
    let spoilt = changed(&answer, |answer| {
        let items = answer.get_mut("items").and_then(Value::as_array_mut);
        if let Some(items) = items {
            items.push(Value::Null);
        }
        // They would say that the answer is a part before the item is looked at.
        answer.retain(|name, _| name == "items");
    });
    assert!(matches!(read_list::<T>(&spoilt), Err(ListFault::Item { index, .. }) if index == items.len()));
}

fn changed(answer: &Map<String, Value>, change: impl FnOnce(&mut Map<String, Value>)) -> Vec<u8> {
    let mut answer = answer.clone();
    change(&mut answer);
    Value::Object(answer).to_string().into_bytes()
}

fn is_one_short_line(fault: &ListFault) {
    let text = fault.to_string();
    assert!(text.len() <= 1_200 && !text.chars().any(char::is_control), "{text:?}");
}
