use super::Reason;

/// The value of the annotation `mcm-migration.stackit.cloud/exception`: why a Machine no longer holds up the Worker.
///
/// An operator may write any text, the side task writes the name of a [`Reason`] of [`Self::FORCED`].
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Exception(Box<str>);

impl Exception {
    /// What the side task may except a Machine for: troubles of that Machine's own server, and no others.
    pub const FORCED: [Reason; 3] = [Reason::ServerGone, Reason::ServerDeferred, Reason::NameTooLong];

    /// Longer texts are cut off here, in bytes: they are kept in memory and shown in the status.
    pub const LONGEST: usize = 64;

    /// Takes up what the annotation says.
    #[must_use]
    pub fn of(text: &str) -> Self {
        let mut end = text.len().min(Self::LONGEST);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        Self(text.get(..end).unwrap_or_default().into())
    }

    /// The reason that the side task excepted it for; none when it is a text of somebody else.
    #[must_use]
    pub fn forced(&self) -> Option<Reason> {
        Self::FORCED.into_iter().find(|reason| reason.name() == &*self.0)
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_its_own_reasons_are_those_of_the_side_task() {
        for reason in Reason::ALL {
            let exception = Exception::of(reason.name());
            assert_eq!(exception.forced(), Exception::FORCED.contains(reason).then_some(*reason));
        }
        assert_eq!(Exception::of("").forced(), None);
        assert_eq!(Exception::of("server-gone ").forced(), None);
    }

    #[test]
    fn a_long_text_is_cut_between_two_characters() {
        let text = "ä".repeat(100);
        assert_eq!(Exception::of(&text).as_str(), "ä".repeat(32));
        assert_eq!(Exception::of(&format!("a{text}")).as_str(), format!("a{}", "ä".repeat(31)));
    }
}
