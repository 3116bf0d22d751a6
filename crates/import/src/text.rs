//! Importers of text reports: ab, wrk, wrk2, siege, hey.

use crate::measurement::{ImportedReport, Measurement, ReportText, bytes, count, number, time_ns, total};
use std::collections::BTreeMap;

/// Whether a line is the first of a report, by any of the programs.
pub fn begins_report(line: &str) -> bool {
    let line = line.trim();
    line.starts_with("Server Software:")
        || line.starts_with("Running ") && line.contains(" test @ ")
        || line.starts_with("Transactions:")
        || line == "Summary:"
}

/// Finds the line that begins with `label`; returns its number in the file and the text after the label. A second such
/// line is an error: a file with parts of several reports would give figures of one with errors of another.
fn find<'a>(lines: &[(usize, &'a str)], label: &str) -> Result<Option<(usize, &'a str)>, String> {
    let labelled = |(at, line): &(usize, &'a str)| Some((*at, line.trim_start().strip_prefix(label)?.trim()));
    let mut found = lines.iter().filter_map(labelled);
    match (found.next(), found.next()) {
        (Some((first, _)), Some((second, _))) => Err(format!(
            "the lines {first} and {second} both begin with \"{label}\": the file has parts of several reports"
        )),
        (found, _) => Ok(found),
    }
}

/// The first word after `label`.
fn word<'a>(lines: &[(usize, &'a str)], label: &str) -> Result<&'a str, String> {
    let found = find(lines, label)?.and_then(|(_, rest)| rest.split_whitespace().next());
    found.ok_or_else(|| format!("the line \"{label}\" is missing"))
}

fn numbered<'a>(text: &ReportText<'a>) -> Vec<(usize, &'a str)> {
    (text.first_line..).zip(text.text.lines()).collect()
}

/// Reads ab's report.
pub fn ab(text: &ReportText<'_>) -> Result<ImportedReport, String> {
    ab_report(&numbered(text)).map(ImportedReport::from_measurement)
}

/// The outcomes that ab counts as failed, under the names that ab prints in brackets.
fn ab_failures(lines: &[(usize, &str)]) -> Result<[u64; 4], String> {
    let Some((_, line)) = find(lines, "(Connect:")? else { return Ok([0; 4]) };
    let numbers: Vec<u64> =
        line.split(|c: char| !c.is_ascii_digit()).filter_map(|word| word.parse().ok()).collect();
    Ok([0, 1, 2, 3].map(|place| numbers.get(place).copied().unwrap_or(0)))
}

fn ab_report(lines: &[(usize, &str)]) -> Result<Measurement, String> {
    let complete = count(word(lines, "Complete requests:")?)?;
    let failed = count(word(lines, "Failed requests:")?)?;
    let non_2xx = find(lines, "Non-2xx responses:")?.map_or(Ok(0), |(_, rest)| count(rest))?;
    let [connect, receive, length, exceptions] = ab_failures(lines)?;
    // "Complete" includes failed requests. Failures without a breakdown were I/O errors.
    let io_failed = failed.saturating_sub(connect.saturating_add(length));
    let port = word(lines, "Server Port:").unwrap_or("80");
    let path = word(lines, "Document Path:").unwrap_or("/");
    let host = word(lines, "Server Hostname:")?;
    let mut times_ns = BTreeMap::new();
    for (at, line) in lines {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            ["Total:", min, mean, stddev, _, max] => {
                for (name, ms) in [("min", min), ("mean", mean), ("stddev", stddev), ("max", max)] {
                    times_ns.insert(name.to_owned(), number(ms)? * 1e6);
                }
            }
            [percent, ms] if percent.ends_with('%') && *percent != "100%" => {
                let ms = number(ms).map_err(|problem| format!("line {at}: {problem}"))?;
                times_ns.insert(format!("p{}", percent.trim_end_matches('%')), ms * 1e6);
            }
            _ => {}
        }
    }
    let software = find(lines, "Server Software:")?.map(|(_, rest)| rest).unwrap_or_default();
    let kept = find(lines, "Keep-Alive requests:")?.map(|(_, rest)| number(rest)).transpose()?;
    let (first, last) =
        (lines.first().map_or(0, |line| line.0), lines.iter().rfind(|(_, line)| line.contains('%')));
    Ok(Measurement {
        tool: "ab".to_owned(),
        url: format!("http://{host}:{port}{path}"),
        protocol: "http/1.0".to_owned(),
        server_name: if software.is_empty() { format!("{host}:{port}") } else { software.to_owned() },
        versions: software.to_owned(),
        connections: count(word(lines, "Concurrency Level:")?)? as u32,
        requests: Some(complete),
        elapsed_s: Some(number(word(lines, "Time taken for tests:")?)?),
        ok: complete.saturating_sub(failed).saturating_sub(non_2xx),
        bad_status: non_2xx,
        bad_body: length,
        connect_failed: connect,
        io_failed,
        received_bytes: count(word(lines, "Total transferred:")?)?,
        body_bytes: count(word(lines, "HTML transferred:")?)?,
        requests_per_s: Some(number(word(lines, "Requests per second:")?)?),
        times_ns,
        figures: kept
            .map(|kept| ("kept_alive_requests".to_owned(), kept))
            .into_iter()
            .chain(
                (receive.saturating_add(exceptions) > 0)
                    .then(|| ("receive_failures".to_owned(), receive as f64 + exceptions as f64)),
            )
            .collect(),
        place: format!("lines {first} to {}", last.map_or(first, |line| line.0)),
        note: "ab prints times in whole milliseconds".to_owned(),
        ..Measurement::default()
    })
}

