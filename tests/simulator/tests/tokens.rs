//! Which assertions get a token, and what a token opens.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod client;

use std::time::Duration;

use client::{Client, exchange, post_form};
use serde_json::{Value, json};
use simulator::{Operation, Server, ServiceAccountKey, Simulator};

const PROJECT: &str = "11111111-1111-4111-8111-111111111111";
const OTHER: &str = "11111111-1111-4111-8111-222222222222";

fn start() -> (Simulator, ServiceAccountKey) {
    let simulator = Simulator::start().unwrap();
    let key = simulator.cloud().add_project(PROJECT);
    (simulator, key)
}

/// Seconds since 1970.
fn now() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs()
}

/// The claims of a token, read as a client reads them: without its signature.
fn claims(token: &Value) -> Value {
    jsonwebtoken::dangerous::insecure_decode_claims(token.as_str().unwrap()).unwrap()
}

#[tokio::test]
async fn a_good_assertion_gets_a_token_that_says_when_it_expires() {
    let (simulator, key) = start();
    simulator.cloud().set_token_lifetime(Duration::from_secs(600));

    let answer = exchange(&simulator, &key.assertion(&json!({})).unwrap()).await;

    assert_eq!(answer.status, 200, "{}", answer.body);
    let body = answer.json();
    assert_eq!(body["token_type"], "Bearer");
    assert_eq!(body["expires_in"], 600);
    assert!(body["scope"].is_string() && body["refresh_token"].is_string());
    let (issued, expires) =
        (claims(&body["access_token"])["iat"].clone(), claims(&body["access_token"])["exp"].clone());
    assert_eq!(expires.as_u64().unwrap() - issued.as_u64().unwrap(), 600);
}

#[tokio::test]
async fn an_assertion_with_one_thing_wrong_gets_none() {
    let (simulator, key) = start();
    let second = simulator.cloud().add_key(PROJECT);
    let mut unknown = key.clone();
    "99999999-9999-4999-8999-999999999999".clone_into(&mut unknown.kid);
    let wrong = [
        ("aud", key.assertion(&json!({"aud": "https://elsewhere.example"}))),
        ("no aud", key.assertion(&json!({"aud": null}))),
        ("iss", key.assertion(&json!({"iss": "somebody@sa.stackit.cloud"}))),
        ("no iss", key.assertion(&json!({"iss": null}))),
        ("sub", key.assertion(&json!({"sub": PROJECT}))),
        ("no sub", key.assertion(&json!({"sub": null}))),
        ("no jti", key.assertion(&json!({"jti": null}))),
        ("no iat", key.assertion(&json!({"iat": null}))),
        ("no exp", key.assertion(&json!({"exp": null}))),
        ("expired", key.assertion(&json!({"iat": now() - 700, "exp": now() - 100}))),
        ("issued in the future", key.assertion(&json!({"iat": now() + 300, "exp": now() + 900}))),
        ("too long", key.assertion(&json!({"exp": now() + 3700}))),
        ("too short", key.assertion(&json!({"iat": now(), "exp": now() + 5}))),
        ("signature", key.assertion_signed_by(&second, &json!({}))),
        ("kid", unknown.assertion(&json!({}))),
        ("no JWT", Ok("nonsense".to_owned())),
    ];
    for (what, assertion) in wrong {
        let answer = exchange(&simulator, &assertion.unwrap()).await;
        assert_eq!(answer.status, 400, "{what}: {}", answer.body);
        let body = answer.json();
        for member in ["timeStamp", "path", "error", "message"] {
            assert!(body[member].is_string(), "{what}: {body}");
        }
        assert_eq!(body["status"], 400, "{what}");
    }
    let answer = exchange(&simulator, &unknown.assertion(&json!({})).unwrap()).await;
    assert!(answer.body.contains("Key with kid 99999999-9999-4999-8999-999999999999 was not found"), "{}", answer.body);
}

