import assert from "node:assert/strict";
import { test } from "node:test";

import { webApi } from "@slack/bolt";

import type { JsonObject, SlackChannel, SlackUser } from "./model.ts";
import { type SlackServer, type SlackServerOptions, startSlackServer } from "./server.ts";
import { escapeText } from "./world.ts";

type ClientOptions = ConstructorParameters<typeof webApi.WebClient>[1];

const RETRY_FAST = { retries: 3, minTimeout: 0, maxTimeout: 1 };
const METADATA = { event_type: "weir_answer", event_payload: { id: "answer-1" } };

function createClient(slack: SlackServer, options: ClientOptions = {}): webApi.WebClient {
  return new webApi.WebClient(slack.botToken, {
    slackApiUrl: slack.apiUrl,
    retryConfig: { retries: 0 },
    logLevel: webApi.LogLevel.ERROR,
    ...options,
  });
}

/** `client.chat.postMessage`, under a name that lint does not take for a window's. */
async function post(client: webApi.WebClient, message: JsonObject): Promise<webApi.WebAPICallResult> {
  return client.apiCall("chat.postMessage", message);
}

async function startWithChannel(
  options: SlackServerOptions = {},
): Promise<{ slack: SlackServer; ada: SlackUser; channel: SlackChannel }> {
  const slack = await startSlackServer(options);
  const ada = slack.world.addUser("ada", { displayName: "Ada", realName: "Ada L." });
  return { slack, ada, channel: slack.world.addChannel({ name: "general", members: [ada] }) };
}

test("an answer lost after the commit: with retries two posts are seen, without one, each with its metadata", async () => {
  for (const [retryConfig, count] of [
    [RETRY_FAST, 2],
    [{ retries: 0 }, 1],
  ] as const) {
    const { slack, channel } = await startWithChannel();
    await using _ = slack;
    slack.faults.next({ method: "chat.postMessage", fault: "reset_after" });
    const client = createClient(slack, { retryConfig });
    const posted = post(client, { channel: channel.id, text: "42", metadata: METADATA });
    if (count === 1) await assert.rejects(posted, { code: "slack_webapi_request_error" });
    else await posted;
    assert.deepEqual(
      slack.messages(channel).map(({ text, metadata }) => [text, metadata]),
      Array.from({ length: count }, () => ["42", METADATA]),
    );
    const { messages } = await client.conversations.history({
      channel: channel.id,
      include_all_metadata: true,
    });
    assert.deepEqual(
      messages?.map(({ metadata }) => metadata),
      Array.from({ length: count }, () => METADATA),
    );
    const plain = await client.conversations.history({ channel: channel.id });
    assert.equal(plain.messages?.[0]?.metadata, undefined);
  }
});

test("an answer lost before the commit: a retry makes one post", async () => {
  const { slack, channel } = await startWithChannel();
  await using _ = slack;
  slack.faults.next(
    { method: "chat.postMessage", fault: "reset_before" },
    { method: "chat.postMessage", fault: "status", status: 500 },
    { method: "chat.postMessage", fault: "rate_limited", retryAfterS: 0 },
  );
  await post(createClient(slack, { retryConfig: RETRY_FAST }), {
    channel: channel.id,
    text: "42",
  });
  assert.equal(slack.messages(channel).length, 1);
  assert.deepEqual(
    slack.journal.calls("chat.postMessage").map(({ outcome, committed }) => [outcome, committed]),
    [
      ["reset", false],
      ["status", false],
      ["rate_limited", false],
      ["answered", true],
    ],
  );
  assert.equal(slack.faults.pending, 0);
});

test("a call that is never answered ends by the client's own time limit only", async () => {
  const { slack, channel } = await startWithChannel();
  await using _ = slack;
  slack.faults.next({ method: "chat.postMessage", fault: "hang_after" });
  const client = createClient(slack, { timeout: 100 });
  await assert.rejects(post(client, { channel: channel.id, text: "42" }), {
    code: "slack_webapi_request_error",
  });
  assert.equal(slack.messages(channel).length, 1);
});

