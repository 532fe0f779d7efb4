//! Commands out of a connection's bytes, however the network cuts them.
//!
//! Lives here: the decoder of one connection, its bounds and its refusals. Not here: the socket, and what a
//! command means.
//!
//! Nothing is allocated for what a client merely announces: the buffer grows as bytes come, and so does the
//! list of arguments. Each byte is looked at a fixed number of times, even when bytes come one by one.

use bytes::{Buf, Bytes, BytesMut};
use naven_api::limits;

use super::bounds::{Bounds, Stage};
use super::inline;
use super::number::{NUMBER_BYTES_MAX, number};
use super::protocol_error::ProtocolError;
use super::request::Request;

/// Longest line of a length, in bytes: `*` or `$`, a number, a carriage return.
const LENGTH_LINE_BYTES: usize = NUMBER_BYTES_MAX + 2;
/// Redis' own bounds: above them a number is wrong rather than forbidden.
const REDIS_COUNT_MAX: usize = i32::MAX as usize;
const REDIS_LENGTH_MAX: usize = 512 * 1024 * 1024;

/// Cuts commands out of the bytes of one connection.
#[derive(Debug)]
pub(crate) struct Decoder {
    bounds: Bounds,
    state: State,
    /// Bytes at the buffer's front in which the end of the present line is not.
    scanned: usize,
    /// Bytes of the present command that have left the buffer.
    taken: usize,
    /// Arguments of the present command, and how many are still to come.
    parts: Vec<Bytes>,
    missing: usize,
    /// Bytes looked at since the beginning: what the laws on cost count.
    #[cfg(any(test, fuzzing))]
    pub(super) looks: usize,
}

/// What stands at the buffer's front.
#[derive(Debug, Clone, Copy)]
enum State {
    /// The first byte of a command.
    Start,
    /// A typed line.
    Inline,
    /// `*` and the number of arguments.
    Count,
    /// `$` and the length of an argument.
    Length,
    /// An argument of so many bytes, and its line end.
    Body(usize),
    /// Bytes that nobody reads any more.
    Failed(ProtocolError),
}

enum Step {
    Wait,
    Go(State),
    Done(Vec<Bytes>),
}

impl Decoder {
    /// A decoder at the beginning of a connection.
    pub(crate) fn new(bounds: Bounds) -> Self {
        Self {
            bounds,
            state: State::Start,
            scanned: 0,
            taken: 0,
            parts: Vec::new(),
            missing: 0,
            #[cfg(any(test, fuzzing))]
            looks: 0,
        }
    }

    /// Holds what is decoded from now on to other bounds. A command that changes them (AUTH, RESET) must
    /// have been run before the next one is decoded.
    pub(crate) fn set_bounds(&mut self, bounds: Bounds) {
        self.bounds = bounds;
    }

    /// The next command, taken from the front of `buffer`; none when more bytes are needed. Commands of
    /// nothing (a blank line, `*0`) are passed over, as Redis does.
    ///
    /// # Errors
    /// What breaks the protocol or a bound; from then on always the same.
    pub(crate) fn decode(&mut self, buffer: &mut BytesMut) -> Result<Option<Request>, ProtocolError> {
        loop {
            match self.step(buffer) {
                Ok(Step::Wait) => return Ok(None),
                Ok(Step::Go(state)) => self.state = state,
                Ok(Step::Done(parts)) => {
                    let request = Request::of(parts);
                    self.rest(buffer);
                    if request.is_some() {
                        return Ok(request);
                    }
                }
                Err(error) => {
                    self.parts = Vec::new();
                    self.state = State::Failed(error);
                    return Err(error);
                }
            }
        }
    }

    /// How many arguments there is room for without another allocation.
    #[cfg(any(test, fuzzing))]
    pub(super) fn parts_capacity(&self) -> usize {
        self.parts.capacity()
    }

    fn step(&mut self, buffer: &mut BytesMut) -> Result<Step, ProtocolError> {
        match self.state {
            State::Start => begin(buffer),
            State::Inline => self.inline(buffer),
            State::Count => self.count(buffer),
            State::Length => self.length(buffer),
            State::Body(bytes) => self.body(buffer, bytes),
            State::Failed(error) => Err(error),
        }
    }

    fn inline(&mut self, buffer: &mut BytesMut) -> Result<Step, ProtocolError> {
        let window = self.bounds.inline_bytes.saturating_add(1);
        let Some(end) = self.seek(buffer, window, |byte| matches!(byte, b'\n' | 0)) else {
            return wait_unless(buffer.len() >= window, ProtocolError::InlineTooBig);
        };
        if buffer.get(end) == Some(&0) {
            return Err(ProtocolError::ZeroByte);
        }
        let line = buffer.split_to(end).freeze();
        self.taken += end;
        self.leave(buffer, 1);
        #[cfg(any(test, fuzzing))]
        {
            self.looks += line.len();
        }
        inline::words(&line, self.bounds.arguments, self.too_many()).map(Step::Done)
    }

