//! The binary seen from outside, and the style of the whole project.

mod style;
