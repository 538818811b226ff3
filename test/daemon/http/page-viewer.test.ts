// proves: src/daemon/http/page/roles.ts, src/daemon/http/page/places/places.ts, src/daemon/http/page/reading-rights.ts, src/daemon/http/page/page.ts, src/daemon/http/page/live/channel-watch.ts, src/daemon/http/page/live/live-streams.ts, src/store/channels/public-texts.ts
// A viewer reads what was said in public and is public now, on every route that there is, and changes nothing.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { pino } from "pino";
import { ChannelReports } from "../../../src/daemon/http/channels.ts";
import { createPage } from "../../../src/daemon/http/page/page.ts";
import { Sessions } from "../../../src/daemon/http/page/sessions.ts";
import { Readiness } from "../../../src/daemon/metrics/readiness.ts";
import { ask, type HttpAnswer } from "../../support/http-client.ts";
import { heldText } from "../../support/model-behaviours.ts";
import { formsIn, startPage, unescaped } from "../../support/page.ts";
import { until } from "../../support/patience.ts";
import { openViewerWorld, planted, ROOMS, wordOf } from "../../support/viewer-world.ts";
import { readConfig } from "../../support/weir.ts";

const stack = new AsyncDisposableStack();
after(async () => stack.disposeAsync());
const world = stack.use(await openViewerWorld());
const { weir, model, page, say, tellPrivacy } = world;
const operator = await page.signIn("operator");
const viewer = await page.signIn("viewer");

interface Place {
  readonly room: string;
  readonly address: string;
  /** By which the page calls it for viewers. */
  readonly standIn: string;
  readonly turns: readonly number[];
  readonly memory: number;
}

const rows = await world.open.sql<{
  id: number;
  name: string;
  kind: string;
  turns: number[];
  memory: number;
}>(
  `select c.id, c.name, c.kind, (select array_agg(t.id)::float8[] from turns t where t.channel_id = c.id and t.reason is not null) as turns,
          (select max(m.id) from memories m where m.channel_id = c.id) as memory
     from channels c order by c.id`,
);
const KINDS: Readonly<Record<string, string>> = {
  dm: "direct message",
  thread: "thread",
  channel: "private channel",
};
const places = rows.map(({ id, name, kind, turns, memory }): Place => {
  return {
    room: name.slice(2, -4),
    address: `test:${name}`,
    standIn: `${KINDS[kind] ?? ""} ${id}`,
    turns,
    memory,
  };
});
assert.deepEqual(places.map(({ room }) => room).toSorted(), Object.keys(ROOMS).toSorted());

/** All routes of the page, by method. */
const routes = createPage({
  readiness: new Readiness(),
  channels: new ChannelReports(),
  sessions: new Sessions(Date.now),
  key: "",
  mask: (text) => text,
  maskSoFar: (text) => text,
  findSocket: async () => null,
  host: "",
  port: 0,
  log: pino({ level: "silent" }),
  closing: new AbortController().signal,
  now: Date.now,
}).routes.filter(({ path }) => !path.includes("*"));
const paths = (method: string): string[] => [
  ...new Set(routes.filter((route) => route.method === method).map((route) => route.path)),
];
/** Without a session: the style, the scripts, and the proof, which name nothing. */
const shown = paths("GET").filter((path) => !/^\/page\/(?:assets\/|proof$|events$)/.test(path));

/** What is asked for beside a channel: also what another channel has. */
const NESTED: readonly string[] = [
  "",
  "&span=60",
  "&before=3",
  "&from=1&to=99",
  "&by=channel&since=7d",
  "&by=person&since=7d",
  "&compaction.keep_messages=3",
  ...["q", "query", "text", "words", "search"].map((name) => `&${name}=zq`),
  ...places.flatMap(({ room, turns, memory }) => [
    ...turns.map((turn) => `&turn=${turn}`),
    `&person=${wordOf(room, "name")}`,
    `&agent=main&memory=${memory}`,
    ...["entry", "seq", "summary", "request", "proof", "file"].map((name) => `&${name}=${memory}`),
  ]),
];
const OF_ROUTE = new Map(
  shown.map((path) => [
    path,
    // What a route does not read changes nothing of its answer.
    NESTED.filter((more) => more === "" || !isForeign(path, more)),
  ]),
);

