-- What platforms need to be told: how a channel is called, and where messages of it may be missing.

alter table channels add column place jsonb;
comment on column channels.place is 'in the words of the platform: {workspace, channel, parent: {id, name} | null}';
comment on column channels.fetched_to is 'a gap is open: messages after this one of the platform may be missing, though later ones are there';
