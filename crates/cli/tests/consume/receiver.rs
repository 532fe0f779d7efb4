//! A web server that events are handed to.
//!
//! Lives here: it, with the answers that a test tells it to give. Not here: who sends (`forward.rs`).

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread::spawn;

/// A request as it came.
#[derive(Debug, Clone)]
pub(crate) struct Got {
    pub(crate) line: String,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: String,
}

/// What is answered to a request: status line and headers, without the last line break. None never answers.
type Answer = fn(&Got) -> Option<&'static str>;

/// Ends with the test's process.
pub(crate) struct Receiver {
    address: SocketAddr,
    got: Arc<Mutex<Vec<Got>>>,
}

impl Receiver {
    pub(crate) fn start(answer: Answer) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        let got: Arc<Mutex<Vec<Got>>> = Arc::default();
        let noting = Arc::clone(&got);
        spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let noting = Arc::clone(&noting);
                spawn(move || serve(&stream, &noting, answer));
            }
        });
        Self { address, got }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/hook?k=1", self.address)
    }

    /// All requests so far.
    pub(crate) fn got(&self) -> Vec<Got> {
        self.got.lock().expect("nobody panics with it").clone()
    }
}

fn serve(stream: &TcpStream, noting: &Mutex<Vec<Got>>, answer: Answer) {
    let mut reader = BufReader::new(stream);
    while let Some(got) = read(&mut reader) {
        noting.lock().expect("nobody panics with it").push(got.clone());
        let Some(head) = answer(&got) else {
            // Until the other side has had enough of it.
            let _ = reader.read(&mut [0]);
            return;
        };
        let said = "what it said";
        let answered = write!(&*stream, "{head}\r\nContent-Length: {}\r\n\r\n{said}", said.len());
        if answered.is_err() {
            return;
        }
    }
}

fn read(reader: &mut impl BufRead) -> Option<Got> {
    let mut next = || {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|len| *len > 0)?;
        Some(line.trim_end().to_owned())
    };
    let line = next()?;
    let mut headers = BTreeMap::new();
    while let Some((name, value)) = next()?.split_once(": ").map(|(n, v)| (n.to_owned(), v.to_owned())) {
        headers.insert(name.to_ascii_lowercase(), value);
    }
    let length = headers.get("content-length").and_then(|text| text.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(Got { line, headers, body: String::from_utf8(body).expect("payloads are text") })
}
