//! The server itself: one connection after the other, one request on each.
//!
//! Lives here: raw HTTP over tokio's sockets. Not here: anything of Naven Events.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

/// What to do with one request.
pub(crate) enum Reply {
    /// Answer with this status, these further header lines and this body.
    Answer(u16, &'static str, String),
    /// Never answer, and keep the connection until the client closes it.
    Silence,
    /// Close the connection after the request was read.
    HangUp,
}

/// A running server.
pub(crate) struct Canned {
    /// Its address, as a client takes it.
    pub(crate) url: String,
    requests: mpsc::UnboundedReceiver<String>,
}

/// A success whose data is this JSON text.
pub(crate) fn envelope(data: &str) -> Reply {
    Reply::Answer(200, "", format!(r#"{{"code":0,"message":"ok","data":{data}}}"#))
}

impl Canned {
    /// A server that gives `replies` in order, one a connection, and then no more.
    pub(crate) async fn start(replies: Vec<Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("its address"));
        let (seen, requests) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            for reply in replies {
                let (mut stream, _) = listener.accept().await.expect("a connection");
                seen.send(read_request(&mut stream).await).ok();
                answer(stream, reply).await;
            }
        });
        Self { url, requests }
    }

    /// The next request as it came: head and body.
    pub(crate) async fn request(&mut self) -> String {
        self.requests.recv().await.expect("a request was made")
    }
}

async fn answer(mut stream: TcpStream, reply: Reply) {
    let (status, headers, body) = match reply {
        Reply::Answer(status, headers, body) => (status, headers, body),
        Reply::Silence => {
            let _ = stream.read(&mut [0]).await;
            return;
        }
        Reply::HangUp => return,
    };
    let head = format!(
        "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {}\r\n{headers}connection: close\r\n\r\n",
        body.len()
    );
    // The client may have gone away, which is what some tests are about.
    let _ = stream.write_all(format!("{head}{body}").as_bytes()).await;
}

async fn read_request(stream: &mut TcpStream) -> String {
    let mut text = String::new();
    let mut buffer = [0; 4096];
    loop {
        let count = stream.read(&mut buffer).await.expect("a request");
        text.push_str(std::str::from_utf8(&buffer[..count]).expect("requests are UTF-8"));
        if count == 0 || is_whole(&text) {
            return text;
        }
    }
}

fn is_whole(text: &str) -> bool {
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length = head
        .lines()
        .filter_map(|line| line.split_once(": "))
        .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
        .map_or(0, |(_, value)| value.parse().expect("a length"));
    body.len() >= length
}
