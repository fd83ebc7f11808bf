//! The token endpoint: assertions in, access tokens out.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::keys::{AUDIENCE, ServiceAccountKey};
use crate::reply::Reply;

const GRANT_ASSERTION: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const GRANT_REFRESH: &str = "refresh_token";
/// How long an assertion may be good for: the vendor documents 10 min, its Go SDK asks for 1 h.
const SHORTEST: u64 = 10;
const LONGEST: u64 = 3600;
/// By how much a caller's clock may be ahead.
const SKEW: u64 = 60;

#[derive(Debug)]
struct Registered {
    key: ServiceAccountKey,
    active: bool,
}

/// What an access token stands for.
#[derive(Clone, Debug)]
struct Issued {
    kid: String,
    /// Seconds since 1970; the token is refused from then on.
    expires: u64,
}

/// Who calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Caller {
    pub(crate) kid: String,
    pub(crate) project: String,
}

/// Why a token is not accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    Missing,
    Unknown,
    /// The token of this key has expired.
    Expired(String),
}

#[derive(Debug)]
pub(crate) struct Tokens {
    keys: HashMap<String, Registered>,
    issued: HashMap<String, Issued>,
    refresh: HashMap<String, Issued>,
    used: HashSet<(String, String)>,
    lifetime: Duration,
    secret: [u8; 32],
}

/// A form that was posted to the token endpoint, and what it is good for in the journal.
#[derive(Debug)]
pub(crate) struct TokenRequest {
    grant: String,
    assertion: String,
    refresh: String,
    kid: Option<String>,
    claims: Value,
}

impl TokenRequest {
    pub(crate) fn read(form: &HashMap<String, String>) -> Self {
        let field = |name: &str| form.get(name).cloned().unwrap_or_default();
        let assertion = field("assertion");
        Self {
            grant: field("grant_type"),
            refresh: field("refresh_token"),
            kid: jsonwebtoken::decode_header(&assertion).ok().and_then(|header| header.kid),
            claims: jsonwebtoken::dangerous::insecure_decode_claims(&assertion).unwrap_or_default(),
            assertion,
        }
    }

    /// What may be kept: no assertion, no token.
    pub(crate) fn without_secrets(&self) -> Value {
        json!({ "grant_type": self.grant, "claims": self.claims })
    }
}

impl Tokens {
    pub(crate) fn new() -> Self {
        Self {
            keys: HashMap::new(),
            issued: HashMap::new(),
            refresh: HashMap::new(),
            used: HashSet::new(),
            lifetime: Duration::from_secs(3600),
            secret: rand::random(),
        }
    }

    pub(crate) fn register(&mut self, project: &str) -> ServiceAccountKey {
        let key = ServiceAccountKey::new(project, self.keys.len());
        self.keys.insert(key.kid.clone(), Registered { key: key.clone(), active: true });
        key
    }

    pub(crate) fn set_active(&mut self, kid: &str, active: bool) {
        if let Some(registered) = self.keys.get_mut(kid) {
            registered.active = active;
        }
    }

    pub(crate) fn set_lifetime(&mut self, lifetime: Duration) {
        self.lifetime = lifetime;
    }

    /// Makes every access token of the key (of all keys) an expired one.
    pub(crate) fn expire(&mut self, kid: Option<&str>) {
        for issued in self.issued.values_mut() {
            if kid.is_none_or(|kid| issued.kid == kid) {
                issued.expires = 0;
            }
        }
    }

    /// Key ID and project that a request claims, before anything is checked.
    pub(crate) fn claimed(&self, request: &TokenRequest) -> (Option<String>, Option<String>) {
        let kid = request.kid.clone().or_else(|| self.refresh.get(&request.refresh).map(|issued| issued.kid.clone()));
        let project = kid.as_ref().and_then(|kid| self.keys.get(kid)).map(|registered| registered.key.project.clone());
        (kid, project)
    }

    pub(crate) fn caller(&self, authorization: Option<&str>) -> Result<Caller, Refused> {
        let token = authorization.and_then(|header| header.strip_prefix("Bearer ")).ok_or(Refused::Missing)?;
        let issued = self.issued.get(token).ok_or(Refused::Unknown)?;
        if now() >= issued.expires {
            return Err(Refused::Expired(issued.kid.clone()));
        }
        let registered = self.keys.get(&issued.kid).ok_or(Refused::Unknown)?;
        Ok(Caller { kid: issued.kid.clone(), project: registered.key.project.clone() })
    }

