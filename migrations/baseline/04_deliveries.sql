-- Deliveries: the parts of answers on their way to the platform.

create table deliveries (
  id              bigint generated always as identity primary key,
  channel_id      bigint  not null,
  turn_id         bigint  not null references turns,
  part            integer not null check (part >= 0),
  epoch           bigint  not null,
  entry_seq       bigint, -- the entry whose text is sent; null while its turn is still writing it
  idempotency_key text    not null unique,
  -- a piece may have been shown under this key: the final text needs an edit as well
  drafted         boolean not null default false,
  message_id      text, -- the platform's id of our message, stored before any edit of it
  state           text    not null default 'pending' check (state in ('pending', 'sent', 'failed')),
  reason          text,
  created_at      timestamptz not null default now(),
  ended_at        timestamptz,
  unique (turn_id, part),
  foreign key (channel_id, entry_seq) references entries,
  check ((state = 'pending') = (ended_at is null)),
  check (state <> 'sent' or (message_id is not null and entry_seq is not null))
);
create index deliveries_pending on deliveries (channel_id) where state = 'pending';

create trigger deliveries_refuse_old_epoch before insert or update on deliveries for each row execute function refuse_old_epoch();

-- Withdraws a draft whose answer never came, if nothing of it was shown. A draft with a message on the platform stays pending
-- until the platform has deleted the message: an earlier run of the turn may have shown it.
create function void_draft(p_turn bigint, p_epoch bigint) returns void language sql as $$
  update deliveries set state = 'failed', reason = 'withdrawn', epoch = p_epoch, ended_at = clock_timestamp()
   where turn_id = p_turn and state = 'pending' and entry_seq is null and message_id is null;
$$;

-- Returns the platform's id of a message of the log: the id that it was received with or, of the agent's own, delivered as.
create function source_message_id(p_entry entries) returns text language sql stable as $$
  select coalesce(p_entry.message_id, (
    select d.message_id from deliveries d
     where d.channel_id = p_entry.channel_id and d.turn_id = p_entry.turn_id and d.entry_seq = p_entry.seq and d.message_id is not null
     order by d.part limit 1))
$$;
