use std::fmt;

/// A plain lower-case UUID in its 36-character form: `8-4-4-4-12` hexadecimal digits.
///
/// The STACKIT provider compares and uses both parts of its provider ID byte for byte, so nothing is
/// trimmed, folded or repaired here.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct PlainUuid([u8; 36]);

/// The text is not a plain lower-case UUID.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a plain lower-case UUID (8-4-4-4-12 hexadecimal digits, nothing before or after)")]
pub struct InvalidUuid;

impl PlainUuid {
    fn parse(text: &str) -> Result<Self, InvalidUuid> {
        let bytes: [u8; 36] = text.as_bytes().try_into().map_err(|_| InvalidUuid)?;
        let fits = bytes.iter().enumerate().all(|(i, b)| match i {
            8 | 13 | 18 | 23 => *b == b'-',
            _ => matches!(b, b'0'..=b'9' | b'a'..=b'f'),
        });
        if fits { Ok(Self(bytes)) } else { Err(InvalidUuid) }
    }

    fn as_str(&self) -> &str {
        // Only ASCII gets in, so this never falls back.
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

macro_rules! uuid_type {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(PlainUuid);

        impl $name {
            /// Takes exactly a plain lower-case UUID.
            ///
            /// # Errors
            /// [`InvalidUuid`] for everything else, white space around it included.
            pub fn parse(text: &str) -> Result<Self, InvalidUuid> {
                PlainUuid::parse(text).map(Self)
            }

            /// The 36 characters.
            #[must_use]
            pub fn as_str(&self) -> &str {
                self.0.as_str()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self.as_str())
            }
        }
    };
}

uuid_type! {
    /// A STACKIT project: the `project-id` of the shoot's `cloudprovider` Secret.
    ProjectId
}
uuid_type! {
    /// A server. The same in OpenStack and in STACKIT's IaaS API; the migration never changes it.
    ServerId
}
uuid_type! {
    /// A network of STACKIT's IaaS API.
    NetworkId
}
uuid_type! {
    /// A network interface.
    NicId
}
uuid_type! {
    /// A volume.
    VolumeId
}