test("refusals carry Slack's codes", async () => {
  const { slack, ada, channel } = await startWithChannel({ scopes: ["chat:write", "channels:history"] });
  await using _ = slack;
  const client = createClient(slack);
  const elsewhere = slack.world.addChannel({ name: "elsewhere", withoutBot: true });
  const closed = slack.world.addChannel({ name: "closed", private: true, withoutBot: true });
  const old = slack.world.addChannel({ name: "old" });
  slack.world.archive(old);
  const refused = async (call: Promise<unknown>, code: string): Promise<void> =>
    assert.rejects(call, (error) => {
      assert(error instanceof webApi.WebAPIPlatformError);
      assert.equal(error.data.error, code);
      return true;
    });
  const postTo = async (id: string, text = "x"): Promise<unknown> => post(client, { channel: id, text });
  await refused(postTo(elsewhere.id), "not_in_channel");
  await refused(postTo(closed.id), "channel_not_found");
  await refused(postTo("C404"), "channel_not_found");
  await refused(postTo(old.id), "is_archived");
  await refused(postTo(channel.id, "x".repeat(40_001)), "msg_too_long");
  const ts = slack.world.say(ada, channel, "mine");
  await refused(client.chat.update({ channel: channel.id, ts, text: "ours" }), "cant_update_message");
  await refused(client.chat.delete({ channel: channel.id, ts: "1.0" }), "message_not_found");
  await refused(client.apiCall("chat.unheardOf"), "unknown_method");
  await refused(client.apps.connections.open({}), "not_allowed_token_type");
  await assert.rejects(client.users.info({ user: ada.id }), {
    data: {
      ok: false,
      error: "missing_scope",
      needed: "users:read",
      provided: "chat:write,channels:history",
      response_metadata: { scopes: ["chat:write", "channels:history"], acceptedScopes: ["users:read"] },
    },
  });
  const stranger = new webApi.WebClient("xoxb-other", { slackApiUrl: slack.apiUrl });
  await refused(stranger.auth.test(), "invalid_auth");
  slack.faults.next({ method: "*", fault: "error", error: "account_inactive", times: 2 });
  await refused(client.auth.test(), "account_inactive");
});

test("history comes newest first and page by page, without replies but with those that were broadcast", async () => {
  const { slack, ada, channel } = await startWithChannel({ limits: { oldestPageFirst: false } });
  await using _ = slack;
  const client = createClient(slack);
  const all = ["a", "b", "c", "d", "e"].map((text) => slack.world.say(ada, channel, text));
  const [a = "", b = "", c = "", d = "", e = ""] = all;
  slack.world.say(ada, channel, "only here", { threadTs: b });
  const shown = slack.world.say(ada, channel, "everywhere", { threadTs: b, broadcast: true });
  assert.deepEqual([...all, shown], [...all, shown].toSorted());
  const pages: string[][] = [];
  for await (const page of client.paginate("conversations.history", { channel: channel.id, limit: 2 })) {
    const { messages } = page as webApi.ConversationsHistoryResponse;
    pages.push((messages ?? []).map(({ ts }) => ts ?? ""));
  }
  assert.deepEqual(pages, [
    [shown, e],
    [d, c],
    [b, a],
  ]);
  const between = async (inclusive: boolean): Promise<(string | undefined)[]> => {
    const range = { channel: channel.id, oldest: a, latest: c, inclusive };
    return (await client.conversations.history(range)).messages?.map(({ ts }) => ts) ?? [];
  };
  assert.deepEqual(await between(false), [b]);
  assert.deepEqual(await between(true), [c, b, a]);
});

test("where only oldest is given, the page next to it comes first, newest first within", async () => {
  const { slack, ada, channel } = await startWithChannel();
  await using _ = slack;
  const [a = "", b, c] = ["a", "b", "c", "d"].map((text) => slack.world.say(ada, channel, text));
  const page = await createClient(slack).conversations.history({ channel: channel.id, oldest: a, limit: 2 });
  assert.deepEqual([page.messages?.map(({ ts }) => ts), page.has_more], [[c, b], true]);
});

test("replies come oldest first, the root on every page, with cursors", async () => {
  const { slack, ada, channel } = await startWithChannel();
  await using _ = slack;
  const client = createClient(slack);
  const root = slack.world.say(ada, channel, "root");
  const replies = ["1", "2", "3"].map((text) => slack.world.say(ada, channel, text, { threadTs: root }));
  const first = await client.conversations.replies({ channel: channel.id, ts: root, limit: 2 });
  const cursor = first.response_metadata?.next_cursor ?? "";
  const second = await client.conversations.replies({ channel: channel.id, ts: root, limit: 2, cursor });
  assert.deepEqual(
    [first, second].map(({ messages }) => messages?.map(({ ts }) => ts)),
    [
      [root, replies[0], replies[1]],
      [root, replies[2]],
    ],
  );
  assert.deepEqual([first.has_more, second.has_more], [true, false]);
  assert.equal(first.messages?.[0]?.reply_count, 3);
  slack.world.remove(channel, root);
  const rest = await client.conversations.replies({ channel: channel.id, ts: root });
  assert.equal(rest.messages?.[0]?.text, "This message was deleted.");
});

