-- Many daemons on one database: each channel is of one of 64 partitions, by its address, and whoever has taken a partition is home of its
-- channels. A daemon that belongs to no cluster takes channels as before, and reads nothing of this.

-- A stable hash: `hashtext` may be another one in the next Postgres. One byte of 256 values is even over 64.
alter table channels
  add column partition smallint generated always as (get_byte(decode(md5(platform || ':' || name), 'hex'), 0) % 64) stored,
  add column due_to bigint not null default 0;
comment on column channels.due_to is
  'the newest message that asks for a turn; something may be due only if this is above settled_to. 0 also where all were settled before 0058';

-- Of what does not change alone: an index on the watermarks would make each turn write to every index of the row.
create index channels_in_partition on channels (partition);

create table partitions (
  id       smallint    primary key check (id between 0 and 63),
  epoch    bigint      not null default 0,
  owner    text,
  taken_at timestamptz
);
insert into partitions (id) select generate_series(0, 63);
comment on column partitions.epoch is 'raised when a daemon takes the partition: with an older one, no channel of it is taken any more';
comment on column partitions.owner is 'name of the daemon that took it last; null: nobody has yet';

-- The epoch of a partition never falls.
create function partitions_refuse_fall() returns trigger language plpgsql as $$
begin
  raise exception 'the epoch of partition % must not fall', old.id using errcode = 'WE001';
end $$;
create trigger partitions_refuse_fall before update on partitions for each row
  when (new.epoch < old.epoch) execute function partitions_refuse_fall();

-- Takes partitions for a daemon: raises their epochs. The rows are locked in one order, so that two daemons do not lock each other out.
create function take_partitions(p_ids smallint[], p_daemon text)
returns table (id smallint, epoch bigint) language sql as $$
  with locked as materialized (
    select p.id from partitions p where p.id = any(p_ids) order by p.id for no key update)
  update partitions p set epoch = p.epoch + 1, owner = p_daemon, taken_at = clock_timestamp()
    from locked l where p.id = l.id
  returning p.id, p.epoch;
$$;

-- Takes a channel for the daemon that took its partition with this epoch, and for no other (WE003). The lock makes whoever takes the
-- partition now wait, so that no channel is taken back behind its back.
create function take_channel(p_channel bigint, p_partition_epoch bigint) returns bigint language plpgsql as $$
declare v_partition smallint; v_epoch bigint;
begin
  select c.partition into strict v_partition from channels c where c.id = p_channel;
  perform from partitions p where p.id = v_partition and p.epoch = p_partition_epoch for share;
  if not found then
    raise exception 'epoch % of partition % is over', p_partition_epoch, v_partition using errcode = 'WE003';
  end if;
  update channels c set epoch = c.epoch + 1 where c.id = p_channel returning c.epoch into v_epoch;
  return v_epoch;
end $$;

-- As in 0027, and it notes the newest message that asks for a turn, in the update that is made anyway.
create or replace function entries_take_next_seqs() returns trigger language plpgsql as $$
declare v_channel bigint; v_first bigint; v_epoch bigint;
begin
  update channels c set last_seq = a.last, due_to = greatest(c.due_to, a.due)
    from (select min(channel_id) as channel_id, min(seq) as first, max(seq) as last, count(*) as count, min(epoch) as epoch,
                 max(seq) filter (where addressed) as due
            from added having min(channel_id) = max(channel_id) and min(epoch) is not distinct from max(epoch)) a
   where c.id = a.channel_id and c.last_seq = a.first - 1 and a.last - a.first + 1 = a.count
     and (a.epoch is null or c.epoch = a.epoch);
  if found or not exists (select from added) then
    return null;
  end if;
  select channel_id, seq, epoch into v_channel, v_first, v_epoch from added order by channel_id, seq limit 1;
  if v_epoch is not null then
    perform assert_epoch(v_channel, v_epoch, 'key share');
  end if;
  raise exception 'entry % is not the next of channel %', v_first, v_channel using errcode = 'WE001';
end $$;

-- What waits now.
update channels c set due_to = d.due
  from (select e.channel_id, max(e.seq) as due from entries e join channels o on o.id = e.channel_id
         where e.addressed and e.seq > o.settled_to and o.settled_to < o.last_seq group by e.channel_id) d
 where c.id = d.channel_id;

-- Requests of a daemon to the home of a channel. A daemon of a version before does not know these kinds, and leaves them alone.
alter table requests drop constraint requests_kind_known;
alter table requests add constraint requests_kind_known check (kind in ('compact', 'redo', 'forget', 'status', 'reload', 'stop', 'reset')),
                     add column focus text;
alter table requests alter column focus set statistics 0;
comment on column requests.focus is 'of compact: what the summary is to keep above all, in somebody''s words; it goes when the request is taken';
