-- Daemons that share a database sign what they learn with one key, which never stands there. By its fingerprint each sees whether the
-- others have the same.

alter table members add column key_id text;
comment on column members.key_id is
  'which key it signs with: tells keys apart, and nothing of the key. Null: it has none, or is of a version before';
