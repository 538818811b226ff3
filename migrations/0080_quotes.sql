-- Quotes: what a platform brings with a message of the message that it replies to, where the log does not have that one.

create table quotes (
  channel_id  bigint  not null,
  seq         bigint  not null, -- of the message that replies
  message_id  text    not null, -- of the quoted message, on the platform
  author_id   text    not null,
  author_name text    not null,
  text        text    not null,
  at          timestamptz not null, -- when it was said
  as_of       timestamptz not null, -- of its last edit that the quote has
  primary key (channel_id, seq),
  foreign key (channel_id, seq) references entries deferrable initially deferred
);
alter table quotes alter column text set statistics 0;
create index quotes_message on quotes (message_id);
create index quotes_author on quotes (author_id);

-- Keeps the quote of a message, which is appended with it as {quote}, so that a turn that begins at once has it. A message that the log
-- has in the channel needs no quote, and one that was deleted anywhere gets none.
create function entries_keep_quote() returns trigger language plpgsql as $$
declare v_quote jsonb := new.data->'quote';
begin
  new.data := nullif(new.data - 'quote', '{}');
  if exists (select from entries e where e.message_id = v_quote->>'id' and (e.channel_id = new.channel_id or e.deleted_at is not null)) then
    return new;
  end if;
  insert into quotes (channel_id, seq, message_id, author_id, author_name, text, at, as_of)
  values (new.channel_id, new.seq, v_quote->>'id', v_quote->>'author_id', v_quote->>'author_name', v_quote->>'text',
          (v_quote->>'at')::timestamptz, (v_quote->>'as_of')::timestamptz);
  return new;
end $$;
create trigger entries_keep_quote before insert on entries for each row when (new.data ? 'quote') execute function entries_keep_quote();

-- A quote goes with the message that replies, deleted or expired.
create function entries_drop_quote() returns trigger language plpgsql as $$
begin
  delete from quotes q where q.channel_id = new.channel_id and q.seq = new.seq;
  return null;
end $$;
create trigger entries_drop_quote after update on entries
  for each row when (new.kind = 'user' and (old.deleted_at is distinct from new.deleted_at or old.expired_at is distinct from new.expired_at))
  execute function entries_drop_quote();

-- As of entries: a turn that has read it keeps no record of its context.
create function quotes_void_context() returns trigger language plpgsql as $$
begin
  perform void_context_records(old.channel_id, old.seq);
  return null;
end $$;
create constraint trigger quotes_void_context after delete on quotes deferrable initially deferred
  for each row execute function quotes_void_context();
