use super::{OwnerConfigError, OwnerRecordError};

/// How Gardener names a shoot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShootNames<'a> {
    /// The namespace in the seed, which is the technical ID.
    pub namespace: &'a str,
    /// The name of the Shoot.
    pub name: &'a str,
    /// The Gardener project.
    pub project: &'a str,
}

impl<'a> ShootNames<'a> {
    /// The names in a technical ID, `shoot--<project>--<name>`; a project's name cannot hold `--`.
    #[must_use]
    pub fn of_namespace(namespace: &'a str) -> Option<Self> {
        let (project, name) = namespace.strip_prefix("shoot--")?.split_once("--")?;
        (!project.is_empty() && !name.is_empty()).then_some(Self { namespace, name, project })
    }
}

/// The name of the owner record, with placeholders for the shoot: `owner.{name}.{project}.internal.example.org`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NameTemplate {
    text: String,
    parts: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Text(String),
    Namespace,
    Name,
    Project,
}

impl NameTemplate {
    /// Reads a template. A dot at its end changes nothing: the name is always a full one.
    ///
    /// # Errors
    /// [`OwnerConfigError`] that says what to change.
    pub fn parse(text: &str) -> Result<Self, OwnerConfigError> {
        let wrong = || OwnerConfigError::Placeholder(text.to_owned());
        let mut parts = Vec::new();
        let mut rest = text.strip_suffix('.').unwrap_or(text);
        while let Some((before, after)) = rest.split_once('{') {
            let (placeholder, after) = after.split_once('}').ok_or_else(wrong)?;
            parts.push(Part::Text(before.to_owned()));
            parts.push(match placeholder {
                "namespace" => Part::Namespace,
                "name" => Part::Name,
                "project" => Part::Project,
                _ => return Err(wrong()),
            });
            rest = after;
        }
        parts.push(Part::Text(rest.to_owned()));
        if parts.iter().any(|part| matches!(part, Part::Text(text) if text.contains('}'))) {
            return Err(wrong());
        }
        let has = |part| parts.contains(&part);
        let is_unique = has(Part::Namespace) || (has(Part::Name) && has(Part::Project));
        if !is_unique {
            return Err(OwnerConfigError::Shared(text.to_owned()));
        }
        let template = Self { text: text.to_owned(), parts };
        let shortest = ShootNames { namespace: "n", name: "n", project: "n" };
        template.fill(shortest).map_err(|_| OwnerConfigError::NoName(text.to_owned()))?;
        Ok(template)
    }

    /// The name of the owner record of a shoot, with a dot at its end.
    ///
    /// # Errors
    /// [`OwnerRecordError::Unknown`] if that is no DNS name.
    pub fn fill(&self, shoot: ShootNames<'_>) -> Result<String, OwnerRecordError> {
        let fill = |part: &Part| match part {
            Part::Text(text) => Ok(text.clone()),
            Part::Namespace => label(shoot.namespace),
            Part::Name => label(shoot.name),
            Part::Project => label(shoot.project),
        };
        let name = self.parts.iter().map(fill).collect::<Result<String, String>>();
        name.and_then(full_name).map_err(|why| OwnerRecordError::Unknown { name: self.text.clone(), why })
    }
}

/// A value must not add labels to the name: it would be another shoot's.
fn label(value: &str) -> Result<String, String> {
    if value.is_empty() || value.contains('.') {
        return Err(format!("`{value}` is no part of a DNS name"));
    }
    Ok(value.to_owned())
}

fn full_name(name: String) -> Result<String, String> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    let is_label = |label: &str| (1..=63).contains(&label.len()) && label.bytes().all(allowed);
    // RFC 1035: 255 octets on the wire, which is 253 characters without the last dot.
    if name.len() > 253 || !name.split('.').all(is_label) {
        return Err(format!("`{name}` is no DNS name"));
    }
    Ok(name + ".")
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHOOT: ShootNames<'_> = ShootNames { namespace: "shoot--dev--blue", name: "blue", project: "dev" };

    fn filled(template: &str) -> String {
        NameTemplate::parse(template).unwrap().fill(SHOOT).unwrap()
    }

    #[test]
    fn fills_in_what_names_the_shoot() {
        assert_eq!(filled("owner.{name}.{project}.example.org"), "owner.blue.dev.example.org.");
        assert_eq!(filled("{namespace}.example.org."), "shoot--dev--blue.example.org.");
        assert_eq!(filled("_owner.x-{name}-{project}.org"), "_owner.x-blue-dev.org.");
    }

    #[test]
    fn refuses_what_gives_no_name_of_its_own_to_a_shoot() {
        use OwnerConfigError as E;
        for text in ["owner.{shoot}.org", "owner.{name.org", "owner.name}.org", "{}.org", "{{name}}.org"] {
            assert_eq!(NameTemplate::parse(text), Err(E::Placeholder(text.to_owned())));
        }
        for text in ["owner.example.org", "", "{name}.org", "{project}.org"] {
            assert_eq!(NameTemplate::parse(text), Err(E::Shared(text.to_owned())));
        }
        for text in ["{namespace}..org", ".{namespace}", "own er.{namespace}", "{namespace}..", "ö.{namespace}"] {
            assert_eq!(NameTemplate::parse(text), Err(E::NoName(text.to_owned())));
        }
    }

    #[test]
    fn a_shoot_whose_name_gives_no_dns_name_is_unknown() {
        let template = NameTemplate::parse("owner.{name}.{project}.org").unwrap();
        for name in ["", "blue.green", "bl ue", &"x".repeat(64)] {
            let filled = template.fill(ShootNames { name, ..SHOOT });
            assert!(matches!(filled, Err(OwnerRecordError::Unknown { .. })), "{name}");
        }
    }

    #[test]
    fn takes_a_technical_id_apart() {
        assert_eq!(ShootNames::of_namespace("shoot--dev--blue"), Some(SHOOT));
        let odd = ShootNames { namespace: "shoot--dev--b--c", name: "b--c", project: "dev" };
        assert_eq!(ShootNames::of_namespace("shoot--dev--b--c"), Some(odd));
        for namespace in ["garden", "shoot--dev", "shoot----blue", "shoot--dev--"] {
            assert_eq!(ShootNames::of_namespace(namespace), None);
        }
    }
}