/** These parameters are of other places, as far as they are known. */
function isForeign(path: string, more: string): boolean {
  const [, name = ""] = /^&([\w.]+)=/.exec(more) ?? [];
  const known: Readonly<Record<string, readonly string[]>> = {
    "/": ["before"],
    "/page/channel": ["span", "before"],
    "/page/source": ["from"],
    "/page/turn": ["turn"],
    "/page/memories": ["person"],
  };
  return known[path]?.includes(name) === false;
}

function addresses(path: string, names: readonly string[], more: readonly string[]): string[] {
  return names.flatMap((name) => more.map((one) => `${path}?id=${encodeURIComponent(name)}${one}`));
}

/** An answer's texts, without what the address itself had. */
function textsOf({ body, headers }: HttpAnswer, where: string): string {
  const echoed = [...new URL(where, "http://page").searchParams.values()];
  const field = /<input name="(?:id|person)" value="[^"]*"/g;
  const own = body.replaceAll(field, (input) => (echoed.some((one) => input.includes(one)) ? "" : input));
  return `${own}\n${JSON.stringify(headers)}`;
}

function wordsIn(texts: string): string[] {
  return [...new Set(texts.match(/zq[a-z]+/g))];
}

const WORDS = planted();

function assertReadable(texts: string, where: string): void {
  for (const word of wordsIn(texts)) assert.notEqual(WORDS.get(word), false, `${where}: ${word}`);
}

test("each planted word is somewhere on the page of the operator", async () => {
  const seen = new Set<string>();
  for (const path of shown) {
    const each = places.flatMap(({ address, turns }) =>
      addresses(
        path,
        [address],
        path === "/" ? [""] : ["", "&from=1&to=99", ...turns.map((turn) => `&turn=${turn}`)],
      ),
    );
    for (const where of each)
      for (const word of wordsIn(textsOf(await page.get(where, operator), where))) seen.add(word);
  }
  assert.deepEqual(
    [...WORDS.keys()].filter((word) => !seen.has(word)),
    [],
  );
});

test("on no route, by no name of a channel and with no id of another one, a viewer reads what was not said in public", async () => {
  const seen = new Set<string>();
  const statuses = new Map<string, Set<number>>();
  const names = places.flatMap(({ address, standIn }) => [address, standIn]);
  for (const path of shown) {
    const refused = (await page.get(path, viewer)).status === 403;
    // What is refused as a whole is so before it reads anything.
    const more = refused ? ["", "&turn=1"] : (OF_ROUTE.get(path) ?? []);
    for (const where of addresses(path, ["", ...names], more)) {
      const answer = await page.get(where, viewer);
      assert.ok([200, 400, 403, 404].includes(answer.status), `${where}: ${answer.status}`);
      if (refused) assert.equal(answer.status, 403, where);
      const texts = textsOf(answer, where);
      assertReadable(texts, where);
      assert.deepEqual(formsIn(answer.body), [], `${where} draws a form that acts`);
      for (const word of wordsIn(texts)) seen.add(word);
      statuses.set(path, (statuses.get(path) ?? new Set()).add(answer.status));
    }
  }
  const missing = [...WORDS].filter(([word, isShown]) => isShown && !seen.has(word)).map(([word]) => word);
  assert.deepEqual(missing, [], "what was said in public is read");
  const pub = encodeURIComponent(places.find(({ room }) => room === "pub")?.address ?? "");
  const { body } = await page.get(`/page/source?id=${pub}&from=1&to=9`, viewer);
  assert.match(body, /search_history answers\][^]*?not shown to viewers/, "what a tool returned is not read");
  const readable = [...statuses].filter(([, codes]) => codes.has(200)).map(([path]) => path);
  assert.deepEqual(readable.toSorted(), [
    "/",
    "/page/channel",
    "/page/memories",
    "/page/source",
    "/page/turn",
  ]);
});

