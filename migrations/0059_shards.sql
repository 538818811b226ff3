-- Daemons of a cluster share out the connections to a platform, which divides a bot's servers among its shards: whoever has the baton of a
-- shard takes it here, and only who took it last keeps how far it was heard. A daemon that belongs to no cluster reads nothing of this.

create table gateway_shard_counts (
  platform  text        primary key check (platform <> ''),
  shards    smallint    not null check (shards > 0),
  agreed_at timestamptz not null default clock_timestamp()
);
comment on column gateway_shard_counts.shards is 'among how many shards all daemons divide the servers; it is another one only where no daemon has a shard';

create table gateway_shards (
  platform text        not null check (platform <> ''),
  shard    smallint    not null check (shard >= 0),
  epoch    bigint      not null,
  owner    text        not null,
  member   uuid,
  taken_at timestamptz not null default clock_timestamp(),
  primary key (platform, shard)
);
comment on column gateway_shards.epoch is 'raised when a daemon takes the shard: with an older one, nothing is kept of its session any more';
comment on column gateway_shards.owner is 'name of the daemon that took it last';
comment on column gateway_shards.member is 'that daemon''s row of members; null: it has given the shard back in order';

-- The epoch of a shard never falls.
create function gateway_shards_refuse_fall() returns trigger language plpgsql as $$
begin
  raise exception 'the epoch of shard % of % must not fall', old.shard, old.platform using errcode = 'WE001';
end $$;
create trigger gateway_shards_refuse_fall before update on gateway_shards for each row
  when (new.epoch < old.epoch) execute function gateway_shards_refuse_fall();

create table gateway_logins (
  platform text        not null check (platform <> ''),
  bucket   smallint    not null check (bucket >= 0),
  free_at  timestamptz not null,
  primary key (platform, bucket)
);
comment on table gateway_logins is 'when the next shard of a bucket may log in: the platform wants a pause between two of one bucket';

-- Among how many shards the daemons divide a platform's servers: what is wanted, unless a daemon that is there has a shard by another
-- number. One that has just taken a shard counts as there, whether or not it has told of itself yet.
create function agree_on_shards(p_platform text, p_wanted smallint) returns smallint language plpgsql as $$
declare v_shards smallint;
begin
  insert into gateway_shard_counts (platform, shards) values (p_platform, p_wanted) on conflict do nothing;
  -- Whoever takes a shard holds this row meanwhile.
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
-- locked in one order, so that two daemons do not lock each other out.
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
