//! The lines that show frames, of which an exchange has only so many.

/// The maximum number of frames shown of an exchange.
const MAX_FRAMES: usize = 200;

/// Adds a frame to those that are shown, after a mark for its direction.
pub(super) fn push_frame(frames: &mut Vec<String>, mark: &str, text: String) {
    if frames.len() < MAX_FRAMES {
        frames.push(format!("{mark} {text}"));
    } else if frames.len() == MAX_FRAMES {
        frames.push("* more frames follow".to_owned());
    }
}
