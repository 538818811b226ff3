-- Pictures that people attached to messages, kept because the platforms' links to them expire. They belong to a message
-- of the platform and not to one channel's entry: a thread has its root message as background.
create table images (
  platform   text    not null,
  message_id text    not null,
  number     integer not null check (number >= 0),
  name       text    not null,
  type       text    not null,
  bytes      bytea   not null,
  kept_at    timestamptz not null default now(),
  primary key (platform, message_id, number)
);
-- They are compressed already.
alter table images alter column bytes set storage external;
