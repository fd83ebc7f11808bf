//! Passing requests on to the API server, and answers back, under the faults of the moment.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::{Request, Response};
use http_body_util::BodyExt as _;
use hyper::body::{Body, Bytes, Frame, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_rustls::{TlsAcceptor, TlsConnector};

use super::faults::{self, Faults, Network};
use super::path::watched;

/// The API server, and what goes wrong on the way to it.
pub(super) struct Upstream {
    pub(super) address: SocketAddr,
    pub(super) name: ServerName<'static>,
    pub(super) connector: TlsConnector,
    pub(super) faults: watch::Sender<Faults>,
}

/// Accepts connections for ever.
pub(super) async fn serve(listener: TcpListener, acceptor: TlsAcceptor, upstream: Arc<Upstream>) {
    loop {
        let Ok((client, _)) = listener.accept().await else {
            tokio::time::sleep(Duration::from_millis(10)).await;
            continue;
        };
        let _ = client.set_nodelay(true);
        let (network, cuts) = {
            let faults = upstream.faults.borrow();
            (faults.network, faults.cuts)
        };
        if network == Network::Cut {
            continue;
        }
        let (acceptor, upstream) = (acceptor.clone(), Arc::clone(&upstream));
        let cut = faults::cut(upstream.faults.subscribe(), cuts);
        tokio::spawn(async move {
            // Dropping the connection closes it, with everything that was under way on it.
            tokio::select! {
                () = connection(client, acceptor, upstream) => {}
                () = cut => {}
            }
        });
    }
}

async fn connection(client: TcpStream, acceptor: TlsAcceptor, upstream: Arc<Upstream>) {
    faults::pass(&mut upstream.faults.subscribe()).await;
    let Ok(stream) = acceptor.accept(client).await else { return };
    let service = service_fn(|request| {
        let upstream = Arc::clone(&upstream);
        async move { relay(request, &upstream).await }
    });
    // An error is a client that went away, or an API server that is not there; the client sees a closed connection.
    let _ = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}

async fn relay(request: Request<Incoming>, upstream: &Upstream) -> io::Result<Response<Pieces>> {
    let mut faults = upstream.faults.subscribe();
    faults::pass(&mut faults).await;
    let delay = faults.borrow().delay;
    tokio::time::sleep(delay).await;

    let resource = watched(request.uri()).map(ToOwned::to_owned);
    if resource.as_ref().is_some_and(|resource| faults.borrow().swallowed.contains(resource)) {
        let (sender, pieces) = unbounded_channel();
        tokio::spawn(async move { sender.closed().await });
        let mut response = Response::new(Pieces(pieces));
        response.headers_mut().insert(http::header::CONTENT_TYPE, http::HeaderValue::from_static("application/json"));
        return Ok(response);
    }

    let stream = TcpStream::connect(upstream.address).await?;
    stream.set_nodelay(true)?;
    let stream = upstream.connector.connect(upstream.name.clone(), stream).await?;
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(io::Error::other)?;
    tokio::spawn(connection);
    let response = sender.send_request(request).await.map_err(io::Error::other)?;
    faults::pass(&mut faults).await;

    let (parts, body) = response.into_parts();
    let (queue, queued) = unbounded_channel();
    let (pieces, receiver) = unbounded_channel();
    tokio::spawn(read(body, queue, faults.clone(), resource.is_some()));
    tokio::spawn(deliver(queued, pieces, faults, resource));
    Ok(Response::from_parts(parts, Pieces(receiver)))
}

type Piece = io::Result<Frame<Bytes>>;

/// Reads an answer, and notes for each piece when it is due.
async fn read(
    mut body: Incoming,
    queue: UnboundedSender<(Instant, Piece)>,
    faults: watch::Receiver<Faults>,
    watch: bool,
) {
    loop {
        let frame = tokio::select! {
            () = queue.closed() => return,
            frame = body.frame() => frame,
        };
        let Some(frame) = frame else { return };
        // A list is late as a whole, by its request; each event of a watch is late by itself.
        let delay = if watch { faults.borrow().delay } else { Duration::ZERO };
        if queue.send((Instant::now() + delay, frame.map_err(io::Error::other))).is_err() {
            return;
        }
    }
}

/// Hands pieces on when they are due, until one side ends or the stream falls silent.
async fn deliver(
    mut queue: UnboundedReceiver<(Instant, Piece)>,
    pieces: UnboundedSender<Piece>,
    mut faults: watch::Receiver<Faults>,
    resource: Option<String>,
) {
    let swallowed = |faults: &Faults| resource.as_ref().is_some_and(|resource| faults.swallowed.contains(resource));
    loop {
        if swallowed(&faults.borrow_and_update()) {
            // Not even its end arrives.
            pieces.closed().await;
            return;
        }
        let piece = tokio::select! {
            biased;
            // The proxy keeps the other end as long as this task runs.
            _ = faults.changed() => continue,
            () = pieces.closed() => return,
            piece = queue.recv() => piece,
        };
        if let Some((due, _)) = &piece {
            tokio::time::sleep_until(*due).await;
        }
        faults::pass(&mut faults).await;
        if swallowed(&faults.borrow()) {
            continue;
        }
        let Some((_, piece)) = piece else { return };
        if pieces.send(piece).is_err() {
            return;
        }
    }
}

/// A body whose pieces come over a channel.
pub(super) struct Pieces(UnboundedReceiver<Piece>);

impl Body for Pieces {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Piece>> {
        self.0.poll_recv(context)
    }
}
