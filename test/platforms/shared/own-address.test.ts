import assert from "node:assert/strict";
import { test } from "node:test";
import { ownAddress } from "../../../src/platforms/shared/own-address.ts";

const hosts = ["slack.com", "discord.gg"];

function isOwn(address: string, apiUrl: string | null = null): boolean {
  return ownAddress(address, { hosts, apiUrl }) !== null;
}

test("a platform's own hosts are asked over TLS alone, at the usual port", () => {
  for (const address of [
    "https://files.slack.com/files-pri/T1-F1/a.png",
    "https://slack.com",
    "wss://gateway-us-east1-b.discord.gg",
  ])
    assert.ok(isOwn(address), address);
  for (const address of [
    "http://files.slack.com/a.png",
    "ws://gateway.discord.gg",
    "https://slack.com:8443/",
    "https://user:password@slack.com/",
    "https://slack.com@evil.example/",
    "https://evilslack.com/",
    "https://slack.com.evil.example/",
    "https://evil.example/slack.com",
    "https://169.254.169.254/latest/meta-data",
    "http://127.0.0.1:8787/",
    "file:///etc/passwd",
    "javascript:alert(1)",
    "",
    "nowhere",
  ])
    assert.ok(!isOwn(address), address);
});

test("a configured address is its origin, and its sockets are at any port", () => {
  const local = "http://127.0.0.1:8787/api";
  for (const address of ["http://127.0.0.1:8787/files/a", "ws://127.0.0.1:8787/gateway", "ws://127.0.0.1:9/"])
    assert.ok(isOwn(address, local), address);
  for (const address of [
    "http://127.0.0.1:8788/files/a",
    "https://127.0.0.1:8787/files/a",
    "ws://localhost:8787/gateway",
    "http://user@127.0.0.1:8787/",
  ])
    assert.ok(!isOwn(address, local), address);
});

test("a configured name over TLS counts as a public one", () => {
  const own = "https://slack-gov.com/api";
  for (const address of ["https://files.slack-gov.com/a", "wss://wss-primary.slack-gov.com/link"])
    assert.ok(isOwn(address, own), address);
  for (const address of ["ws://slack-gov.com/link", "http://slack-gov.com/a", "https://notslack-gov.com/a"])
    assert.ok(!isOwn(address, own), address);
});
