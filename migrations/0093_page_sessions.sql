-- Who is signed in to the page of the daemons of this database. A session outlives the daemon that began it.
create table page_sessions (
  code        bytea       primary key, -- tells codes apart: one code begins one session
  secret_hash bytea       unique,      -- SHA-256 of the secret that the browser has; null: signed out
  began_at    timestamptz not null,
  used_at     timestamptz not null
);
