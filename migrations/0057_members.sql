-- Daemons of a cluster write a row each, every two seconds, by which anybody sees who is there, and how they fare. A row is also how a
-- daemon is asked to hand its channels on. Whoever is home of what follows from `partitions`, and never from here.

create table members (
  id           uuid        primary key,
  name         text        not null check (name <> ''),
  version      text        not null,
  host         text        not null,
  pid          integer     not null,
  started_at   timestamptz not null,
  seen_at      timestamptz not null default clock_timestamp(),
  is_drained   boolean     not null default false,
  held         smallint[]  not null,
  vitals       jsonb       not null
);
comment on column members.id is 'of one run of a daemon: one that starts anew is another';
comment on column members.seen_at is 'by the clock of the database';
comment on column members.is_drained is 'it is to hand its partitions on, and to take none: somebody''s wish, until it is taken back or the daemon starts anew';
comment on column members.held is 'the partitions that it is home of, as it knows';

-- A request to a daemon itself may be for one of them. A daemon of a version before takes it all the same.
alter table requests add column for_daemon text, add column for_host text;
comment on column requests.for_daemon is 'its name in the cluster; null: any may take it';
comment on column requests.for_host is 'the machine whose daemon takes it first; null: any';