/// Returns true if a report of wrk's family is from wrk2.
pub fn is_wrk2(text: &str) -> bool {
    text.contains("Thread Stats")
        && (text.contains("Recorded Latency") || text.contains("Thread calibration:"))
}

/// Reads reports of wrk and wrk2.
pub fn wrk(text: &ReportText<'_>) -> Result<ImportedReport, String> {
    let lines = numbered(text);
    let (first, running) =
        find(&lines, "Running ")?.ok_or("the line \"Running ... test @ URL\" is missing")?;
    let url = running.split(" @ ").nth(1).unwrap_or_default().trim().to_owned();
    let load = lines.iter().find(|(_, line)| line.contains(" threads and ") && line.contains(" connections"));
    let (_, load) = load.ok_or("the output has no line with the numbers of threads and connections")?;
    let connections = load.split_whitespace().nth(3).ok_or("the number of connections is missing")?;
    let total = lines.iter().find(|(_, line)| line.contains(" requests in ") && line.contains(" read"));
    let (_, total) = total.ok_or("the line \"N requests in T, B read\" is missing")?;
    let words: Vec<&str> = total.split_whitespace().collect();
    let [requests, "requests", "in", elapsed, read, "read"] = words.as_slice() else {
        return Err(format!("{:?} is not \"N requests in T, B read\"", total.trim()));
    };
    let mut found = Measurement {
        tool: if is_wrk2(text.text) { "wrk2" } else { "wrk" }.to_owned(),
        server_name: url.split("://").nth(1).unwrap_or(&url).split('/').next().unwrap_or_default().to_owned(),
        url,
        protocol: "http/1.1".to_owned(),
        connections: count(connections)? as u32,
        elapsed_s: Some(time_ns(elapsed.trim_end_matches(','))? / 1e9),
        received_bytes: bytes(read)? as u64,
        requests_per_s: Some(number(word(&lines, "Requests/sec:")?)?),
        times_ns: wrk_times(&lines)?,
        ..Measurement::default()
    };
    let requests = count(requests)?;
    found.bad_status = find(&lines, "Non-2xx or 3xx responses:")?.map_or(Ok(0), |(_, rest)| count(rest))?;
    found.ok = requests.saturating_sub(found.bad_status);
    if let Some((_, errors)) = find(&lines, "Socket errors:")? {
        let error = |name: &str| -> Result<u64, String> {
            let part = errors.split(',').find_map(|part| part.trim().strip_prefix(name));
            part.map_or(Ok(0), |part| count(part.trim()))
        };
        found.connect_failed = error("connect")?;
        found.io_failed = error("read")?.saturating_add(error("write")?);
        // wrk counts late answers as requests and as timeouts.
        found.figures.insert("late_answers".to_owned(), error("timeout")? as f64);
    }
    found.place = format!("lines {first} to {}", find(&lines, "Requests/sec:")?.map_or(first, |(at, _)| at));
    found.note = match found.tool.as_str() {
        "wrk2" => "response times are measured from the time at which the request was due on its connection",
        _ => {
            "service times; after a long wait wrk adds estimated times (a correction of coordinated omission)"
        }
    }
    .to_owned();
    Ok(ImportedReport::from_measurement(found))
}

fn wrk_times(lines: &[(usize, &str)]) -> Result<BTreeMap<String, f64>, String> {
    let mut times = BTreeMap::new();
    // The row of times is the only one in the table whose label is not Req/Sec.
    let heads = lines.iter().position(|(_, line)| line.contains("Thread Stats"));
    let row = heads
        .and_then(|place| lines.get(place + 1))
        .map(|(_, line)| line.split_whitespace().collect::<Vec<_>>());
    if let Some([_, mean, stddev, max, _]) = row.as_deref() {
        for (name, text) in [("mean", mean), ("stddev", stddev), ("max", max)] {
            times.insert(name.to_owned(), time_ns(text)?);
        }
    }
    // The second table of wrk2 (`-U`) is not corrected: only the first is read.
    let tables = lines.iter().position(|(_, line)| line.contains(" Distribution"));
    for (_, line) in tables.map_or(&[][..], |place| &lines[place + 1..]) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [percent, time] = words.as_slice() else { break };
        let Some(percent) = percent.strip_suffix('%') else { break };
        let percent = percent.trim_end_matches('0').trim_end_matches('.');
        if percent != "1" && !percent.is_empty() {
            let percent = if percent.len() == 1 { format!("{percent}0") } else { percent.replace('.', "_") };
            times.insert(format!("p{percent}"), time_ns(time)?);
        }
    }
    Ok(times)
}

