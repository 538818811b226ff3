// proves: src/daemon/http/page/places/what-if.ts, src/daemon/http/page/what-if/tune-process.ts, src/daemon/http/page/client/replay.ts, src/daemon/http/page/places/turn.ts
// The page of a daemon as an operator finds it: nothing is configured for it.
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { after, suite, test } from "node:test";
import axe from "axe-core";
import { findBrowser, startBrowser, type Tab } from "../support/browser.ts";
import { openHome, openSeed } from "../support/e2e.ts";
import { openLoopbackWorld } from "../support/e2e-loopback.ts";
import { echo, Gate } from "../support/e2e-model.ts";
import { ask, type HttpAnswer } from "../support/http-client.ts";
import { startModelServer } from "../support/model-server.ts";
import { formsIn } from "../support/page.ts";
import { until } from "../support/patience.ts";

const stack = new AsyncDisposableStack();
after(async () => stack.disposeAsync());
const seed = stack.use(await openSeed());
const model = stack.use(await startModelServer());
model.respond(echo);
const world = stack.use(await openLoopbackWorld());
const home = stack.use(await openHome({ modelUrl: model.url, config: world.config, seed }));
const daemon = home.start("start");
const ready = await daemon.line("ready");
const opened = await home.run("open");
const { host, port, hash } = new URL(opened.out[0] ?? "");
const form = "application/x-www-form-urlencoded";
const code = new URLSearchParams({ code: hash.slice(1) }).toString();
let cookie = "";
const signedIn = await post("/page/sign-in", code);
[cookie = ""] = (signedIn.headers["set-cookie"]?.[0] ?? "").split(";");

/** Sends a form as the page itself does. */
async function post(where: string, body: string): Promise<HttpAnswer> {
  const headers = {
    host,
    cookie,
    origin: `http://${host}`,
    "sec-fetch-site": "same-origin",
    "content-type": form,
    "content-length": String(Buffer.byteLength(body)),
  };
  return ask(`http://127.0.0.1:${port}${where}`, { method: "POST", headers, body });
}

async function get(where: string): Promise<HttpAnswer> {
  return ask(`http://127.0.0.1:${port}${where}`, { headers: { host, cookie } });
}

/** Sends the form of a page in which people may talk. */
async function say({ body }: HttpAnswer, text: string): Promise<HttpAnswer> {
  const asked = formsIn(body).find(({ path }) => path === "/page/channel/say");
  assert.ok(asked !== undefined, "the page has a form to say something");
  return post(asked.path, new URLSearchParams({ ...asked.fields, text }).toString());
}

test("a daemon for which nothing is configured serves the page, and its first line says how to open it", async () => {
  assert.match(ready, /; page: `.*open`$/);
  assert.equal(signedIn.status, 303);
  const { status, body } = await get("/");
  assert.equal(status, 200);
  assert.match(body, /database: ok/);
  const { out } = await home.run("status");
  assert.ok(
    out.some((line) => line.startsWith(`page         127.0.0.1:${port}: `)),
    out.join("\n"),
  );
});

test("who has no channel yet begins to talk on the page, and reads the answer there", async () => {
  const first = await get("/");
  assert.match(first.body, /No channel has a message yet/);
  const said = await say(first, "is the harbour open?");
  assert.equal(said.status, 303);
  const where = said.headers.location ?? "";
  assert.match(where, /^\/page\/channel\?id=terminal%3A/);
  assert.match((await get(where)).body, /Said\. The answer comes below\./);
  const shows = async (text: string): Promise<boolean> => (await get(where)).body.includes(text);
  await until("answer", async () => shows('is the harbour open? <a class="turn"'));
  const again = await say(await get(where), "and\r\ntomorrow?");
  assert.equal(again.status, 303);
  await until("second answer", async () => shows("You said: tomorrow?"));
  assert.ok(await shows("and\ntomorrow?"), "its lines are kept");
  const refused = await say(await get(where), "/status");
  assert.match(refused.body, /Commands are typed in `.*chat`[^]*<textarea[^>]*>\n\/status<\/textarea>/);
});

test("a turn shows the lines that the daemon's log has of it", async () => {
  await world.say("logged", "l1", "is it logged?");
  await world.untilAnswered();
  const [, turn = ""] = /&amp;turn=(\d+)"/.exec((await get("/page/turn?id=loopback:logged")).body) ?? [];
  let shown = "";
  await until("line of the turn", async () => {
    shown = (await get(`/page/turn?id=loopback:logged&turn=${turn}`)).body;
    return /<h2>Log<\/h2>\s*<pre>/.test(shown);
  });
  assert.match(shown, new RegExp(`<pre>[^<]*turn +loopback:logged +answered [^<]* turn=${turn} `));
});