test("a streamed answer grows, and is whole when it is stopped", async () => {
  const { slack, ada, channel } = await startWithChannel();
  await using _ = slack;
  const client = createClient(slack);
  const thread = slack.world.say(ada, channel, "tell me");
  const streamer = client.chatStream({
    channel: channel.id,
    thread_ts: thread,
    recipient_user_id: ada.id,
    recipient_team_id: slack.workspace.teamId,
    buffer_size: 4,
  });
  await streamer.append({ markdown_text: "**once" });
  await streamer.append({ markdown_text: " upon** " });
  assert.deepEqual(slack.messages(channel, thread).at(-1)?.text, "**once upon** ");
  assert.deepEqual(slack.messages(channel, thread).at(-1)?.streaming, "in_progress");
  const ts = slack.messages(channel, thread).at(-1)?.ts ?? "";
  await assert.rejects(
    client.chat.update({ channel: channel.id, ts, text: "x" }),
    /streaming_state_conflict/,
  );
  const stopped = await streamer.stop({ markdown_text: "a time", metadata: METADATA });
  assert.equal(stopped.message?.text, "**once upon** a time");
  assert.deepEqual(slack.messages(channel, thread).at(-1)?.metadata, METADATA);
  await assert.rejects(
    client.chat.appendStream({ channel: channel.id, ts, markdown_text: "more" }),
    /message_not_in_streaming_state/,
  );
});

test("people, conversations, reactions, edits and ephemeral texts are there", async () => {
  const { slack, ada, channel } = await startWithChannel();
  await using _ = slack;
  const client = createClient(slack);
  const user = (await client.users.info({ user: ada.id })).user;
  assert.deepEqual([user?.profile?.display_name, user?.real_name, user?.is_bot], ["Ada", "Ada L.", false]);
  const im = slack.world.openIm(ada);
  assert.equal((await client.conversations.open({ users: ada.id })).channel?.id, im.id);
  const types = "public_channel,private_channel,im";
  const mine = await client.users.conversations({ types, limit: 1 });
  assert.notEqual(mine.response_metadata?.next_cursor, "");
  assert.deepEqual((await client.conversations.members({ channel: channel.id })).members?.[0], ada.id);
  assert.equal((await client.conversations.info({ channel: im.id })).channel?.is_im, true);
  const { ts = "" } = await client.chat["postMessage"]({ channel: im.id, text: escapeText("a < b & c") });
  await client.chat.update({ channel: im.id, ts, text: "edited" });
  await client.reactions.add({ channel: im.id, timestamp: ts, name: "eyes" });
  assert.deepEqual([...(slack.messages(im)[0]?.reactions.keys() ?? [])], ["eyes"]);
  assert.equal(slack.messages(im)[0]?.text, "edited");
  await client.chat.delete({ channel: im.id, ts });
  assert.equal(slack.messages(im).length, 0);
  await client.chat.postEphemeral({ channel: channel.id, user: ada.id, text: "only you" });
  assert.equal(slack.ephemerals[0]?.text, "only you");
  await client.assistant.threads.setStatus({ channel_id: im.id, thread_ts: ts, status: "thinks" });
  assert.equal(slack.statuses.get(`${im.id}/${ts}`), "thinks");
});

test("a file needs the token; without it a sign-in page comes; it can be missing, cut or larger than it says", async () => {
  const { slack, ada, channel } = await startWithChannel();
  await using _ = slack;
  const file = slack.world.addFile(ada, "notes.txt", "x".repeat(1_000), { size: 10 });
  slack.world.say(ada, channel, "look", { files: [file] });
  const { messages } = await createClient(slack).conversations.history({ channel: channel.id });
  assert.equal(slack.messages(channel)[0]?.subtype, "file_share");
  const url = messages?.[0]?.files?.[0]?.url_private_download ?? "";
  const headers = { authorization: `Bearer ${slack.botToken}` };
  assert.equal((await (await fetch(url, { headers })).text()).length, 1_000);
  assert.match(await (await fetch(url)).text(), /Sign in/);
  slack.faults.next(
    { method: "files.download", fault: "status", status: 404 },
    { method: "files.download", fault: "reset_after" },
  );
  assert.equal((await fetch(url, { headers })).status, 404);
  await assert.rejects(fetch(url, { headers }).then(async (response) => response.text()));
});
