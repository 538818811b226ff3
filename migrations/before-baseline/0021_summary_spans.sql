-- A summary tells what it is of: how many messages, and from when to when. Filled by the database, whoever inserts it.

alter table summaries
  add column messages bigint,
  add column first_at timestamptz,
  add column last_at  timestamptz;
comment on column summaries.messages is 'messages, calls and results in its range; notices are not counted; null: a reset, or no live summary of an older version';
comment on column summaries.first_at is 'when the first of these was said; null: there are none';

-- Summaries that tile the beginning of the range tell it without a look at its entries: a merge may cover very many.
-- That is exact, for entries never change their kind or their time.
create function summaries_tell_span() returns trigger language plpgsql as $$
declare v_next bigint := new.from_seq; v_part record;
begin
  new.messages := 0;
  while v_next <= new.to_seq loop
    select s.to_seq, s.messages, s.first_at, s.last_at into v_part from summaries s
     where s.channel_id = new.channel_id and s.from_seq = v_next and s.to_seq <= new.to_seq and s.messages is not null
     order by s.to_seq desc, s.id desc limit 1;
    if not found then
      select new.to_seq as to_seq, count(*) as messages, min(e.at) as first_at, max(e.at) as last_at into v_part from entries e
       where e.channel_id = new.channel_id and e.seq between v_next and new.to_seq and e.kind <> 'notice';
    end if;
    new.messages := new.messages + v_part.messages;
    new.first_at := least(new.first_at, v_part.first_at);
    new.last_at := greatest(new.last_at, v_part.last_at);
    v_next := v_part.to_seq + 1;
  end loop;
  return new;
end $$;
create trigger summaries_tell_span before insert on summaries
  for each row when (new.kind <> 'reset') execute function summaries_tell_span();

update summaries s set (messages, first_at, last_at) = (
  select count(*), min(e.at), max(e.at) from entries e
   where e.channel_id = s.channel_id and e.seq between s.from_seq and s.to_seq and e.kind <> 'notice')
 where s.live and s.kind <> 'reset';
