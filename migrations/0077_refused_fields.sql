-- What models have refused, so that no request has it again.

create table refused_fields (
  server text not null,
  model  text not null,
  field  text not null,
  value  text not null,
  status integer,
  code   text not null,
  at     timestamptz not null default now(),
  primary key (server, model, field, value)
);
comment on column refused_fields.server is 'a hash of the server''s address, whose path may hold a key';
comment on column refused_fields.field is 'as the API calls it, or one of ours: api, output_cap, user_behind_tool';
comment on column refused_fields.value is 'what was refused; "": any value; "absent": that the field was not there';
comment on column refused_fields.status is 'of HTTP; null: the refusal came in mid-stream';
comment on column refused_fields.code is 'the server''s code or type, a word; "": it told none';
