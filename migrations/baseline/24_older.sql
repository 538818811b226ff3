-- Objects that only daemons of versions before this one use. They go in the next step.

create index entry_search_pieces on entry_search using gin ((channel_id - 0)) where false;
create function find_unspaced(p_channel bigint, p_text text, p_pick tsquery, p_from bigint, p_to bigint, p_limit integer)
returns bigint[] language plpgsql stable as $$
declare v_pairs tsquery := array_to_string(array(select distinct quote_literal(pair) from unnest(character_pairs(p_text)) pair), ' | ');
begin
  return array(
    select compared.seq from (
      -- Two steps: in one, the planner would compare all candidates before it takes the best of them.
      select best.seq, word_similarity(p_text, left(best.body, 2000)) as similarity from (
        select c.seq, c.body from (
          select s.seq, s.body, s.tsv from entry_search s
           where s.channel_id + 0 = p_channel and s.tsv @@ p_pick and s.seq + 0 between p_from and p_to limit 300
        ) c order by ts_rank(c.tsv, v_pairs) desc, c.seq desc limit p_limit + 8
      ) best
     offset 0
    ) compared
     where compared.similarity >= 0.3 order by compared.similarity desc, compared.seq desc limit p_limit);
end $$;
create function find_said(
  p_channel bigint, p_pick text, p_terms text, p_literals text[], p_patterns text[], p_text text, p_pairs text,
  p_from bigint, p_to bigint, p_limit integer, p_neighbours integer
) returns bigint[] language plpgsql stable as $$
declare v_words bigint[]; v_literals bigint[]; v_pieces bigint[]; v_index integer; v_parts text;
begin
  if p_pick <> '' then
    v_words := array(
      select c.seq from (
        select s.seq, s.tsv from entry_search s
         where s.channel_id + 0 = p_channel and s.tsv @@ p_pick::tsquery and s.seq + 0 between p_from and p_to limit 4000
      ) c order by ts_rank('{0.4, 0.4, 0.4, 1}', c.tsv, p_terms::tsquery) desc, c.seq desc limit p_limit);
  end if;
  for v_index in 1 .. coalesce(cardinality(p_literals), 0) loop
    v_parts := array_to_string(identifier_parts(p_literals[v_index]), ' & ');
    continue when v_parts = '';
    v_literals := v_literals || array(
      select c.seq from (
        select s.seq from entry_search s
         where s.channel_id + 0 = p_channel and s.tsv @@ v_parts::tsquery and s.seq + 0 between p_from and p_to
           and s.body || '' ilike p_patterns[v_index] limit 200
      ) c order by c.seq desc limit p_limit);
  end loop;
  if cardinality(p_literals) > 1 then
    v_literals := array(select distinct seq from unnest(v_literals) seq order by seq desc limit p_limit);
  end if;
  if p_pairs <> '' then v_pieces := find_unspaced(p_channel, p_text, p_pairs::tsquery, p_from, p_to, p_limit); end if;
  -- Hits are ranked by their places in the three lists, because the scores of different searches do not compare.
  return array(
    select near from (
      select hit.seq, row_number() over (order by sum(1.0 / (59 + hit.place)) desc, hit.seq desc) as place from (
        select * from unnest(v_words) with ordinality union all
        select * from unnest(v_literals) with ordinality union all
        select * from unnest(v_pieces) with ordinality
      ) hit (seq, place)
       group by hit.seq order by 2 limit p_limit
    ) hits, generate_series(greatest(hits.seq - p_neighbours, p_from), least(hits.seq + p_neighbours, p_to)) near
     group by near order by min(case when near = hits.seq then 0 else 1 end), min(hits.place), near);
end $$;
create function find_pieces(p_channel bigint, p_text text, p_from bigint, p_to bigint, p_limit integer) returns bigint[]
language plpgsql stable as $$
declare v_pairs text := array_to_string(array(select distinct quote_literal(pair) from unnest(character_pairs(p_text)) pair), ' | ');
begin
  return find_unspaced(p_channel, p_text, v_pairs::tsquery, p_from, p_to, p_limit);
end $$;
create function find_entries(
  p_channel bigint, p_pick text, p_terms text, p_literals text[], p_patterns text[], p_text text,
  p_from bigint, p_to bigint, p_limit integer, p_neighbours integer
) returns bigint[] language plpgsql stable as $$
declare v_words bigint[]; v_literals bigint[]; v_pieces bigint[]; v_index integer; v_parts text;
begin
  if p_pick <> '' then
    v_words := array(
      select c.seq from (
        select s.seq, s.tsv from entry_search s
         where s.channel_id + 0 = p_channel and s.tsv @@ p_pick::tsquery and s.seq + 0 between p_from and p_to limit 4000
      ) c order by ts_rank('{0.4, 0.4, 0.4, 1}', c.tsv, p_terms::tsquery) desc, c.seq desc limit p_limit);
  end if;
  for v_index in 1 .. coalesce(cardinality(p_literals), 0) loop
    v_parts := array_to_string(identifier_parts(p_literals[v_index]), ' & ');
    continue when v_parts = '';
    v_literals := v_literals || array(
      select c.seq from (
        select s.seq from entry_search s
         where s.channel_id + 0 = p_channel and s.tsv @@ v_parts::tsquery and s.seq + 0 between p_from and p_to
           and s.body || '' ilike p_patterns[v_index] limit 200
      ) c order by c.seq desc limit p_limit);
  end loop;
  if cardinality(p_literals) > 1 then
    v_literals := array(select distinct seq from unnest(v_literals) seq order by seq desc limit p_limit);
  end if;
  if p_text <> '' then v_pieces := find_pieces(p_channel, p_text, p_from, p_to, p_limit); end if;
  -- Hits are ranked by their places in the three lists, because the scores of different searches do not compare.
  return array(
    select distinct near from (
      select hit.seq from (
        select * from unnest(v_words) with ordinality union all
        select * from unnest(v_literals) with ordinality union all
        select * from unnest(v_pieces) with ordinality
      ) hit (seq, place)
       group by hit.seq order by sum(1.0 / (59 + hit.place)) desc, hit.seq desc limit p_limit
    ) hits, generate_series(greatest(hits.seq - p_neighbours, p_from), least(hits.seq + p_neighbours, p_to)) near);
