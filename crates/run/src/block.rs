//! Converts a tally of the engine to a block of the record: outcomes, bytes and times, under their published keys.

use paceline_engine::{Counts as EngineCounts, Ending, Measure, Tally};
use paceline_record as record;
use paceline_record::{Block, Times};

/// Converts a tally's counts and times to a block of the record.
pub fn block(tally: &Tally) -> Block {
    let counts = &tally.counts;
    let times = |measure| Some(tally.times(measure)).filter(|times| !times.is_empty()).map(Times::of);
    Block {
        counts: outcomes(counts),
        completed_in_window: counts.completed_in_window,
        status: counts.status.iter().map(|(status, count)| (status.to_string(), *count)).collect(),
        bytes: record::Bytes {
            sent: counts.sent_bytes,
            received: counts.received_bytes,
            body: counts.body_bytes,
        },
        body_bytes: counts.body_lengths().map(|(min, max)| record::Lengths { min, max }),
        service_time_ns: times(Measure::Service),
        response_time_ns: times(Measure::Response),
        generator_lag_ns: times(Measure::GeneratorLag),
        connection_wait_ns: times(Measure::ConnectionWait),
        connect_time_ns: times(Measure::Connect),
        connect_and_service_time_ns: times(Measure::ConnectAndService),
        handshake_time_ns: times(Measure::Handshake),
        first_byte_ns: times(Measure::FirstByte),
        receive_delay_ns: times(Measure::ReceiveDelay),
        failed_time_ns: times(Measure::Failed),
        censored: counts.censored.map(|(count, lowest)| record::Censored { count, lowest_ns: lowest.0 }),
    }
}

fn outcomes(counts: &EngineCounts) -> record::Counts {
    record::Counts {
        scheduled: counts.scheduled,
        ok: counts.ended(Ending::Ok),
        bad_status: counts.ended(Ending::BadStatus),
        bad_body: counts.ended(Ending::BadBody),
        connect_failed: counts.ended(Ending::ConnectFailed),
        io_failed: counts.ended(Ending::IoFailed),
        timed_out: counts.ended(Ending::TimedOut),
        unsent: counts.ended(Ending::Unsent),
    }
}
