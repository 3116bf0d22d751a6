//! Flags of WebSocket: the type of messages, and what answers them.

use paceline_job::{AnswerRule, Job};

/// How messages of a WebSocket are sent and answered.
#[derive(clap::Args, Debug)]
pub struct WebSocketFlags {
    /// Send binary messages instead of text
    #[arg(hide_short_help = true, long, help_heading = "WebSocket")]
    pub ws_binary: bool,

    /// Which message answers: next (must equal the sent one), any, or match (others are skipped) [default: next]
    ///
    /// With an --expect- flag the answer must be as expected there, instead of equal to the sent message.
    #[arg(
        hide_short_help = true,
        long,
        value_name = "RULE",
        value_enum,
        hide_possible_values = true,
        help_heading = "WebSocket"
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
