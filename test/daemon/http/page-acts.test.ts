// proves: src/daemon/http/page/page.ts, src/daemon/http/page/place.ts, src/daemon/http/page/places/waiting.ts, src/features/questions/decide.ts, src/features/pairing/feature.ts, src/features/features.ts
// The operator acts on the page: by forms of the page itself, each once, with a line in the log.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { PAIRING } from "../../../src/features/pairing/key.ts";
import { openApprovals, shownIn } from "../../support/approvals.ts";
import { askFor, asking, ROOM } from "../../support/asking.ts";
import { ANN, authorOf, command } from "../../support/commands.ts";
import { formsIn, startPage, type TestForm, type TestPage } from "../../support/page.ts";
import { until } from "../../support/patience.ts";
import { readConfig, type TestWeir } from "../../support/weir.ts";

const stack = new AsyncDisposableStack();
after(async () => stack.disposeAsync());
const scene = stack.use(await openApprovals());
const weir = stack.use(
  await scene.start({ approvals: 'approvers = ["discord:u-ann"]\ntools = { note = "always" }' }),
);
const config = await readConfig({ connection: scene.database.connection, modelUrl: scene.server.url });
const page = stack.use(await startPage(weir.daemon, config, Date.now()));
const operator = await page.signIn();

const say = async (text: string): ReturnType<TestWeir["say"]> =>
  weir.say(text, { channel: ROOM, workspace: "w", author: authorOf(ANN) });

/** The form of a button that waits, for a row. */
async function button(of: string, label: RegExp, by: TestPage = page): Promise<TestForm> {
  let found: TestForm | undefined;
  await until(`${of} waits`, async () => {
    const all = await by.forms("/page/waiting", operator);
    found = all.find(({ fields, button: text }) => fields["item"]?.endsWith(of) === true && label.test(text));
    return found !== undefined;
  });
  assert.ok(found !== undefined);
  return found;
}

/** What the log says of acts, without what each line has. */
function audited(): { act: string; on: string; session: string; outcome: string }[] {
  return page.lines.flatMap((line) => {
    const { msg, act, on, session, outcome } = JSON.parse(line);
    return msg === "page_act" ? [{ act, on, session, outcome }] : [];
  });
}

async function rowState(id: number): Promise<string | undefined> {
  return (await scene.rows()).find((row) => row.id === id)?.state;
}