#[tokio::test]
async fn only_rs512_is_accepted() {
    let (simulator, key) = start();
    let mut header = jsonwebtoken::Header::new(jsonwebtoken::Algorithm::RS256);
    header.kid = Some(key.kid.clone());
    let claims = json!({
        "iss": key.issuer, "sub": key.subject, "aud": simulator::AUDIENCE, "jti": "1", "iat": now(), "exp": now() + 600,
    });
    let pem = jsonwebtoken::EncodingKey::from_rsa_pem(key.private_pem().as_bytes()).unwrap();
    let assertion = |header| jsonwebtoken::encode(&header, &claims, &pem).unwrap();

    assert_eq!(exchange(&simulator, &assertion(header.clone())).await.status, 400);
    header.alg = jsonwebtoken::Algorithm::RS512;
    assert_eq!(exchange(&simulator, &assertion(header)).await.status, 200);
}

#[tokio::test]
async fn the_bounds_of_an_assertions_life_are_inclusive() {
    let (simulator, key) = start();
    for lifetime in [10, 3600] {
        let iat = now();
        let assertion = key.assertion(&json!({"iat": iat, "exp": iat + lifetime})).unwrap();
        assert_eq!(exchange(&simulator, &assertion).await.status, 200, "{lifetime}");
    }
}

#[tokio::test]
async fn an_assertion_works_once() {
    let (simulator, key) = start();
    let assertion = key.assertion(&json!({})).unwrap();
    assert_eq!(exchange(&simulator, &assertion).await.status, 200);
    let again = exchange(&simulator, &assertion).await;
    assert_eq!(again.status, 400);
    assert!(again.body.contains("was used before"), "{}", again.body);
}

#[tokio::test]
async fn a_key_that_is_not_active_gets_403_and_its_tokens_stay_good() {
    let (simulator, key) = start();
    let client = Client::new(&simulator, &key).await;
    simulator.cloud().deactivate_key(&key.kid);

    let answer = exchange(&simulator, &key.assertion(&json!({})).unwrap()).await;

    assert_eq!(answer.status, 403);
    assert_eq!(answer.json()["error"]["code"], 403);
    assert!(answer.json()["error"]["message"].as_str().unwrap().contains(&key.kid));
    assert_eq!(client.get("/servers").await.status, 200);
    simulator.cloud().activate_key(&key.kid);
    assert_eq!(exchange(&simulator, &key.assertion(&json!({})).unwrap()).await.status, 200);
}

#[tokio::test]
async fn a_refresh_token_is_exchanged_once() {
    let (simulator, key) = start();
    let first = exchange(&simulator, &key.assertion(&json!({})).unwrap()).await.json();
    let refresh = first["refresh_token"].as_str().unwrap();
    let form = [("grant_type", "refresh_token"), ("refresh_token", refresh)];

    let second = post_form(&simulator, &form).await;

    assert_eq!(second.status, 200);
    assert_ne!(second.json()["access_token"], first["access_token"]);
    assert_eq!(post_form(&simulator, &form).await.status, 400);
    assert_eq!(post_form(&simulator, &[("grant_type", "password")]).await.status, 400);
    assert_eq!(post_form(&simulator, &[]).await.status, 400);
}

#[tokio::test]
async fn without_a_good_token_every_call_gets_401() {
    let (simulator, key) = start();
    let cloud = simulator.cloud();
    let mut client = Client::new(&simulator, &key).await;
    assert_eq!(client.get("/servers").await.status, 200);

    cloud.expire_tokens();
    let expired = client.get("/servers").await;
    assert_eq!(expired.status, 401);
    assert_eq!(expired.json(), json!({"status": 401, "message": "Unauthenticated token"}));
    cloud.set_plain_text_401(true);
    let expired = client.get("/servers").await;
    assert_eq!((expired.status, expired.body.as_str()), (401, "Jwt is expired"));
    assert_eq!(expired.header("content-type"), Some("text/plain"));

    client.token = "nonsense".to_owned();
    let unknown = client.get("/servers").await;
    assert_eq!(unknown.status, 401);
    assert!(unknown.body.starts_with("Jwks doesn't have key to match kid"), "{}", unknown.body);
    let none = client.http.get(format!("{}/servers", client.base)).send().await.unwrap();
    assert_eq!(none.status().as_u16(), 401);

    let kids: Vec<_> = cloud.calls(Operation::ListServers).into_iter().map(|call| call.kid).collect();
    let known = Some(key.kid);
    assert_eq!(kids, [known.clone(), known.clone(), known, None, None]);
}

