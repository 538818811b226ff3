-- A reminder needs no kind: one that comes again and again has a `cron`. The version before goes on to write it.
alter table reminders alter column kind drop not null;
comment on column reminders.kind is 'read by nobody any more';
-- The key of (channel_id, asked_key) finds a channel's reminders as well.
drop index reminders_of_channel;

-- Ends reminders; what they say goes. Returns those that were active.
drop function end_reminders(bigint[], text);
create function end_reminders(p_ids bigint[], p_state text) returns setof bigint language sql as $$
  update reminders r set state = p_state, text = '', next_at = null, ended_at = clock_timestamp()
   where r.id = any (p_ids) and r.state = 'active' returning r.id
$$;

-- What an entry with calls holds, without their arguments.
create function without_arguments(p_data jsonb) returns jsonb language sql immutable parallel safe as $$
  select jsonb_set(p_data, '{calls}', (
    select coalesce(jsonb_agg(c.call || '{"arguments": "{}"}' order by c.place), '[]')
      from jsonb_array_elements(p_data->'calls') with ordinality c (call, place)))
$$;
