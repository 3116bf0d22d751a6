-- The tables of SQLite's version 2; text is compared by its bytes, as SQLite compares it.
CREATE TABLE rounds (
    id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    plan TEXT NOT NULL,
    started_at TEXT COLLATE "C" NOT NULL,
    finished_at TEXT,
    document TEXT NOT NULL,
    checksum BIGINT
);
CREATE INDEX rounds_by_start ON rounds (started_at);

CREATE TABLE trials (
    id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    round TEXT COLLATE "C" NOT NULL REFERENCES rounds (id),
    server TEXT COLLATE "C" NOT NULL,
    form TEXT NOT NULL,
    workload TEXT NOT NULL,
    load TEXT NOT NULL,
    repeat BIGINT NOT NULL,
    block BIGINT NOT NULL,
    started_at TEXT COLLATE "C" NOT NULL,
    ok BIGINT NOT NULL,
    document TEXT NOT NULL,
    checksum BIGINT
);
CREATE INDEX trials_by_round ON trials (round, started_at);
CREATE INDEX trials_by_server ON trials (server, form, workload, load);

CREATE TABLE histograms (
    trial TEXT COLLATE "C" NOT NULL REFERENCES trials (id),
    path TEXT COLLATE "C" NOT NULL,
    histogram TEXT NOT NULL,
    checksum BIGINT,
    PRIMARY KEY (trial, path)
);

CREATE TABLE versions (version BIGINT NOT NULL PRIMARY KEY);
