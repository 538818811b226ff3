-- A turn that was shown a memory of another channel may call its tools with the memory's words before that channel takes them back, or
-- just after it. With each of its calls stands which memories it was shown: so a deletion there finds the call, and a call that comes
-- too late is blank from the beginning, whoever owns the channel and knows of the deletion or not.
create function entries_blank_late_call() returns trigger language plpgsql as $$
declare v_shown bigint[] := array(select jsonb_array_elements_text(new.data->'recalled'->'memories')::bigint);
begin
  -- Whoever takes a memory holds it, and may wait for this channel: what is held counts as gone.
  if (select count(*) from (select from memories m where m.id = any (v_shown) for key share skip locked) there) < cardinality(v_shown) then
    update entries e set text = '', data = jsonb_set(e.data, '{calls}', (
             select coalesce(jsonb_agg(c.call || '{"arguments": "{}"}' order by c.place), '[]')
               from jsonb_array_elements(e.data->'calls') with ordinality c (call, place)))
     where e.channel_id = new.channel_id and e.seq = new.seq;
  end if;
  return null;
end $$;
-- Deferred: an approval that is asked for with the call goes with its arguments.
create constraint trigger entries_blank_late_call after insert on entries deferrable initially deferred
  for each row when (new.kind = 'tool_call' and new.data ? 'recalled') execute function entries_blank_late_call();
