-- Many daemons on one database. Each channel is in one of 64 partitions, by its address; the daemon that has taken a partition owns its
-- channels. A daemon that belongs to no cluster takes channels directly, and reads nothing of this.

create table partitions (
  id       smallint    primary key check (id between 0 and 63),
  -- raised when a daemon takes the partition: with an older one, no channel of it can be taken
  epoch    bigint      not null default 0,
  owner    text, -- name of the daemon that took it last; null: nobody has yet
  taken_at timestamptz
);
insert into partitions (id) select generate_series(0, 63);

create trigger partitions_refuse_fall before update on partitions for each row
  when (new.epoch < old.epoch) execute function refuse_fall();

-- Takes partitions for a daemon: raises their epochs. The rows are locked in one order, so that two daemons cannot deadlock.
create function take_partitions(p_ids smallint[], p_daemon text) returns table (id smallint, epoch bigint) language sql as $$
  with locked as materialized (
    select p.id from partitions p where p.id = any(p_ids) order by p.id for no key update)
  update partitions p set epoch = p.epoch + 1, owner = p_daemon, taken_at = clock_timestamp()
    from locked l where p.id = l.id
  returning p.id, p.epoch;
$$;

-- Takes a channel for the daemon that took its partition with this epoch, and for no other (WE003). The lock makes another daemon that
-- takes the partition now wait, so that no channel is taken after it lost the partition.
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

-- Each daemon of a cluster writes a row every two seconds, for people to see who is there and how they fare. A row is also how a
-- daemon is asked to hand its channels on. Who owns a channel follows from `partitions`, and never from here.
create table members (
  id               uuid        primary key, -- of one run of a daemon: a restarted daemon has another
  name             text        not null check (name <> ''),
  version          text        not null,
  host             text        not null,
  pid              integer     not null,
  started_at       timestamptz not null,
  seen_at          timestamptz not null default clock_timestamp(), -- by the clock of the database
  -- it is to hand its partitions on, and to take none: somebody's wish, until it is withdrawn or the daemon restarts
  is_drained       boolean     not null default false,
  held             smallint[]  not null, -- the partitions that it owns, as it knows
  vitals           jsonb       not null,
  key_id           text, -- which key it signs with: tells keys apart, and nothing of the key. Null: it has none
  looks_for_prints boolean     not null default false -- unused
);

-- Daemons of a cluster share out the connections to a platform, which divides a bot's servers among its shards. Each daemon takes its
-- shards here, and only the last that took a shard keeps how far it was heard.

create table gateway_shard_counts (
  platform  text        primary key check (platform <> ''),
  -- among how many shards all daemons divide the servers; it changes only while no daemon has a shard
  shards    smallint    not null check (shards > 0),
  agreed_at timestamptz not null default clock_timestamp()
);

create table gateway_shards (
  platform text        not null check (platform <> ''),
  shard    smallint    not null check (shard >= 0),
  epoch    bigint      not null, -- raised when a daemon takes the shard: with an older one, nothing of its session can be kept
  owner    text        not null, -- name of the daemon that took it last
  member   uuid, -- that daemon's row of members; null: it has given the shard back in order
  taken_at timestamptz not null default clock_timestamp(),
  primary key (platform, shard)
);

create trigger gateway_shards_refuse_fall before update on gateway_shards for each row
  when (new.epoch < old.epoch) execute function refuse_fall();

-- When the next shard of a bucket may log in: the platform wants a pause between two of one bucket.
create table gateway_logins (
  platform text        not null check (platform <> ''),
  bucket   smallint    not null check (bucket >= 0),
  free_at  timestamptz not null,
  primary key (platform, bucket)
);

-- Returns among how many shards the daemons divide a platform's servers: the wanted number, unless a daemon that is there has a shard
-- by another number. A daemon that has just taken a shard counts as there, whether or not it has reported itself yet. The lock of the
-- row excludes daemons that take a shard meanwhile.
create function agree_on_shards(p_platform text, p_wanted smallint) returns smallint language plpgsql as $$
declare v_shards smallint;
begin
  insert into gateway_shard_counts (platform, shards) values (p_platform, p_wanted) on conflict do nothing;
  select c.shards into strict v_shards from gateway_shard_counts c where c.platform = p_platform for update;
  if v_shards <> p_wanted and not exists (
    select from gateway_shards s left join members m on m.id = s.member
     where s.platform = p_platform and s.member is not null
       and greatest(s.taken_at, m.seen_at) > clock_timestamp() - interval '10 s') then
    update gateway_shard_counts c set shards = p_wanted, agreed_at = clock_timestamp() where c.platform = p_platform;
    return p_wanted;
  end if;
  return v_shards;
end $$;

-- Takes shards for a daemon: raises their epochs. No row: the servers are divided among another number of shards by now. The rows are
-- locked in one order, so that two daemons cannot deadlock.
create function take_shards(p_platform text, p_ids smallint[], p_shards smallint, p_owner text, p_member uuid)
returns table (shard smallint, epoch bigint) language sql as $$
  with agreed as materialized (
    select c.shards from gateway_shard_counts c where c.platform = p_platform and c.shards = p_shards for share)
  insert into gateway_shards as s (platform, shard, epoch, owner, member)
    select p_platform, i.id, 1, p_owner, p_member from agreed, unnest(p_ids) as i(id) where i.id < agreed.shards order by i.id
  on conflict (platform, shard) do update
    set epoch = s.epoch + 1, owner = excluded.owner, member = excluded.member, taken_at = clock_timestamp()
  returning s.shard, s.epoch;
$$;
