-- Daemons that share a database all hear a platform, and each looks for what was missed when its connection is back: what one of them has
-- read, or reads, the others leave alone. Rows are for some days only, and say nothing of what was said.

create table catch_ups (
  platform text        not null check (platform <> ''),
  name     text        not null check (name <> ''),
  read_to  timestamptz not null default '-infinity',
  reader   uuid,
  begun_at timestamptz not null default clock_timestamp(),
  held_to  timestamptz not null,
  primary key (platform, name)
);
comment on table catch_ups is 'of channels, by their addresses: also of those of which nothing is in the log yet. Times are of the database''s clock';
comment on column catch_ups.read_to is 'all that was said before is in the log, or on record as missing';
comment on column catch_ups.reader is 'of one run of a daemon: who reads what was missed; null: nobody does';
comment on column catch_ups.begun_at is 'when the reader began';
comment on column catch_ups.held_to is 'a reader that has not told of itself by then is gone';