test("no link that a viewer is shown leads to a refusal", async () => {
  const known = new Set(["/"]);
  for (const where of known) {
    const { status, body } = await page.get(where, viewer);
    assert.equal(status, 200, where);
    assertReadable(body, where);
    for (const [, href = ""] of body.matchAll(/ href="(\/[^"#]*)/g)) known.add(unescaped(href));
  }
  assert.ok(known.size > 4 * places.length, `${known.size} addresses`);
});

test("a channel that is not public has numbers, under a name that says nothing; its own name is of no channel", async () => {
  const nobody = await page.get("/page/channel?id=test:nobody", viewer);
  assert.equal(nobody.status, 404);
  for (const { room, address, standIn } of places) {
    const isOpen = ROOMS[room]?.shown.includes("room") === true;
    for (const path of ["channel", "turn"]) {
      const byName = await page.get(`/page/${path}?id=${address}`, viewer);
      const byStandIn = await page.get(`/page/${path}?id=${encodeURIComponent(standIn)}`, viewer);
      assert.deepEqual(
        [byName.status, byStandIn.status],
        isOpen ? [200, 404] : [404, 200],
        `${room} ${path}`,
      );
      if (isOpen) continue;
      assert.equal(byName.body, nobody.body);
      assert.match(byStandIn.body, new RegExp(`<title>(?:Turns · )?${standIn}`));
    }
    if (isOpen) continue;
    const { body } = await page.get(`/page/channel?id=${encodeURIComponent(standIn)}`, viewer);
    assert.match(body, /Level [\d.]+ % of the usable window/);
    assert.match(body, /Its texts are not shown to viewers\./);
    assert.doesNotMatch(body, /data-events/);
    const source = await page.get(`/page/source?id=${encodeURIComponent(standIn)}`, viewer);
    assert.deepEqual(
      [source.status, /The texts of this channel are not shown/.test(source.body)],
      [403, true],
    );
  }
  for (const wrong of [
    "direct message 999999",
    "direct message 0",
    "thread 1",
    "private channel 1e3",
    "private channel 99999999999999999999",
  ])
    assert.equal(
      (await page.get(`/page/channel?id=${encodeURIComponent(wrong)}`, viewer)).status,
      404,
      wrong,
    );
});

test("a summary of what was not all said in public shows its numbers, and that it is not shown", async () => {
  const of = async (room: string): Promise<string> =>
    (await page.get(`/page/channel?id=test:${wordOf(room, "room")}`, viewer)).body;
  for (const room of ["once", "gap", "edited"])
    assert.match(
      await of(room),
      /Summary: \d+ messages → \d+ tokens[^]*<p class="text" data-derived>not shown to viewers<\/p>/,
    );
  assert.match(await of("pub"), /data-derived>They spoke of zqpubsummary\.<\/p>/);
});

test("a viewer may do nothing: every form but that to sign out is refused, in a sentence", async () => {
  const mine = await page.signIn("viewer");
  const { body } = await page.get("/", mine);
  assert.match(body, /<span class="dim">viewer<\/span>\s*<button>\s*Sign out/);
  assert.doesNotMatch((await page.get("/", operator)).body, />viewer</);
  const token = /name="token" value="(?<token>[^"]+)"/.exec(body)?.groups?.["token"] ?? "";
  const before = await world.open.sql("select state from approvals order by id");
  const acts = paths("POST").filter((path) => !/sign-(?:in|out)$/.test(path));
  assert.ok(acts.includes("/page/waiting/act"));
  for (const path of [...acts, "/", "/page/nothing", "/page/sign-out/"]) {
    const answer = await page.post(
      path,
      {
        token,
        feature: "questions",
        item: "1/1",
        act: "approve",
        id: "test:zqpubroom",
        memory: "1",
        agent: "main",
      },
      { ...page.own, ...mine },
    );
    assert.equal(answer.status, 403, path);
    assert.match(answer.body, /A viewer may look, and change nothing\./);
  }
  assert.deepEqual(await world.open.sql("select state from approvals order by id"), before);
  assert.equal(
    (await page.post("/page/sign-out", { token: "guessed" }, { ...page.own, ...mine })).status,
    403,
  );
  assert.equal((await page.post("/page/sign-out", { token }, { ...page.own, ...mine })).status, 303);
  assert.equal((await page.get("/", mine)).status, 401);
});

