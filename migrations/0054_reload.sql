-- A request may also be that the daemon reads its configuration anew. A daemon of a version before does not know the kind, and leaves it
-- alone.

alter table requests drop constraint requests_kind_known, drop constraint requests_status_has_no_channel;
alter table requests add constraint requests_kind_known check (kind in ('compact', 'redo', 'forget', 'status', 'reload')),
                     add constraint requests_of_daemon_has_no_channel check ((kind in ('status', 'reload')) = (channel_id is null));
