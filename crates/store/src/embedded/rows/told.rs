//! Bytes of what publishers and holders tell of their work: traces, progress, results.
//!
//! Lives here: writing and reading them, in rows and in the log alike. Not here: their rules
//! (`naven-api`), and the rows in which they stand.

use naven_api::{AckResult, ErrorText, NoteText, Percent, Progress, Timestamp, TraceContext};
use naven_core::Reported;

use super::codec::{Dec, Enc};

/// Appends where in its publisher's trace an event was published, if anywhere.
pub(crate) fn put_trace(enc: &mut Enc, trace: Option<&TraceContext>) {
    enc.option(trace, |enc, trace| {
        enc.text(trace.traceparent()).option(trace.tracestate(), |enc, state| {
            enc.text(state);
        });
    });
}

/// Reads it.
pub(crate) fn get_trace(dec: &mut Dec) -> Option<Option<Box<TraceContext>>> {
    dec.option(|dec| Some(Box::new(TraceContext::stored(dec.text()?, dec.option(Dec::text)?))))
}

/// Appends how far a holder says it came.
pub(crate) fn put_progress(enc: &mut Enc, progress: &Progress) {
    enc.option(progress.percent(), |enc, percent| {
        enc.u8(percent.get());
    });
    enc.option(progress.note(), |enc, note| {
        enc.text(note.as_str());
    });
}

/// Reads it.
pub(crate) fn get_progress(dec: &mut Dec) -> Option<Progress> {
    let percent = dec.option(|dec| Percent::try_from(u32::from(dec.u8()?)).ok())?;
    let note = dec.option(|dec| {
        let text = dec.text()?;
        Some(NoteText::new(&text)).filter(|kept| kept.as_str() == text)
    })?;
    Progress::new(percent, note)
}

/// Reads the text of an error, which was cleaned and cut before it was written: another one is none.
pub(crate) fn get_error(dec: &mut Dec) -> Option<ErrorText> {
    let text = dec.text()?;
    Some(ErrorText::new(&text)).filter(|kept| kept.as_str() == text)
}

/// Appends the same and when it was said.
pub(crate) fn put_reported(enc: &mut Enc, reported: &Reported) {
    enc.i64(reported.at.as_ms());
    put_progress(enc, &reported.progress);
}

/// Reads it.
pub(crate) fn get_reported(dec: &mut Dec) -> Option<Reported> {
    let at = Timestamp::from_ms(dec.i64()?);
    Some(Reported { progress: get_progress(dec)?, at })
}

/// Appends what came of an event.
pub(crate) fn put_result(enc: &mut Enc, result: &AckResult) {
    enc.text(result.get());
}

/// Reads it.
pub(crate) fn get_result(dec: &mut Dec) -> Option<AckResult> {
    AckResult::stored(dec.text()?)
}
