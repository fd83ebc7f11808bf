//! Values that take any JSON and remember whether it was what it should be.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// A member that should be a string.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Text<'a> {
    /// Not there, or null.
    #[default]
    Absent,
    /// A string; borrowed from the body when it holds no escape sequence.
    Is(Cow<'a, str>),
    /// There, and of another type.
    Other,
}

impl Text<'_> {
    /// The string; absent and null are the empty one. `None` when it is of another type.
    #[must_use]
    pub fn or_empty(&self) -> Option<&str> {
        match self {
            Self::Absent => Some(""),
            Self::Is(text) => Some(text),
            Self::Other => None,
        }
    }

    /// The string, or the empty one for everything else.
    #[must_use]
    pub fn text(&self) -> &str {
        self.or_empty().unwrap_or_default()
    }

    /// Whether it is there and not null, of whatever type.
    #[must_use]
    pub fn is_there(&self) -> bool {
        !matches!(self, Self::Absent)
    }
}

/// A member that should be an object, or a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Shape {
    /// Not there.
    #[default]
    Absent,
    /// `null`: for a JSON patch its members are as missing as those of an absent one.
    Null,
    /// What it should be.
    Right,
    /// Of another type.
    Other,
}

/// A list of which only the length decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Count {
    /// Whether it is a list.
    pub shape: Shape,
    /// How many entries it has.
    pub entries: usize,
}

/// A boolean that is false unless it is `true`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Flag(pub(super) bool);

/// A key of an object, borrowed when it holds no escape sequence.
pub(super) struct Key<'a>(pub(super) Cow<'a, str>);

/// Visits whatever is not of the right type: everything is taken, and remembered as `$other`.
macro_rules! takes_anything_as {
    ($other:expr, $null:expr; $($kind:ident)*) => {
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("any value")
        }
        fn visit_unit<E>(self) -> Result<Self::Value, E> {
            Ok($null)
        }
        $(takes_anything_as!(@ $kind $other);)*
    };
    (@ bool $other:expr) => {
        fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> { Ok($other) }
    };
    (@ number $other:expr) => {
        fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> { Ok($other) }
        fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> { Ok($other) }
        fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> { Ok($other) }
    };
    (@ string $other:expr) => {
        fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> { Ok($other) }
    };
    (@ list $other:expr) => {
        fn visit_seq<A: SeqAccess<'a>>(self, mut list: A) -> Result<Self::Value, A::Error> {
            while list.next_element::<IgnoredAny>()?.is_some() {}
            Ok($other)
        }
    };
    (@ object $other:expr) => {
        fn visit_map<A: MapAccess<'a>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            Ok($other)
        }
    };
}
pub(super) use takes_anything_as;

impl<'a> Deserialize<'a> for Text<'a> {
    fn deserialize<D: Deserializer<'a>>(deserializer: D) -> Result<Self, D::Error> {
        struct V;
        impl<'a> Visitor<'a> for V {
            type Value = Text<'a>;
            takes_anything_as!(Text::Other, Text::Absent; bool number list object);
            fn visit_borrowed_str<E>(self, text: &'a str) -> Result<Text<'a>, E> {
                Ok(Text::Is(Cow::Borrowed(text)))
            }
            fn visit_str<E>(self, text: &str) -> Result<Text<'a>, E> {
                Ok(Text::Is(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_any(V)
    }
}

impl<'a> Deserialize<'a> for Count {
    fn deserialize<D: Deserializer<'a>>(deserializer: D) -> Result<Self, D::Error> {
        struct V;
        impl<'a> Visitor<'a> for V {
            type Value = Count;
            takes_anything_as!(
                Count { shape: Shape::Other, entries: 0 }, Count { shape: Shape::Null, entries: 0 };
                bool number string object
            );
            fn visit_seq<A: SeqAccess<'a>>(self, mut list: A) -> Result<Count, A::Error> {
                let mut entries = 0;
                while list.next_element::<IgnoredAny>()?.is_some() {
                    entries += 1;
                }
                Ok(Count { shape: Shape::Right, entries })
            }
        }
        deserializer.deserialize_any(V)
    }
}

impl<'a> Deserialize<'a> for Flag {
    fn deserialize<D: Deserializer<'a>>(deserializer: D) -> Result<Self, D::Error> {
        struct V;
        impl<'a> Visitor<'a> for V {
            type Value = Flag;
            takes_anything_as!(Flag(false), Flag(false); number string list object);
            fn visit_bool<E>(self, is: bool) -> Result<Flag, E> {
                Ok(Flag(is))
            }
        }
        deserializer.deserialize_any(V)
    }
}

impl<'a> Deserialize<'a> for Key<'a> {
    fn deserialize<D: Deserializer<'a>>(deserializer: D) -> Result<Self, D::Error> {
        struct V;
        impl<'a> Visitor<'a> for V {
            type Value = Key<'a>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a key")
            }
            fn visit_borrowed_str<E>(self, text: &'a str) -> Result<Key<'a>, E> {
                Ok(Key(Cow::Borrowed(text)))
            }
            fn visit_str<E>(self, text: &str) -> Result<Key<'a>, E> {
                Ok(Key(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(V)
    }
}

/// Declares a struct that is read from an object, names the members that it keeps and skips all others.
macro_rules! view {
    ($(#[$doc:meta])* $vis:vis struct $name:ident { $($(#[$member_doc:meta])* $member:ident: $type:ty = $key:expr,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Default)]
        $vis struct $name<'a> {
            /// Whether it is an object.
            $vis shape: $crate::review::lenient::Shape,
            $($(#[$member_doc])* $vis $member: $type,)*
            lifetime: std::marker::PhantomData<&'a ()>,
        }

        impl<'a> serde::de::Deserialize<'a> for $name<'a> {
            fn deserialize<D: serde::de::Deserializer<'a>>(deserializer: D) -> Result<Self, D::Error> {
                use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};
                use $crate::review::lenient::{Key, Shape, takes_anything_as};
                use std::fmt;

                struct V;
                impl<'a> Visitor<'a> for V {
                    type Value = $name<'a>;
                    takes_anything_as!(
                        $name { shape: Shape::Other, ..$name::default() },
                        $name { shape: Shape::Null, ..$name::default() };
                        bool number string list
                    );
                    fn visit_map<A: MapAccess<'a>>(self, mut map: A) -> Result<$name<'a>, A::Error> {
                        let mut found = $name { shape: Shape::Right, ..$name::default() };
                        while let Some(Key(key)) = map.next_key()? {
                            $(if key == $key {
                                found.$member = map.next_value()?;
                                continue;
                            })*
                            map.next_value::<IgnoredAny>()?;
                        }
                        Ok(found)
                    }
                }
                deserializer.deserialize_any(V)
            }
        }
    };
}
pub(super) use view;
