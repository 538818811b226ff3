-- What several people wish for is ended by each for themselves: a refusal goes with the wish that it is of.
create table wish_refusals (
  wish_id bigint not null references wishes (id) on delete cascade,
  person  text   not null check (person <> ''),
  at      timestamptz not null default clock_timestamp() check (isfinite(at)),
  primary key (wish_id, person)
);
comment on table wish_refusals is 'who has ended for themselves what others wish for';
comment on column wish_refusals.person is 'the platform''s id of the person';

-- Locks a channel and the one that it is a thread of, and has everybody who holds their wishes in memory read them again.
create function touch_wishes(p_channel bigint) returns void language sql as $$
  with locked as (select id from channels where id in (p_channel, parent_channel(p_channel)) order by id for no key update)
  update search_progress p set taken_back = taken_back + 1 from locked where p.channel_id = locked.id;
$$;

-- Ends wishes for everybody, there or in the thread's channel. False: there are none of these.
create function end_wishes(p_channel bigint, p_ids bigint[]) returns boolean language plpgsql as $$
begin
  perform touch_wishes(p_channel);
  delete from wishes w where w.channel_id in (p_channel, parent_channel(p_channel)) and w.id = any (p_ids);
  return found;
end $$;

-- Ends wishes for one person: their own are deleted, those of others they refuse. False: there are none of these.
create function refuse_wishes(p_channel bigint, p_ids bigint[], p_person text) returns boolean language plpgsql as $$
declare v_there boolean;
begin
  perform touch_wishes(p_channel);
  select exists (select from wishes w where w.channel_id in (p_channel, parent_channel(p_channel)) and w.id = any (p_ids)) into v_there;
  delete from wishes w
   where w.channel_id in (p_channel, parent_channel(p_channel)) and w.id = any (p_ids) and w.asker = p_person;
  insert into wish_refusals (wish_id, person)
    select w.id, p_person from wishes w where w.channel_id in (p_channel, parent_channel(p_channel)) and w.id = any (p_ids)
    on conflict (wish_id, person) do update set at = excluded.at;
  return v_there;
end $$;

comment on column entries.data is
  'by kind; agent: of a message whom it is meant for, of what a turn wrote who did (none: the channel''s own agent); chain: of a '
  'hand-off; unheard: of a message, the agent answers nobody like its author there';

-- Appends messages of several channels that nobody waits for an answer to, in one transaction. It takes the channels in the order
-- of their ids, so that two of these calls do not lock each other out. A channel whose row is locked is left out and returns no
-- rows: the caller writes it alone, and the others do not wait for it.
-- p_batches: [{channel, messages}], with messages as in `append_messages`. batch: its place among them, from 1.
create or replace function append_listened(p_batches jsonb)
returns table (batch bigint, seq bigint, duplicate boolean, due boolean) language plpgsql as $$
declare v_channel bigint; v_messages jsonb; m jsonb;
begin
  for batch, v_channel, v_messages in
    select b.place, (b.batch->>'channel')::bigint, b.batch->'messages'
      from jsonb_array_elements(p_batches) with ordinality b (batch, place) order by 2, 1
  loop
    perform from channels c where c.id = v_channel for no key update skip locked;
    continue when not found;
    if jsonb_array_length(v_messages) = 1 then
      m := v_messages->0;
      select a.seq, a.duplicate, a.due into seq, duplicate, due
        from append_message(v_channel, m->>'message_id', m->>'author_id', m->>'author_name', (m->>'author_bot')::boolean,
                            m->>'text', (m->>'tokens')::integer, (m->>'at')::timestamptz, (m->>'addressed')::boolean,
                            m->>'reply_to', p_data => m->'data') a;
      return next;
    else
      for seq, duplicate, due in select a.seq, a.duplicate, a.due from append_messages(v_channel, v_messages) a loop
        return next;
      end loop;
    end if;
  end loop;
end $$;