end $$;
create function edit_message(
  p_channel bigint, p_message_id text, p_text text, p_tokens integer, p_at timestamptz,
  out outcome text, out seq bigint, out noted_seq bigint
) language sql as $$
  select r.outcome, r.seq, r.noted_seq from revise_message(p_channel, p_message_id, p_text, p_tokens, p_at) r
$$;
create function know_deletions(p_channel bigint, p_epoch bigint) returns void language sql as $$
  update search_progress p set deleted_at = null, deleted_seq = null, shown_gone_at = null
   where p.channel_id = p_channel and last_deletion(p_channel) is not null
     and exists (select from channels c where c.id = p_channel and c.epoch = p_epoch)
$$;
create function blank_late_calls(p_channel bigint) returns void language sql as $$
  select know_deletions(c.id, c.epoch) from channels c where c.id = p_channel
$$;
create function requests_left_alone() returns trigger language plpgsql as $$
begin
  return null;
end $$;
create trigger requests_left_alone before update on requests
  for each row when (old.taken_at is null and new.taken_at is not null and new.kind <> 'compact'
                     and new.taken_as is distinct from new.kind)
  execute function requests_left_alone();
create function entries_take_notes() returns trigger language plpgsql as $$
begin
  if coalesce(current_setting('weir.looks_for_notes', true), '') <> '' then return null; end if;
  update notes n set text = '', gone_at = clock_timestamp()
   where n.gone_at is null
     and (n.channel_id = new.channel_id and n.read_to >= new.seq
          or n.channel_id in (select thread_channels(new.channel_id)));
  return null;
end $$;
create constraint trigger entries_take_notes after update of deleted_at on entries deferrable initially deferred
  for each row when (old.kind = 'user' and old.deleted_at is null and new.deleted_at is not null)
  execute function entries_take_notes();
create constraint trigger revisions_take_notes after insert on revisions deferrable initially deferred
  for each row execute function entries_take_notes();
create function entries_void_subagents() returns trigger language plpgsql as $$
begin
  if coalesce(current_setting('weir.looks_for_subagents', true), '') <> '' then return null; end if;
  perform blank_subagents(array(
    select s.id from subagents s
     where s.closed_at is null
       and (s.channel_id = new.channel_id and s.read_to >= new.seq
            or s.channel_id in (select thread_channels(new.channel_id)))), 'void');
  return null;
end $$;
create constraint trigger entries_void_subagents after update of deleted_at on entries deferrable initially deferred
  for each row when (old.kind = 'user' and old.deleted_at is null and new.deleted_at is not null)
  execute function entries_void_subagents();
create constraint trigger revisions_void_subagents after insert on revisions deferrable initially deferred
  for each row execute function entries_void_subagents();
create function entries_take_reminders() returns trigger language plpgsql as $$
declare v_message_id text; v_from bigint;
begin
  if coalesce(current_setting('weir.looks_for_reminders', true), '') <> '' then return null; end if;
  perform end_reminders(array(
    select r.id from reminders r
     where r.state = 'active' and r.name is null
       and (r.channel_id = new.channel_id and (r.read_to >= new.seq or r.asked_seq = new.seq)
            or r.read_to is not null and r.channel_id in (select thread_channels(new.channel_id)))), 'gone');
  select min(e.seq) into v_from from entries e
   where e.channel_id = new.channel_id and e.seq > new.seq and e.deleted_at is null
     and (e.message_id ~ '^(reminder|subagent|handoff|approval)/' or e.kind = 'tool_result' and e.text <> '');
  if v_from is null then return null; end if;
  for v_message_id in
    select e.message_id from entries e
     where e.channel_id = new.channel_id and e.seq > new.seq and e.deleted_at is null
       and e.message_id ~ '^(reminder|subagent|handoff|approval)/'
       and not exists (select from reminders r where r.id = reminder_of(e.message_id) and r.name is not null)
  loop
    perform delete_message(new.channel_id, v_message_id);
  end loop;
  update entries e set text = '', deleted_at = clock_timestamp()
   where e.channel_id = new.channel_id and e.seq > new.seq and e.kind = 'tool_result' and e.text <> '';
  update summaries s set needs_redo = true
   where s.channel_id = new.channel_id and s.live and s.kind <> 'reset' and s.to_seq >= v_from;
  return null;
end $$;
create constraint trigger entries_take_reminders after update of deleted_at on entries deferrable initially deferred
  for each row when (old.kind = 'user' and old.deleted_at is null and new.deleted_at is not null)
  execute function entries_take_reminders();
create constraint trigger revisions_take_reminders after insert on revisions deferrable initially deferred
  for each row execute function entries_take_reminders();