test("a channel's log is played again with other settings, as `weir tune` does it", async () => {
  await world.say("what-if", "m1", "how deep is it?");
  await world.untilAnswered();
  const asked = await get("/page/what-if?id=loopback:what-if");
  assert.match(asked.body, /name="compaction\.target"[^>]*value="0\.6"/);
  const where = "/page/what-if?id=loopback:what-if&compaction.target=0.5";
  const first = await get(where);
  assert.equal(first.headers["refresh"], "2");
  let outcome = first;
  await until("outcome", async () => {
    outcome = await get(where);
    return outcome.headers["refresh"] === undefined;
  });
  assert.equal(outcome.status, 200, outcome.body);
  const { out } = await home.run("tune", "loopback:what-if", "--set", "compaction.target=0.5", "--json");
  const report: { columns: { usable: number }[] } = JSON.parse(out.join("\n"));
  const usable = report.columns[1]?.usable.toLocaleString("en");
  assert.ok(usable !== undefined && outcome.body.includes(`<td>${usable}</td>`));
  assert.match(outcome.body, /<pre>target = 0\.5<\/pre>/);
  const wrong = await get("/page/what-if?id=loopback:what-if&compaction.target=0.99");
  assert.equal(wrong.status, 200);
  let refused = wrong;
  await until("refusal", async () => {
    refused = await get("/page/what-if?id=loopback:what-if&compaction.target=0.99");
    return refused.headers["refresh"] === undefined;
  });
  assert.equal(refused.status, 400);
  assert.match(refused.body, /target/);
});

/** Messages after which some are older than those that a summary leaves. */
const ENOUGH = 12;
const NO_BROWSER = "neither Chromium nor Chrome is installed here";
const program = findBrowser();
const PLACES = [
  "/",
  "/page/waiting",
  "/page/memories",
  "/page/usage",
  "/page/settings",
  "/page/settings/edit",
];
const NAMES = ["channel", "turn", "source", "what-if", "channel-acts", "memories", "replay", "search"];
const OF_CHANNEL = NAMES.map((name) => `/page/${name}?id=loopback:what-if`);
const SEARCHED = "/page/search?id=loopback:what-if&q=deep";
/** Levels A and AA. */
const RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];

suite("in a browser", { skip: program === null ? NO_BROWSER : false }, () => {
  test("the printed address signs in, and every place keeps the policy, wide and narrow", async () => {
    await using browser = await startBrowser(program ?? "");
    assert.ok(!browser.flags.some((flag) => flag.includes("web-security")), "the policy is in force");
    const tab = await browser.newTab();
    await signIn(tab);
    assert.equal(await tab.value("location.href"), `http://${host}/`, "the code has left the address");
    for (const where of [...PLACES, ...OF_CHANNEL, SEARCHED]) {
      for (const width of [1280, 360]) {
        await tab.resize(width);
        await tab.open(`http://${host}${where}`);
        assert.notEqual(await tab.value("document.querySelector('main h1')?.textContent ?? ''"), "", where);
        const over = await tab.value("document.documentElement.scrollWidth - innerWidth");
        assert.ok(Number(over) <= 0, `${where} is ${String(over)} pixels too wide at ${width}`);
      }
    }
    assert.deepEqual(tab.errors, []);
    await tab.call("Emulation.setScriptExecutionDisabled", { value: true });
    await tab.open(`http://${host}/page/channel?id=loopback:what-if`);
    assert.match(String(await tab.value("document.body.textContent")), /how deep is it\?/);
    assert.deepEqual(tab.errors, []);
  });

  test("no other program of this machine is sent the session, and no other page can frame it", async () => {
    await using browser = await startBrowser(program ?? "");
    const tab = await browser.newTab();
    await signIn(tab);
    const cookies: (string | undefined)[] = [];
    const other = createServer((request, response) => {
      cookies.push(request.headers.cookie);
      response.end(`<!doctype html><iframe src="http://${host}/"></iframe>`);
    }).listen(0, "127.0.0.1");
    await once(other, "listening");
    const address = other.address();
    assert.ok(typeof address === "object" && address !== null);
    for (const name of ["127.0.0.1", "localhost", "weir.localhost"])
      await tab.open(`http://${name}:${address.port}/`);
    other.close();
    other.closeAllConnections();
    assert.ok(cookies.length >= 3);
    assert.deepEqual(
      cookies.filter((one) => one !== undefined),
      [],
    );
    assert.ok(
      tab.errors.some((error) => error.includes("frame-ancestors")),
      tab.errors.join("\n"),
    );
    await tab.open(`http://${host}/`);
    assert.equal(
      await tab.value("document.querySelector('h1')?.textContent"),
      "Overview",
      "it is still signed in",
    );
  });
});

