//! A server as it is kept: with what lists may still show instead of it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::model::Server;

/// How long a changed server is remembered as it was before.
const REMEMBERED: Duration = Duration::from_secs(10);

/// What was true before the last burst of changes.
#[derive(Debug)]
enum Before {
    /// The server was put there by the test, not by a call.
    Same,
    Absent,
    Was(Box<Server>),
}

#[derive(Debug)]
pub(crate) struct Entry {
    server: Server,
    before: Before,
    /// When `before` ceased to be true.
    since: Instant,
    /// Until when lists show `before`.
    hidden_until: Option<Instant>,
    /// A new server is CREATING until then.
    active_from: Option<Instant>,
    /// The form without details, until the next change: a list of thousands is mostly copying.
    rendered: Option<Arc<str>>,
}

impl Entry {
    pub(crate) fn placed(server: Server) -> Self {
        let since = Instant::now();
        Self { server, before: Before::Same, since, hidden_until: None, active_from: None, rendered: None }
    }

    /// Made by a call; ACTIVE after `boot`.
    pub(crate) fn created(server: Server, boot: Duration) -> Self {
        let active_from = Some(Instant::now() + boot);
        Self { before: Before::Absent, active_from, ..Self::placed(server) }
    }

    /// The server as it is now.
    pub(crate) fn server(&mut self) -> &Server {
        self.ripen();
        &self.server
    }

    /// The server as it is now, to be changed.
    pub(crate) fn change(&mut self) -> &mut Server {
        self.ripen();
        let now = Instant::now();
        let hidden = self.hidden_until.is_some_and(|until| now < until);
        let recent = !matches!(self.before, Before::Same) && now.saturating_duration_since(self.since) < REMEMBERED;
        if !hidden && !recent {
            self.before = Before::Was(Box::new(self.server.clone()));
            self.since = now;
        }
        self.rendered = None;
        &mut self.server
    }

    fn ripen(&mut self) {
        if self.active_from.is_some_and(|from| from <= Instant::now()) {
            self.active_from = None;
            "ACTIVE".clone_into(&mut self.server.status);
            self.server.power_status = Some("RUNNING".to_owned());
            self.rendered = None;
        }
    }

    pub(crate) fn hide(&mut self, lasting: Duration) {
        self.hidden_until = Some(Instant::now() + lasting);
    }

    /// What a list shows: the server, or what was true before if changes of the last `window` are not visible in it.
    pub(crate) fn listed(&mut self, window: Option<Duration>) -> Option<&Server> {
        self.ripen();
        if !self.is_stale(window) {
            return Some(&self.server);
        }
        match &self.before {
            Before::Same => Some(&self.server),
            Before::Absent => None,
            Before::Was(server) => Some(server),
        }
    }

    fn is_stale(&self, window: Option<Duration>) -> bool {
        let now = Instant::now();
        self.hidden_until.is_some_and(|until| now < until)
            || window.is_some_and(|window| now.saturating_duration_since(self.since) < window)
    }

    /// The JSON of the server as it is now, without details.
    pub(crate) fn rendered(&mut self) -> Arc<str> {
        self.ripen();
        let server = &self.server;
        Arc::clone(self.rendered.get_or_insert_with(|| server.render(false).to_string().into()))
    }

    /// Whether [`Entry::listed`] is the server as it is now.
    pub(crate) fn is_current(&self, window: Option<Duration>) -> bool {
        matches!(self.before, Before::Same) || !self.is_stale(window)
    }

    pub(crate) fn into_server(self) -> Server {
        self.server
    }
}

/// A deleted server that lists may still show.
#[derive(Debug)]
pub(crate) struct Gone {
    pub(crate) server: Server,
    pub(crate) at: Instant,
    pub(crate) shown_until: Option<Instant>,
}

impl Gone {
    pub(crate) fn listed(&self, window: Option<Duration>) -> Option<&Server> {
        let now = Instant::now();
        let shown = self.shown_until.is_some_and(|until| now < until)
            || window.is_some_and(|window| now.saturating_duration_since(self.at) < window);
        shown.then_some(&self.server)
    }

    pub(crate) fn is_over(&self) -> bool {
        self.at.elapsed() > REMEMBERED && self.shown_until.is_none_or(|until| until <= Instant::now())
    }
}