    pub(crate) fn answer(&mut self, request: &TokenRequest) -> Reply {
        let kid = match request.grant.as_str() {
            GRANT_ASSERTION => match self.check(request) {
                Ok(kid) => kid,
                Err(problem) => return bad_request(&problem),
            },
            GRANT_REFRESH => match self.refresh.remove(&request.refresh) {
                Some(issued) if now() < issued.expires => issued.kid,
                _ => return bad_request("refresh token is invalid or expired"),
            },
            other => return bad_request(&format!("unsupported grant_type \"{other}\"")),
        };
        if !self.keys.get(&kid).is_some_and(|registered| registered.active) {
            let message = format!("Key with kid {kid} is not active");
            return Reply::json(403, &json!({ "error": { "code": 403, "status": "Forbidden", "message": message } }));
        }
        match self.issue(&kid) {
            Ok(body) => Reply::json(200, &body),
            Err(problem) => Reply::error(500, &problem.to_string()),
        }
    }

    /// The key that signed the assertion, or what is wrong with it.
    fn check(&mut self, request: &TokenRequest) -> Result<String, String> {
        let kid = request.kid.clone().ok_or("assertion is no JWT with a kid")?;
        let registered = self.keys.get(&kid).ok_or_else(|| format!("Key with kid {kid} was not found"))?;
        let key = &registered.key;
        let mut rules = Validation::new(Algorithm::RS512);
        rules.leeway = 0;
        rules.set_required_spec_claims(&["exp", "aud", "iss", "sub"]);
        rules.set_audience(&[AUDIENCE]);
        rules.set_issuer(&[&key.issuer]);
        rules.sub = Some(key.subject.clone());
        let public = DecodingKey::from_rsa_pem(key.public_pem().as_bytes()).map_err(|problem| problem.to_string())?;
        let claims = jsonwebtoken::decode::<Value>(&request.assertion, &public, &rules)
            .map_err(|problem| format!("assertion is not valid: {problem}"))?
            .claims;
        let seconds = |name: &str| claims[name].as_u64().ok_or_else(|| format!("assertion has no {name}"));
        let (issued, expires) = (seconds("iat")?, seconds("exp")?);
        if issued > now() + SKEW {
            return Err("assertion was issued in the future".to_owned());
        }
        let lifetime = expires.saturating_sub(issued);
        if !(SHORTEST..=LONGEST).contains(&lifetime) {
            return Err(format!("assertion lives {lifetime} s, which is not between {SHORTEST} and {LONGEST} s"));
        }
        let id = claims["jti"].as_str().filter(|id| !id.is_empty()).ok_or("assertion has no jti")?;
        if !self.used.insert((kid.clone(), id.to_owned())) {
            return Err(format!("assertion with jti {id} was used before"));
        }
        Ok(kid)
    }

    fn issue(&mut self, kid: &str) -> Result<Value, jsonwebtoken::errors::Error> {
        let lifetime = self.lifetime.as_secs();
        let expires = now() + lifetime;
        let access = self.sign(kid, expires)?;
        let refresh_expires = expires + lifetime;
        let refresh = self.sign(kid, refresh_expires)?;
        let kid = kid.to_owned();
        self.issued.insert(access.clone(), Issued { kid: kid.clone(), expires });
        self.refresh.insert(refresh.clone(), Issued { kid, expires: refresh_expires });
        Ok(json!({
            "access_token": access,
            "refresh_token": refresh,
            "scope": "",
            "token_type": "Bearer",
            "expires_in": lifetime,
        }))
    }

    /// Clients read `exp` and cannot check the signature, so any algorithm will do.
    fn sign(&self, kid: &str, expires: u64) -> Result<String, jsonwebtoken::errors::Error> {
        let key = self.keys.get(kid).map(|registered| &registered.key);
        let claims = json!({
            "iss": "stackit/serviceaccount",
            "sub": key.map(|key| &key.subject),
            "email": key.map(|key| &key.issuer),
            "iat": now(),
            "exp": expires,
            "jti": Uuid::new_v4().to_string(),
        });
        jsonwebtoken::encode(&Header::new(Algorithm::HS256), &claims, &EncodingKey::from_secret(&self.secret)?)
    }
}

/// Seconds since 1970.
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

fn bad_request(message: &str) -> Reply {
    Reply::json(
        400,
        &json!({
            "timeStamp": "2026-01-01T00:00:00.000Z",
            "path": "/token",
            "status": 400,
            "error": "Bad Request",
            "message": message,
        }),
    )
}
