//! One document of a file. It is gone through twice: first for the kinds alone, because a List names its own after its items, and
//! then, with the kinds known, for what decides. So no tree of it is built, and an error knows its line.

use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::Objects;
use crate::world::Resource;
use crate::world::reduce::ObjectOf;

/// What a document says that it is.
#[derive(Debug, Default)]
pub(super) struct Header {
    pub(super) kind: String,
    api_version: String,
    /// The headers of a List's items.
    items: Option<Vec<Header>>,
    /// There is nothing in it, as after a last `---`.
    pub(super) is_empty: bool,
}

impl Header {
    fn is_list(&self) -> bool {
        self.items.is_some() && self.kind.ends_with("List")
    }

    /// Gives the items of a typed list (`MachineList`, as the API itself answers), which name neither, its kind.
    pub(super) fn inherited(mut self) -> Self {
        if self.is_list() {
            let (kind, api_version) = (self.kind.trim_end_matches("List").to_owned(), self.api_version.clone());
            for item in self.items.iter_mut().flatten() {
                if item.kind.is_empty() {
                    item.kind.clone_from(&kind);
                    item.api_version.clone_from(&api_version);
                }
                *item = std::mem::take(item).inherited();
            }
        }
        self
    }

    /// Whether it or an item of it does not say what it is.
    pub(super) fn has_no_kind(&self) -> bool {
        self.kind.is_empty() || (self.is_list() && self.items.iter().flatten().any(Self::has_no_kind))
    }
}

impl<'de> Deserialize<'de> for Header {
    fn deserialize<D: Deserializer<'de>>(document: D) -> Result<Self, D::Error> {
        document.deserialize_any(HeaderVisitor)
    }
}

/// Takes whatever comes; what is no map has no kind.
struct HeaderVisitor;

impl<'de> Visitor<'de> for HeaderVisitor {
    type Value = Header;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Header, A::Error> {
        let mut header = Header::default();
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "kind" => header.kind = map.next_value::<Option<String>>()?.unwrap_or_default(),
                "apiVersion" => header.api_version = map.next_value::<Option<String>>()?.unwrap_or_default(),
                "items" => header.items = map.next_value::<HeadersOrElse>()?.0,
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(header)
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<Header, E> {
        Ok(Header { is_empty: true, ..Header::default() })
    }
    fn visit_none<E: serde::de::Error>(self) -> Result<Header, E> {
        self.visit_unit()
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Header, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Header::default())
    }
    fn visit_str<E>(self, _: &str) -> Result<Header, E> {
        Ok(Header::default())
    }
    fn visit_bool<E>(self, _: bool) -> Result<Header, E> {
        Ok(Header::default())
    }
    fn visit_u64<E>(self, _: u64) -> Result<Header, E> {
        Ok(Header::default())
    }
    fn visit_i64<E>(self, _: i64) -> Result<Header, E> {
        Ok(Header::default())
    }
    fn visit_f64<E>(self, _: f64) -> Result<Header, E> {
        Ok(Header::default())
    }
}

/// The headers of a list; none of anything else.
struct HeadersOrElse(Option<Vec<Header>>);

impl<'de> Deserialize<'de> for HeadersOrElse {
    fn deserialize<D: Deserializer<'de>>(items: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Either {
            Headers(Vec<Header>),
            Else(IgnoredAny),
        }
        Ok(Self(match Either::deserialize(items)? {
            Either::Headers(headers) => Some(headers),
            Either::Else(_) => None,
        }))
    }
}

/// Reads the document that has this header, and adds its objects.
pub(super) struct Document<'a> {
    pub(super) header: &'a Header,
    pub(super) objects: &'a mut Objects,
}

impl<'de> DeserializeSeed<'de> for Document<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, document: D) -> Result<(), D::Error> {
        if self.header.is_list() {
            return document.deserialize_map(self);
        }
        match Resource::of(&self.header.api_version, &self.header.kind) {
            Some(resource) => {
                let seen = ObjectOf(resource).deserialize(document)?;
                self.objects.push((resource, seen));
            }
            None => drop(IgnoredAny::deserialize(document)?),
        }
        Ok(())
    }
}

impl<'de> Visitor<'de> for Document<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of objects")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while let Some(key) = list.next_key::<String>()? {
            if key == "items" {
                let headers = self.header.items.as_deref().unwrap_or_default();
                list.next_value_seed(Items { headers, objects: self.objects })?;
            } else {
                list.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }
}

/// The items of a List.
struct Items<'a> {
    headers: &'a [Header],
    objects: &'a mut Objects,
}

impl<'de> DeserializeSeed<'de> for Items<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, items: D) -> Result<(), D::Error> {
        items.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Items<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("items")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        for header in self.headers {
            if items.next_element_seed(Document { header, objects: self.objects })?.is_none() {
                break;
            }
        }
        Ok(())
    }
}
