-- A request may also be for what a daemon knows of itself, and so of no channel. A daemon of a version before reads requests with their
-- channels, and leaves it alone.

alter table requests alter column channel_id drop not null;
alter table requests drop constraint requests_kind_known;
alter table requests add constraint requests_kind_known check (kind in ('compact', 'redo', 'forget', 'status')),
                     add constraint requests_status_has_no_channel check ((kind = 'status') = (channel_id is null));
comment on column requests.channel_id is 'null: it is about no channel';