/// Reads siege's text report; a line is a label, a value and a unit.
pub fn siege(text: &ReportText<'_>) -> Result<ImportedReport, String> {
    let lines = numbered(text);
    let value = |label: &str| number(word(&lines, label)?);
    let names =
        [("Response time:", "mean"), ("Longest transaction:", "max"), ("Shortest transaction:", "min")];
    let time = |label: &str| {
        let (_, rest) = find(&lines, label)?.ok_or_else(|| format!("the line \"{label}\" is missing"))?;
        // Older versions print seconds, and the longest and shortest without a unit.
        time_ns(&rest.split_whitespace().collect::<Vec<_>>().join(" "))
    };
    let times = names.iter().map(|(label, name)| Ok(((*name).to_owned(), time(label)?)));
    Ok(ImportedReport::from_measurement(siege_measurement(
        value("Transactions:")? as u64,
        value("Successful transactions:")? as u64,
        value("Failed transactions:")? as u64,
        value("Elapsed time:")?,
        value("Data transferred:")?,
        value("Transaction rate:")?,
        times.collect::<Result<_, String>>()?,
    )))
}

/// siege's figures from either format. siege counts a transaction with a 4xx status as neither successful nor failed.
pub fn siege_measurement(
    transactions: u64,
    successful: u64,
    failed: u64,
    elapsed_s: f64,
    megabytes: f64,
    rate: f64,
    times_ns: BTreeMap<String, f64>,
) -> Measurement {
    Measurement {
        tool: "siege".to_owned(),
        protocol: "http/1.1".to_owned(),
        requests: Some(transactions.saturating_add(failed)),
        elapsed_s: Some(elapsed_s),
        ok: successful,
        bad_status: transactions.saturating_sub(successful),
        io_failed: failed,
        body_bytes: (megabytes * 1024.0 * 1024.0) as u64,
        requests_per_s: Some(rate),
        times_ns,
        note: "siege measures in steps of 10 ms and does not print its number of users".to_owned(),
        ..Measurement::default()
    }
}

/// Reads hey's report: labels with values, and tables of percentiles, statuses and errors.
pub fn hey(text: &ReportText<'_>) -> Result<ImportedReport, String> {
    let lines = numbered(text);
    let seconds = |label: &str| number(word(&lines, label)?).map(|s| s * 1e9);
    let mut times_ns = BTreeMap::new();
    for (label, name) in [("Slowest:", "max"), ("Fastest:", "min"), ("Average:", "mean")] {
        times_ns.insert(name.to_owned(), seconds(label)?);
    }
    let (mut status, mut broken) = (BTreeMap::new(), 0);
    for (at, line) in &lines {
        let words: Vec<&str> = line.split_whitespace().collect();
        let wrong = |problem: String| format!("line {at}: {problem}");
        match words.as_slice() {
            [percent, "in", time, "secs"] if percent.ends_with('%') => {
                let name = format!("p{}", percent.trim_end_matches('%').replace('.', "_"));
                times_ns.insert(name, number(time).map_err(wrong)? * 1e9);
            }
            [code, answers, "responses"] if code.starts_with('[') => {
                status.insert(code.trim_matches(['[', ']']).to_owned(), count(answers).map_err(wrong)?);
            }
            // The table of errors: a number in brackets and a text.
            [number, _, ..] if number.starts_with('[') && number.ends_with(']') => {
                broken = count(number.trim_matches(['[', ']'])).map_err(wrong)?.saturating_add(broken);
            }
            _ => {}
        }
    }
    let is_ok = |status: &str| status.starts_with('2') || status.starts_with('3');
    let ok = total(status.iter().filter(|(status, _)| is_ok(status)).map(|(_, count)| *count));
    let bad = total(status.iter().filter(|(status, _)| !is_ok(status)).map(|(_, count)| *count));
    Ok(ImportedReport::from_measurement(Measurement {
        tool: "hey".to_owned(),
        protocol: "http/1.1".to_owned(),
        elapsed_s: Some(number(word(&lines, "Total:")?)?),
        ok,
        bad_status: bad,
        io_failed: broken,
        status,
        body_bytes: find(&lines, "Total data:")?
            .map_or(Ok(0), |(_, rest)| count(rest.trim_end_matches("bytes")))?,
        requests_per_s: Some(number(word(&lines, "Requests/sec:")?)?),
        times_ns,
        note:
            "hey keeps the times of at most 1,000,000 requests and does not print its number of connections"
                .to_owned(),
        ..Measurement::default()
    }))
}