suite("what a browser shows", { skip: program === null ? NO_BROWSER : false }, () => {
  test("no place breaks a rule of accessibility of level A or AA, in light and dark, wide and narrow", async () => {
    await using browser = await startBrowser(program ?? "");
    const tab = await browser.newTab();
    await signIn(tab);
    const [, turn = ""] = /&amp;turn=(\d+)"/.exec((await get("/page/turn?id=loopback:what-if")).body) ?? [];
    const all = [...PLACES, ...OF_CHANNEL, SEARCHED, `/page/turn?id=loopback:what-if&turn=${turn}`];
    for (const where of all) {
      await tab.open(`http://${host}${where}`);
      // The policy refuses every script but the page's own; the debugging protocol is not bound by it.
      await tab.value(`${axe.source}; true`);
      for (const scheme of ["light", "dark"])
        for (const width of [1280, 360]) {
          await tab.call("Emulation.setEmulatedMedia", {
            features: [{ name: "prefers-color-scheme", value: scheme }],
          });
          await tab.resize(width);
          const broken = await tab.value(
            `axe.run({ runOnly: ${JSON.stringify(RULES)}, resultTypes: ["violations"] }).then(({ passes, violations }) =>
              passes.length === 0 ? ["nothing was looked at"]
              : violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => id + ": " + html.slice(0, 200))))`,
          );
          assert.deepEqual(broken, [], `${where}, ${scheme}, ${width} pixels`);
        }
    }
    assert.deepEqual(tab.errors, []);
  });
});

suite("what somebody does in a browser", { skip: program === null ? NO_BROWSER : false }, () => {
  test("by the keyboard alone somebody talks, reads the answer while it is written, and opens the summary that lands to its source", async () => {
    await using browser = await startBrowser(program ?? "");
    const tab = await browser.newTab();
    await signIn(tab);
    const here = "/page/channel?id=terminal:main";
    const where = `http://${host}${here}`;
    await tab.open(where);
    const gate = new Gate();
    model.respond(() => gate.between("The harbour", " is open until ten."));
    await tab.tabTo("here.id === 'say'");
    await tab.call("Input.insertText", { text: "when does the harbour close?" });
    await tab.tabTo("here.textContent.trim() === 'Say it'");
    await tab.untilLoaded(async () => tab.press("Enter", "\r"));
    const shown = "document.querySelector('ol.log').textContent";
    await tab.until(`${shown}.includes('The harbour') && !${shown}.includes('until ten')`);
    gate.open();
    await tab.until(`${shown}.includes('The harbour is open until ten.')`);
    model.respond(echo);
    for (let count = 1; count <= ENOUGH; count++) await say(await get(here), `boat ${count} is in`);
    // As a person says it, and as the agent repeats it.
    await tab.until(`${shown}.split('boat ${ENOUGH} is in').length > 2`);
    const compacted = await home.run("compact", "terminal:main");
    assert.equal(compacted.code, 0, compacted.stderr);
    await tab.until("document.querySelector('p.live').textContent.includes('landed')");
    await tab.open(where);
    await tab.tabTo("here.matches('details.band > summary')");
    const isOpen = "document.activeElement.parentElement.open";
    const before = await tab.value(isOpen);
    await tab.press("Enter", "\r");
    await tab.until(`${isOpen} !== ${String(before)}`);
    if (before === true) await tab.press("Enter", "\r");
    await tab.tabTo("here.textContent.includes('its source')");
    await tab.untilLoaded(async () => tab.press("Enter", "\r"));
    assert.match(
      String(await tab.value("document.querySelector('main').textContent")),
      /is the harbour open\?/,
    );
    assert.deepEqual(tab.errors, []);
  });

  test("the last day is played moment by moment, and the slider shows any of them", async () => {
    await world.say("replayed", "r1", "the first question");
    await world.untilAnswered();
    await world.say("replayed", "r2", "the second question");
    await world.untilAnswered();
    await using browser = await startBrowser(program ?? "");
    const tab = await browser.newTab();
    await signIn(tab);
    await tab.open(`http://${host}/page/replay?id=loopback:replayed`);
    const moment = "document.querySelector('#moment').textContent";
    const control = "document.querySelector('form.replay')";
    assert.equal(await tab.value(`${moment}.includes('the second question')`), false);
    await tab.value(`${control}.querySelector('button[type=button]').click() ?? true`);
    await tab.until(`${control}.querySelector('[role=status]').textContent === 'This is the end.'`);
    assert.equal(await tab.value(`${moment}.includes('the second question')`), true);
    assert.match(String(await tab.value("location.search")), /^\?id=loopback%3Areplayed&at=\d+$/);
    await tab.value(
      `{ const slider = ${control}.elements.at; slider.value = slider.min; slider.dispatchEvent(new Event('input')); true }`,
    );
    await tab.until(`!${moment}.includes('the second question')`);
    assert.equal(await tab.value(`${control}.elements.at.getAttribute('aria-valuetext') !== ''`), true);
    assert.equal(await tab.value("document.querySelectorAll('#moment').length"), 1);
    await tab.call("Emulation.setScriptExecutionDisabled", { value: true });
    await tab.open(`http://${host}/page/replay?id=loopback:replayed`);
    assert.equal(await tab.value(`${control}.querySelectorAll('button').length`), 1);
    assert.deepEqual(tab.errors, []);
  });
});

async function signIn(tab: Tab): Promise<void> {
  const { out } = await home.run("open");
  await tab.open(out[0] ?? "");
  await tab.until("document.querySelector('h1')?.textContent === 'Overview'");
  // The form to sign in comes with 401.
  assert.ok(tab.errors.splice(0).every((error) => error.includes("401")));
}
