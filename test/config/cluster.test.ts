import assert from "node:assert/strict";
import { test } from "node:test";
import { secretsOf } from "../../src/admin/secrets.ts";
import { changesBetween, takeUp } from "../../src/config/changes.ts";
import type { Config } from "../../src/config/config.ts";
import { describeConfig } from "../../src/config/describe-config.ts";
import { configErrorFrom, configFrom } from "./folder.ts";

const ON = '[cluster]\nurl = "env:AMQP_URL"\n';
const ENV = {
  AMQP_URL: "amqp://weir:broker-secret@mq.example:5672/weir",
  DATABASE_URL: "postgres://u:p@db/weir",
};

test("a daemon is alone unless the file says otherwise, whatever the environment has", (t) => {
  assert.equal(configFrom(t, "", ENV).cluster, null);
  assert.equal(configFrom(t, '[cluster]\nurl = ""\nprefix = "other"', ENV).cluster, null);
});

test("a cluster has the broker's address, and names of its own or made ones", (t) => {
  const { AMQP_URL: url } = ENV;
  assert.deepEqual(configFrom(t, ON, ENV).cluster, { url, name: null, prefix: "weir" });
  const named = configFrom(t, `${ON}name = "a@b:1"\nprefix = "staging.weir"`, ENV).cluster;
  assert.deepEqual(named, { url, name: "a@b:1", prefix: "staging.weir" });
});

test("a cluster without a Postgres that is shared is refused, with the place", (t) => {
  const { message } = configErrorFrom(t, `\n${ON}`, { AMQP_URL: ENV.AMQP_URL });
  assert.match(message, /config\.toml:3:\d+ +cluster\.url\n.*needs a Postgres that its daemons share/);
  assert.match(message, /DATABASE_URL/);
});

test("an address that is missing or none is refused, and not shown", (t) => {
  const missing = configErrorFrom(t, ON, { DATABASE_URL: ENV.DATABASE_URL });
  assert.match(missing.message, /cluster\.url\n.*AMQP_URL is not set, or empty/);
  for (const AMQP_URL of ["http://weir:broker-secret@mq.example", "broker-secret"]) {
    const { message } = configErrorFrom(t, ON, { ...ENV, AMQP_URL });
    assert.match(message, /AMQP_URL cannot be used/);
    assert.ok(!message.includes("broker-secret"), message);
  }
  const { message } = configErrorFrom(t, `[cluster]\nurl = "${ENV.AMQP_URL}"`, ENV);
  assert.match(message, /cluster\.url\n/);
  assert.ok(!message.includes("broker-secret"), message);
});

test("the password of the broker is a secret, also as it is written in the address", (t) => {
  const config = configFrom(t, ON, { ...ENV, AMQP_URL: "amqp://weir:broker%2Fsecret@mq.example/weir" });
  const secrets = secretsOf(config);
  assert.ok(secrets.includes("broker/secret"));
  assert.ok(secrets.includes("amqp://weir:broker%2Fsecret@mq.example/weir"));
  const shown = describeConfig(config);
  assert.match(shown, /cluster +on, by RabbitMQ at mq\.example/);
  assert.ok(!shown.includes("secret"), shown);
});

test("a change of the cluster waits for the next start", (t) => {
  const read = (toml: string): Config => {
    const config = configFrom(t, toml, ENV);
    // Each is in a folder of its own, which is no change.
    return { ...config, database: { ...config.database, dataDir: "/data" }, agentsDir: "/agents" };
  };
  const started = read("");
  const next = read(ON);
  const taken = takeUp(started, next);
  assert.deepEqual(changesBetween(started, taken).live, []);
  assert.deepEqual(changesBetween(taken, next).atStart, ["cluster.url"]);
  const moved = read(`${ON}prefix = "other"`);
  assert.deepEqual(changesBetween(takeUp(next, moved), moved).atStart, ["cluster.prefix"]);
});