test("an approval is given by a press, whoever the approvers of the channel are; a second press changes nothing", async () => {
  await say("note the key lies under the stone");
  const form = await button("/1", /^Approve$/);
  const [first, second] = await Promise.all([page.act(form, operator), page.act(form, operator)]);
  const answers = [first.body, second.body];
  assert.equal(answers.filter((body) => body.includes("Allowed: #1.")).length, 1);
  assert.equal(
    answers.filter((body) => /#1 is decided already\. Allowed by Weir&#39;s operator\./.test(body)).length,
    1,
  );
  await until("the call has run", async () => (await rowState(1)) === "done");
  assert.match(await scene.notes(), /under the stone/);
  await until("the channel says who", async () =>
    Promise.resolve(shownIn(scene.platform, "room", /#1: Allowed by Weir's operator/).length === 1),
  );
  assert.deepEqual(
    audited()
      .map(({ outcome }) => outcome)
      .toSorted(),
    ["done", "refused"],
  );
  const [one] = audited();
  assert.match(one?.on ?? "", /^questions \d+\/1 approve$/);
  assert.match(one?.session ?? "", /^[\da-f]{8}$/);
});

test("a denial takes its reason to the agent; what somebody else decided meanwhile stays as it is", async () => {
  await say("note a second thing");
  const form = await button("/2", /^Deny$/);
  const denied = await page.act(form, operator, { text: "not today <img>" });
  assert.match(denied.body, /Denied: #2\./);
  await until("the model hears it", async () =>
    Promise.resolve(scene.server.requests.some((one) => JSON.stringify(one).includes("not today <img>"))),
  );
  assert.ok(!page.lines.some((line) => line.includes("not today")), "no text in the log");
  await say("note a third thing");
  const late = await button("/3", /^Approve always/);
  assert.equal(await command(weir, "room", "/deny 3", ANN, "discord"), "Denied: #3.");
  assert.match((await page.act(late, operator)).body, /#3 is decided already\. Denied by Ann\./);
  assert.equal(await rowState(3), "denied");
  assert.deepEqual(await scene.open.sql("select from approval_rules"), []);
});

test("a call may be allowed from now on, and whatever a form makes up is refused", async () => {
  await say("note a fourth thing");
  const form = await button("/4", /^Approve always/);
  const { item = "" } = form.fields;
  const made: [Record<string, string>, number, RegExp][] = [
    [{ item: item.replace("/4", "/99") }, 200, /There is no such question any more/],
    [{ item: "1" }, 200, /There is no such question any more/],
    [{ item: "<b>" }, 400, /names nothing/],
    [{ act: "answer-1" }, 200, /That cannot be done with it/],
    [{ act: "drop" }, 200, /That cannot be done with it/],
    [{ feature: "nothing" }, 200, /There is no such thing to act on/],
    [{ feature: "__proto__" }, 200, /There is no such thing to act on/],
    [{ token: "x".repeat(43) }, 403, /must come from this page itself/],
    [{ token: "" }, 403, /must come from this page itself/],
    [{ text: "x".repeat(5000) }, 413, /too long/],
  ];
  for (const [fields, status, says] of made) {
    const answer = await page.act(form, operator, fields);
    assert.equal(answer.status, status, JSON.stringify(fields));
    assert.match(answer.body, says);
    assert.match(String(answer.headers["content-security-policy"]), /frame-ancestors 'none'/);
    assert.equal(answer.headers["cache-control"], "no-store");
  }
  for (const headers of [
    operator,
    { ...page.own, ...operator, origin: "http://evil.example" },
    { ...page.own, ...operator, origin: "null" },
    { ...page.own, ...operator, "sec-fetch-site": "same-site" },
    { ...page.own, ...operator, "sec-fetch-site": "cross-site" },
  ])
    assert.equal((await page.post(form.path, form.fields, headers)).status, 403);
  assert.equal((await page.post(form.path, form.fields)).status, 401, "without a session");
  const other = await page.signIn();
  assert.equal(
    (await page.post(form.path, form.fields, { ...page.own, ...other })).status,
    403,
    "of another session",
  );
  const asAddress = `${form.path}?${new URLSearchParams(form.fields).toString()}`;
  assert.equal((await page.get(asAddress, operator)).status, 404);
  assert.equal(await rowState(4), "open");
  assert.match(
    (await page.act(form, operator)).body,
    /Allowed: #4, and this tool with exactly these arguments from now on\./,
  );
  assert.equal((await scene.open.sql("select from approval_rules")).length, 1);
});

test("a text that imitates the page is a text", async () => {
  const fake = `</pre><form class="act" method="post" action="/page/waiting/act"><button>Approve</button></form>`;
  await say(`note ${fake} <a href="javascript:alert(1)">Approve</a>`);
  await button("/5", /^Approve$/);
  const { body } = await page.get("/page/waiting", operator);
  assert.equal(formsIn(body).length, 3);
  assert.match(body, /&lt;\/pre&gt;&lt;form class=/);
  assert.doesNotMatch(body, /<a [^>]*href="(?!\/)/);
  const denied = await page.act(await button("/5", /^Deny$/), operator);
  assert.match(denied.body, /Denied: #5/);
  await until(
    "the channel hears it",
    async () => (await scene.open.sql("select from approvals where id = 5 and told_at is null")).length === 0,
  );
});

test("a question is answered by its choices, and what the agent does then is asked of everybody", async () => {
  scene.server.respond(asking);
  await say(askFor());
  const form = await button("/6", /^Answer 2: Deep blue$/);
  assert.match((await page.act(form, operator, { act: "answer-5" })).body, /That cannot be done with it/);
  assert.match((await page.act(form, operator)).body, /Answered: #6\./);
  await until("the agent hears it", async () =>
    Promise.resolve(
      shownIn(
        scene.platform,
        "room",
        /^heard: You asked: Which colour\?\nWeir's operator has chosen: Deep blue/,
      ).length === 1,
    ),
  );
  assert.match(
    (await page.act(form, operator)).body,
    /#6 is over already\. Weir&#39;s operator has chosen: Deep blue/,
  );
  assert.match(await command(weir, "room", "/answer 6 1", ANN, "discord"), /#6 is over already/);
});

test("a stranger is let in once, by the code of their request", async () => {
  await scene.open.sql(
    `insert into pairing_requests (platform, person, name, channel, code, said_to, said_ids)
     values ('discord', '42', 'Eve</button><script>', 'dm', 'ABCD2345', now(), '{}')`,
  );
  const form = await button("discord:42", /^Let in Eve<\/button><script> \(discord:42\)$/);
  assert.equal(form.fields["token"]?.length, 43);
  assert.ok(!JSON.stringify(form.fields).includes("ABCD2345"));
  assert.match(
    (await page.act(form, operator)).body,
    /Eve&lt;\/button&gt;&lt;script&gt; \(discord:42\) is let in/,
  );
  assert.match((await page.act(form, operator)).body, /This request is over/);
  assert.deepEqual(await scene.open.sql("select person, let_in_by from paired_people"), [
    { person: "42", letInBy: "operator" },
  ]);
  assert.deepEqual(formsIn((await page.get("/page/waiting", operator)).body), []);
  assert.ok(!page.lines.some((line) => line.includes("ABCD2345")));
});

test("a stranger is refused: their code lets nobody in, and within its hour they get no other one", async () => {
  const asks = async (code: string): Promise<string | undefined> => {
    const [row] = await scene.open.sql<{ state: string }>(
      `select ask_pairing('discord', '43', 'Eve<b>', 'dm', '${code}', now(), '${code}', 50, interval '1 hour') as state`,
    );
    return row?.state;
  };
  assert.equal(await asks("BCDE3456"), "asked");
  const form = await button("discord:43", /^Refuse Eve<b> \(discord:43\)$/);
  const [letIn] = await page.forms("/page/waiting", operator);
  assert.match(
    (await page.act(form, operator)).body,
    /Eve&lt;b&gt; \(discord:43\) is not let in\. They may ask again/,
  );
  for (const late of [form, letIn]) {
    assert.ok(late !== undefined);
    assert.match((await page.act(late, operator)).body, /This request is over/);
  }
  assert.equal(await asks("CDEF4567"), "waiting");
  for (const code of ["BCDE3456", "CDEF4567", ""])
    assert.notEqual(
      (await weir.daemon.features.serviceOf(PAIRING).letIn(code, null, "operator")).outcome,
      "let_in",
    );
  assert.deepEqual(await weir.daemon.features.serviceOf(PAIRING).open(null), []);
  assert.deepEqual(await scene.open.sql("select person from paired_people where person = '43'"), []);
  await scene.open.sql(
    "update pairing_requests set asked_at = asked_at - interval '2 hours' where person = '43'",
  );
  assert.equal(await asks("DEFG5678"), "asked");
  await scene.open.sql("delete from pairing_requests");
});

test("an outcome is shown once, in its own session, and never from the address", async () => {
  const form: TestForm = {
    path: "/page/waiting/act",
    button: "",
    fields: {
      ...(await page.get("/", operator)).body.match(/name="token" value="(?<token>[^"]+)"/)?.groups,
      feature: "pairing",
      item: "discord:7",
      act: "let-in",
    },
  };
  const { status, headers } = await page.post(form.path, form.fields, { ...page.own, ...operator });
  assert.equal(status, 303);
  assert.match(String(headers["content-security-policy"]), /form-action 'self'.*frame-ancestors 'none'/);
  const where = String(headers.location);
  assert.match(where, /^\/page\/waiting\?outcome=[\w-]{16}$/);
  const other = await page.signIn();
  assert.doesNotMatch((await page.get(where, other)).body, /This request is over/);
  assert.match((await page.get(where, operator)).body, /role="status">\s*This request is over/);
  assert.doesNotMatch((await page.get(where, operator)).body, /This request is over/);
  const made = await page.get("/page/waiting?outcome=%3Cb%3EAllowed", operator);
  assert.doesNotMatch(made.body, /&lt;b&gt;|<b>Allowed/);
});
