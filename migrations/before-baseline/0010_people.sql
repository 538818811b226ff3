-- What people ask of their own words: to keep a statement at once, and to forget one.

comment on column entries.data is
  'tool_call: {calls}; tool_result: {call_id, tool, references, memories}; notice: {edits}; assistant: {stopped, recalled: {entries, memories}}';

-- What somebody wants remembered: their words as a message that is only listened to, and the memory that they prove, in
-- one transaction. proofs: how many messages say so now.
create function remember_message(
  p_channel bigint, p_message_id text, p_author_id text, p_author_name text, p_text text, p_tokens integer, p_at timestamptz,
  p_memory jsonb,
  out entry_seq bigint, out memory bigint, out proofs bigint
) language plpgsql as $$
declare v_source jsonb;
begin
  select a.seq into entry_seq
    from append_message(p_channel, p_message_id, p_author_id, p_author_name, false, p_text, p_tokens, p_at, false, null) a;
  v_source := jsonb_build_object('seq', entry_seq, 'quote', p_memory->'sources'->0->>'quote');
  memory := add_memory(p_channel, null, p_memory || jsonb_build_object('sources', jsonb_build_array(v_source)));
  select count(*) into proofs from memory_sources s where s.memory_id = remember_message.memory;
end $$;

-- A memory goes whatever still proves it; the messages stay. Under the channel's row lock, as every proof is added.
create function forget_memory(p_channel bigint, p_memory bigint) returns boolean language plpgsql as $$
begin
  perform from channels c where c.id = p_channel for no key update;
  update memories m set superseded_by = null where m.superseded_by = p_memory and m.channel_id = p_channel;
  delete from memory_sources s where s.memory_id = p_memory
     and exists (select from memories m where m.id = p_memory and m.channel_id = p_channel);
  delete from memories m where m.id = p_memory and m.channel_id = p_channel;
  return found;
end $$;
