//! Flags of WebSocket: the type of messages, and what answers them.

use paceline_job::{AnswerRule, Job};

/// How messages of a WebSocket are sent and answered.
#[derive(clap::Args, Debug)]
pub struct WebSocketFlags {
    /// Send binary messages instead of text
    #[arg(hide_short_help = true, long, help_heading = "WebSocket and gRPC")]
    pub ws_binary: bool,

    /// What answers: next (an echo), any or match [default: next]
    ///
    /// `next` must equal the sent message; `match` skips others. With an --expect- flag the answer must be as expected there, instead of equal to the sent message.
    #[arg(
        hide_short_help = true,
        long,
        value_name = "RULE",
        value_enum,
        hide_possible_values = true,
        help_heading = "WebSocket and gRPC"
    )]
    pub ws_answer: Option<AnswerRule>,
}

impl WebSocketFlags {
    /// Puts the flags that were given into a job.
    pub fn fill(&self, job: &mut Job) {
        job.websocket.binary |= self.ws_binary;
        job.websocket.answer = self.ws_answer.unwrap_or(job.websocket.answer);
    }
}