    fn count(&mut self, buffer: &mut BytesMut) -> Result<Step, ProtocolError> {
        let wrong = ProtocolError::ArgumentCount;
        let Some(count) = self.number(buffer, wrong)? else { return Ok(Step::Wait) };
        // The null array is passed over like the empty one; below it there is nothing.
        let count = usize::try_from(if count == -1 { 0 } else { count }).map_err(|_| wrong)?;
        if count > REDIS_COUNT_MAX {
            return Err(wrong);
        }
        if count > self.bounds.arguments {
            return Err(self.too_many());
        }
        self.missing = count;
        Ok(if count == 0 { Step::Done(Vec::new()) } else { Step::Go(State::Length) })
    }

    fn length(&mut self, buffer: &mut BytesMut) -> Result<Step, ProtocolError> {
        match buffer.first() {
            None => return Ok(Step::Wait),
            Some(b'$') => {}
            Some(&got) => return Err(ProtocolError::Expected { wanted: b'$', got }),
        }
        let wrong = ProtocolError::ArgumentLength;
        let Some(length) = self.number(buffer, wrong)? else { return Ok(Step::Wait) };
        let length = usize::try_from(length).map_err(|_| wrong)?;
        if length > REDIS_LENGTH_MAX {
            return Err(wrong);
        }
        if length > self.bounds.argument_bytes {
            return Err(match self.bounds.stage {
                Stage::BeforeAuth => ProtocolError::ArgumentLengthBeforeAuth,
                Stage::AfterAuth => wrong,
            });
        }
        if self.taken + length + 2 > self.bounds.command_bytes {
            return Err(ProtocolError::CommandTooBig);
        }
        Ok(Step::Go(State::Body(length)))
    }

    fn body(&mut self, buffer: &mut BytesMut, length: usize) -> Result<Step, ProtocolError> {
        match buffer.get(length..length + 2) {
            None => return Ok(Step::Wait),
            Some(b"\r\n") => {}
            Some(_) => return Err(ProtocolError::LineEnd),
        }
        // Nothing to share in an empty argument: it holds no buffer.
        let part = if length == 0 { Bytes::new() } else { buffer.split_to(length).freeze() };
        self.parts.push(part);
        self.taken += length;
        self.leave(buffer, 2);
        self.missing -= 1;
        if self.missing > 0 {
            return Ok(Step::Go(State::Length));
        }
        Ok(Step::Done(std::mem::take(&mut self.parts)))
    }

    /// The number of the length line at the buffer's front, once the line is all there; it leaves then.
    fn number(&mut self, buffer: &mut BytesMut, wrong: ProtocolError) -> Result<Option<i64>, ProtocolError> {
        let Some(end) = self.seek(buffer, LENGTH_LINE_BYTES, |byte| byte == b'\r') else {
            return if buffer.len() < LENGTH_LINE_BYTES { Ok(None) } else { Err(wrong) };
        };
        match buffer.get(end + 1) {
            None => return Ok(None),
            Some(b'\n') => {}
            Some(_) => return Err(ProtocolError::LineEnd),
        }
        let value = number(buffer.get(1..end).unwrap_or_default()).ok_or(wrong)?;
        self.leave(buffer, end + 2);
        Ok(Some(value))
    }

    /// Where the first byte is that `ends` the line at the buffer's front, if among the first `window`.
    fn seek(&mut self, buffer: &[u8], window: usize, ends: impl Fn(u8) -> bool) -> Option<usize> {
        let window = window.min(buffer.len());
        let unseen = buffer.get(self.scanned..window)?;
        let found = unseen.iter().position(|byte| ends(*byte)).map(|at| self.scanned + at);
        #[cfg(any(test, fuzzing))]
        {
            self.looks += found.map_or(unseen.len(), |at| at + 1 - self.scanned);
        }
        self.scanned = found.unwrap_or(window);
        found
    }

    /// Lets bytes go that were read, and with them the line they end.
    fn leave(&mut self, buffer: &mut BytesMut, bytes: usize) {
        buffer.advance(bytes);
        self.taken += bytes;
        self.scanned = 0;
    }

    /// Comes to rest between two commands.
    fn rest(&mut self, buffer: &mut BytesMut) {
        // A large command leaves a large buffer, which an idle connection should not keep. The copy costs no
        // more than the command did.
        if self.taken > limits::REDIS_KEPT_BUFFER_BYTES && buffer.len() <= self.taken {
            *buffer = BytesMut::from(&buffer[..]);
        }
        self.state = State::Start;
        self.taken = 0;
    }

    fn too_many(&self) -> ProtocolError {
        match self.bounds.stage {
            Stage::BeforeAuth => ProtocolError::ArgumentCountBeforeAuth,
            Stage::AfterAuth => ProtocolError::ArgumentCount,
        }
    }
}

fn begin(buffer: &[u8]) -> Result<Step, ProtocolError> {
    match buffer.first() {
        None => Ok(Step::Wait),
        Some(b'*') => Ok(Step::Go(State::Count)),
        // An argument without a command. Redis would take its length and its text for two typed commands.
        Some(b'$') => Err(ProtocolError::Expected { wanted: b'*', got: b'$' }),
        Some(_) => Ok(Step::Go(State::Inline)),
    }
}

fn wait_unless(is_over: bool, error: ProtocolError) -> Result<Step, ProtocolError> {
    if is_over { Err(error) } else { Ok(Step::Wait) }
}
