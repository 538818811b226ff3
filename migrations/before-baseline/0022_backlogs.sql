-- What was said while nobody listened, and is too much to be read before talk goes on, is read page by page behind it.

alter table channels add column backlog jsonb;
comment on column channels.backlog is
  'of the gap behind fetched_to: {read: messages so far, readTo: time, until: time, untilId: the message before which it ends}; untilId stays when it is whole';

-- A notice of what was not heard: {absence: {kind: late | lost, from, to}}. Once per key, which is kept as its message_id.
create function append_absence(
  p_channel bigint, p_key text, p_at timestamptz, p_tokens integer, p_absence jsonb, out seq bigint, out duplicate boolean
) language plpgsql as $$
declare v_last bigint;
begin
  select c.last_seq into strict v_last from channels c where c.id = p_channel for no key update;
  select e.seq into seq from entries e where e.message_id = p_key and e.channel_id = p_channel;
  duplicate := found;
  if duplicate then return; end if;
  seq := v_last + 1;
  insert into entries (channel_id, seq, kind, at, text, tokens, message_id, data)
  values (p_channel, seq, 'notice', p_at, '', p_tokens, p_key, jsonb_build_object('absence', p_absence));
end $$;
comment on column entries.data is
  'tool_call: {calls}; tool_result: {call_id, tool, references}; notice: {edits} or {absence}; assistant: {stopped}';
