-- Search over the raw log: a side table that is filled off the reply path.

create table entry_search (
  channel_id bigint   not null,
  seq        bigint   not null,
  body       text     not null,
  tsv        tsvector not null,
  primary key (channel_id, seq),
  foreign key (channel_id, seq) references entries
);
-- fastupdate off: the pending list made look-ups four times slower, and rising.
create index entry_search_words on entry_search using gin (channel_id, tsv) with (fastupdate = off);
create index entry_search_pieces on entry_search using gin (channel_id, body gin_trgm_ops) with (fastupdate = off);
-- Frequencies of lexemes decide which terms pick the candidates; the default target of 100 knows too few.
alter table entry_search alter column tsv set statistics 1000;

create table search_progress (
  channel_id bigint primary key references channels,
  indexed_to bigint not null
);

-- What an entry says now.
create function entry_text(p_channel bigint, p_seq bigint, p_text text) returns text language sql stable as $$
  select coalesce((select r.text from revisions r where r.channel_id = p_channel and r.seq = p_seq
                    order by r.revision desc limit 1), p_text)
$$;

-- One writer of a channel's index at a time: between reading a text and writing it here, no deletion may pass.
-- Whoever also takes the channel's row lock takes this one first, so that appends never wait for the indexer.
create function lock_search(p_channel bigint) returns bigint language plpgsql as $$
declare v_done bigint;
begin
  insert into search_progress (channel_id, indexed_to) values (p_channel, 0) on conflict do nothing;
  select indexed_to into strict v_done from search_progress where channel_id = p_channel for update;
  return v_done;
end $$;

-- (Re)writes the index rows of p_from..p_to. Author and text weigh A, the text before them D. The caller holds the lock.
create function index_entries(p_channel bigint, p_from bigint, p_to bigint) returns void language plpgsql as $$
begin
  delete from entry_search s where s.channel_id = p_channel and s.seq between p_from and p_to;
  insert into entry_search (channel_id, seq, body, tsv)
  select e.channel_id, e.seq, left(spoken.body, 20000),
         setweight(to_tsvector('english', left(spoken.body, 20000)), 'A')
         || setweight(to_tsvector('english', left(coalesce(before.text, ''), 2000)), 'D')
    from entries e
    cross join lateral (select concat_ws(' ', e.author_name, entry_text(e.channel_id, e.seq, e.text)) as body) spoken
    left join lateral (
      select entry_text(p.channel_id, p.seq, p.text) as text from entries p
       where p.channel_id = e.channel_id and p.seq = e.seq - 1 and p.kind in ('user', 'assistant')
    ) before on true
   where e.channel_id = p_channel and e.seq between p_from and p_to
     and e.kind in ('user', 'assistant') and e.deleted_at is null;
end $$;

-- Brings a channel's index up to its log, at most p_limit entries at a time. Returns how many were taken.
create function index_channel(p_channel bigint, p_limit integer) returns bigint language plpgsql as $$
declare v_done bigint := lock_search(p_channel); v_last bigint;
begin
  select least(last_seq, v_done + p_limit) into v_last from channels where id = p_channel;
  if v_last <= v_done then return 0; end if;
  perform index_entries(p_channel, v_done + 1, v_last);
  update search_progress set indexed_to = v_last where channel_id = p_channel;
  return v_last - v_done;
end $$;