#[tokio::test]
async fn a_token_ends_when_its_exp_says() {
    let (simulator, key) = start();
    simulator.cloud().set_token_lifetime(Duration::from_secs(2));
    let client = Client::new(&simulator, &key).await;
    let expires = claims(&Value::from(client.token.as_str()))["exp"].as_u64().unwrap();

    let deadline = std::time::Instant::now() + Duration::from_secs(60);
    loop {
        let before = now();
        let status = client.get("/servers").await.status;
        let after = now();
        assert!(status == 401 || before < expires, "a token was good after its end");
        assert!(status == 200 || after >= expires, "a token was refused before its end");
        if status == 401 {
            break;
        }
        assert!(std::time::Instant::now() < deadline, "the token never ends");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn a_key_opens_its_own_project_only() {
    let (simulator, key) = start();
    let cloud = simulator.cloud();
    let _ = cloud.add_project(OTHER);
    let theirs = "22222222-2222-4222-8222-222222222222";
    cloud.add_server(OTHER, "eu01", Server::new(theirs, "theirs"));
    let ours = Client::new(&simulator, &key).await;
    let at = |project: &str, region: &str| Client {
        base: format!("{}/v2/projects/{project}/regions/{region}", simulator.iaas_url()),
        ..ours.clone()
    };

    let foreign = at(OTHER, "eu01").patch(&format!("/servers/{theirs}"), &json!({"labels": {"a": "b"}})).await;
    assert_eq!((foreign.status, foreign.message().as_str()), (403, "Forbidden"));
    assert_eq!(cloud.server(theirs).unwrap().labels.text("a"), None);

    // A server of another project, or of another region, is not found under ours.
    assert_eq!(ours.get(&format!("/servers/{theirs}")).await.status, 404);
    let unknown = at("99999999-9999-4999-8999-999999999999", "eu01").get("/servers").await;
    assert_eq!((unknown.status, unknown.message().as_str()), (404, "project not found"));
    let malformed = at("NOT-A-UUID", "eu01").get("/servers").await;
    assert_eq!((malformed.status, malformed.message().as_str()), (400, "invalid uuid"));
    let malformed = ours.get("/servers/AAAAAAAA-AAAA-4AAA-8AAA-AAAAAAAAAAAA").await;
    assert_eq!((malformed.status, malformed.message().as_str()), (400, "invalid uuid"));
    assert_eq!(at(PROJECT, "RegionOne").get("/servers").await.status, 404);
    assert_eq!(at(PROJECT, "eu02").get("/servers").await.items("id"), Vec::<String>::new());
}

#[tokio::test]
async fn the_journal_holds_no_assertion_and_no_token() {
    let (simulator, key) = start();
    let assertion = key.assertion(&json!({})).unwrap();
    let token = exchange(&simulator, &assertion).await.json()["access_token"].as_str().unwrap().to_owned();
    let client = Client { token: token.clone(), ..Client::new(&simulator, &key).await };
    client.get("/servers").await;

    let journal = simulator.cloud().journal();

    let text = format!("{journal:?}");
    assert!(!text.contains(&assertion) && !text.contains(&token));
    assert_eq!(journal[0].body.as_ref().unwrap()["claims"]["iss"], key.issuer);
    assert_eq!(journal[0].project.as_deref(), Some(PROJECT));
}
