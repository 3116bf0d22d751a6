//! Figures that the source of a plan published, beside those of this round.

use crate::Beside;
use crate::format::number;
use crate::format::sheet::{Sheet, shown};
use crate::observed::Standing;
use paceline_record::ObservedFigure;

pub(super) fn observed(beside: &[Beside]) -> Sheet {
    let mut notes: Vec<String> = Vec::new();
    let mut rows = Vec::new();
    for one in beside {
        let observed = &one.observed;
        let mark = match observed.note.as_str() {
            "" => String::new(),
            note => {
                let known = notes.iter().position(|known| known == note);
                let place = known.unwrap_or_else(|| {
                    notes.push(note.to_owned());
                    notes.len() - 1
                });
                format!(" [{}]", place + 1)
            }
        };
        let at = [&observed.workload, &observed.load, &observed.form];
        let at: Vec<&str> = at.into_iter().flatten().map(String::as_str).collect();
        rows.push(vec![
            observed.source.clone(),
            format!("{}{mark}", observed.subject),
            at.join(" "),
            format!("{} ({})", what(observed.what), observed.unit),
            number::value(observed.value),
            format!(
                "{}{}",
                if one.standing == Standing::AtLeast { "≥ " } else { "" },
                shown(one.now.as_ref(), 1.0)
            ),
            one.ratio.map(|ratio| number::value(ratio) + "×").unwrap_or_default(),
            observed.server.clone().unwrap_or_default(),
            remark(one.standing).to_owned(),
        ]);
    }
    let heads = ["source", "measured", "under", "figure", "then", "now", "now/then", "server", ""];
    Sheet {
        title: "Published figures, and those of this round".to_owned(),
        lead: "Machine, versions and load generator differ between the source and this round, so a difference can have other causes than the server."
            .to_owned(),
        heads: heads.map(str::to_owned).into(),
        words: 4,
        rows,
        lines: notes.iter().enumerate().map(|(place, note)| format!("[{}] {note}", place + 1)).collect(),
    }
}

fn what(figure: ObservedFigure) -> &'static str {
    match figure {
        ObservedFigure::RequestsPerS => "responses per second",
        ObservedFigure::RequestsPerSPerCore => "responses per second per core",
        ObservedFigure::TimeMsP50 => "median time",
        ObservedFigure::TimeMsP99 => "p99 time",
        ObservedFigure::BytesPerResponse => "size of a response",
        ObservedFigure::KeptAlivePercent => "connections kept alive",
        ObservedFigure::RssMb => "memory",
        ObservedFigure::CpuPercent => "CPU, share of one core",
        ObservedFigure::Failed => "failed",
    }
}

fn remark(standing: Standing) -> &'static str {
    match standing {
        Standing::Measured => "",
        Standing::AtLeast => "limited by the generator, or disturbed",
        Standing::Overloaded => "overloaded: requests queued",
        Standing::Invalid => "invalid: its verdicts say why",
        Standing::Failed => "failed",
        Standing::NotMeasured => "not measured in this round",
        Standing::NoServer => "no corresponding server in the lab",
    }
}