test("no other spelling of a path leads past the refusal, and HEAD and GET are refused alike", async () => {
  const spelled = [
    "/page/waiting/",
    "/page//waiting",
    "/page/%77aiting",
    "/page/waiting%2F",
    "/page%2Fwaiting",
    "/%70age/waiting",
    "/page/./waiting",
    "/page/turn/../waiting",
    "/page/Waiting",
    "/page/waiting;",
    "/page/waiting%00",
    "/page/%2577aiting",
    "/page/settings%3F",
    "/page/channel%2F..%2Fsettings",
    "//page/settings",
    "/page/usage.csv?by=person",
    "/page/no-such-place",
    "/page/sign-out",
  ];
  for (const where of spelled) {
    const answer = await page.get(where, viewer);
    assert.ok([401, 403, 404].includes(answer.status), `${where}: ${answer.status}`);
    assertReadable(textsOf(answer, where), where);
  }
  for (const path of shown) {
    const { status } = await page.get(path, viewer);
    const head = await ask(`http://127.0.0.1:${page.port}${path}`, {
      method: "HEAD",
      headers: { host: page.host, ...viewer },
    });
    assert.deepEqual([head.status, head.body], [status, ""], path);
  }
  for (const method of ["PUT", "DELETE", "PATCH", "OPTIONS"])
    assert.equal(
      (
        await ask(`http://127.0.0.1:${page.port}/page/waiting`, {
          method,
          headers: { host: page.host, ...viewer },
        })
      ).status,
      405,
    );
});

test("a code is of one role, and another role is another session: the one before ends with its streams", async () => {
  const mine = await page.signIn("viewer");
  using stream = await page.stream("/page/events?id=test:zqpubroom", mine);
  await stream.next("where");
  assert.equal((await page.get("/page/settings", mine)).status, 403);
  const turned = await page.post("/page/sign-in", { code: page.newCode() }, { ...page.own, ...mine });
  assert.equal(turned.status, 303);
  await stream.ended;
  assert.equal((await page.get("/", mine)).status, 401, "the cookie before");
  const [set = ""] = turned.headers["set-cookie"] ?? [];
  assert.equal((await page.get("/page/settings", { cookie: set.split(";")[0] ?? "" })).status, 200);
  const roles = page.lines.flatMap((line) => {
    const { msg, role } = JSON.parse(line);
    return msg === "page_signed_in" ? [role] : [];
  });
  assert.deepEqual(roles.slice(-2), ["viewer", "operator"]);
  // Those of another start of the daemon.
  await using restarted = await startPage(weir.daemon, await readConfig(world.options), Date.now());
  for (const role of ["viewer", "operator"] as const) {
    assert.equal((await page.get("/", await restarted.signIn(role))).status, 401);
    assert.equal(
      (await page.post("/page/sign-in", { code: restarted.newCode(undefined, role) })).status,
      403,
    );
  }
  // As a viewer would make of their code another one.
  const code = page.newCode(undefined, "viewer");
  const other = Buffer.from(page.newCode(), "base64url");
  const mixed = Buffer.concat([Buffer.from(code, "base64url").subarray(0, 16), other.subarray(16)]);
  assert.equal((await page.post("/page/sign-in", { code: mixed.toString("base64url") })).status, 403);
});

test("a viewer's stream has the rows of public words alone, and ends with the sign-out", async () => {
  for (const { room, address, standIn } of places) {
    if (ROOMS[room]?.shown.includes("room") === true) continue;
    assert.equal((await page.get(`/page/events?id=${address}`, viewer)).status, 404, room);
    assert.equal(
      (await page.get(`/page/events?id=${encodeURIComponent(standIn)}`, viewer)).status,
      403,
      room,
    );
  }
  const mine = await page.signIn("viewer");
  for (const room of ["pub", "once", "gap", "edited"]) {
    using stream = await page.stream(`/page/events?id=test:${wordOf(room, "room")}&from=0-0-0`, mine);
    await stream.next("row", ({ text }) => String(text).includes(wordOf(room, "tail")));
    assertReadable(JSON.stringify(stream.events), room);
  }
  using stream = await page.stream("/page/events?id=test:zqpubroom", mine);
  await stream.next("where");
  const { body } = await page.get("/", mine);
  const token = /name="token" value="(?<token>[^"]+)"/.exec(body)?.groups?.["token"] ?? "";
  await page.post("/page/sign-out", { token }, { ...page.own, ...mine });
  await stream.ended;
});

test("an answer is shown while it is written where all before it was said in public, and nowhere else", async () => {
  for (const [room, isShown] of [
    ["pub", true],
    ["once", false],
    ["gap", false],
  ] as const) {
    const at = `/page/events?id=test:${wordOf(room, "room")}`;
    using stream = await page.stream(at, viewer);
    using whole = await page.stream(at, operator);
    await Promise.all([stream.next("where"), whole.next("where")]);
    const gate = Promise.withResolvers<void>();
    model.reply(heldText("It is being ", gate.promise, "written."));
    const said = say(room, "and now?", { ...(room === "once" && { isPrivate: false }), addressed: true });
    await whole.next("draft", ({ text }) => text === "It is being ");
    if (isShown) await stream.next("draft", ({ text }) => text === "It is being ");
    gate.resolve();
    await said;
    await whole.next("row", ({ text }) => text === "It is being written.");
    await stream.next(
      "row",
      ({ text }) => text === (isShown ? "It is being written." : "not shown to viewers"),
    );
    if (!isShown) assert.doesNotMatch(JSON.stringify(stream.events), /It is being/);
  }
});

test("an edit that was read late takes a message from the page, live too", async () => {
  await say("pub", "the gate is zqpubgate", { id: "gate" });
  using stream = await page.stream("/page/events?id=test:zqpubroom&from=0-0-0", viewer);
  await stream.next("row", ({ text }) => text === "the gate is zqpubgate");
  const edit = { type: "edit", platform: "test", id: "gate", at: new Date() } as const;
  await weir.daemon.inbox.receive({ ...edit, text: "the gate is zqpubedited" });
  const { data } = await stream.next("row", ({ text }) => text === "the gate is zqpubedited");
  await weir.daemon.inbox.receive({ ...edit, text: "the gate is zqpublate", isLate: true });
  await stream.next("row", (row) => row["seq"] === data["seq"] && row["text"] === "not shown to viewers");
  assert.doesNotMatch(JSON.stringify(stream.events), /zqpublate/);
  assert.doesNotMatch((await page.get("/page/channel?id=test:zqpubroom", viewer)).body, /zqpublate/);
});

test("a channel that becomes private ends its viewers' streams, and no piece of an answer follows", async () => {
  const inTheOpen = { isPrivate: false, room: "turning", channel: { platform: "test", name: "turning" } };
  await weir.say("hello", { workspace: "w", addressed: false, ...inTheOpen });
  using stream = await page.stream("/page/events?id=test:turning", viewer);
  using whole = await page.stream("/page/events?id=test:turning", operator);
  await Promise.all([stream.next("where"), whole.next("where")]);
  const [gate, end] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  model.reply(heldText("It is open ", gate.promise, "no longer: zqturning ", end.promise));
  await weir.say("tell me", { workspace: "w", ...inTheOpen });
  await stream.next("draft", ({ text }) => text === "It is open ");
  await tellPrivacy("turning", true);
  gate.resolve();
  await whole.next("draft", ({ text }) => String(text).includes("zqturning"));
  end.resolve();
  await weir.event("turn_settled", ({ channel }) => channel === "test:turning");
  await until("the page is to load again", () => stream.events.some(({ event }) => event === "stale"));
  await stream.ended;
  assert.doesNotMatch(JSON.stringify(stream.events), /zqturning/);
  assert.equal((await page.get("/page/channel?id=test:turning", viewer)).status, 404);
});

test("why something fails is the operator's: a viewer sees its state", async () => {
  await weir.reload("[[agents]]\nid = 1");
  const seen = async (of: { cookie: string }): Promise<string> => (await page.get("/", of)).body;
  await until("the refusal shows", async () => (await seen(operator)).includes("configuration: degraded"));
  assert.match(await seen(operator), /refused since/);
  assert.match(await seen(viewer), /configuration: degraded/);
  assert.doesNotMatch(await seen(viewer), /refused since/);
});
